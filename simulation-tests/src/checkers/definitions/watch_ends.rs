//! The checker of the ends of watches: a watch of custom objects ends with the definition, or when
//! that says something else of the version, and for no other reason; and it has told every change up
//! to then.
//!
//! The watches that this looks at have no end of their own. One that is still open when all clients
//! have come to rest is found by its watcher.

use std::time::Duration;

use super::incarnations::DefinitionHistory;
use crate::api::{At, version};
use crate::checkers::api::object_history::{ObjectHistory, is_chosen};
use crate::checkers::api::times::Times;
use crate::workload::api::{ApiRecords, WatchRun};

/// How long after its node has shown the end of a definition a watch may go on.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Everything that is wrong with how watches of custom objects ended.
pub(super) fn check(
    past: &ObjectHistory,
    times: &Times,
    definitions: &DefinitionHistory,
    records: &ApiRecords,
) -> Vec<String> {
    let mut violations = Vec::new();
    for run in records.watches.iter().filter(|run| run.ask.kind.is_custom()) {
        if run.refused.is_some() {
            continue;
        }
        let checked = check_end(past, times, definitions, run)
            .and_then(|()| check_length(times, definitions, run));
        if let Err(problem) = checked {
            let (uri, node, asked) = (run.ask.uri(), run.node, run.asked);
            violations.push(format!("watch ends: {uri} at node {node}, {asked:?}: {problem}"));
        }
    }
    violations
}

/// A watch that the server has ended has told everything until the definition went.
fn check_end(
    past: &ObjectHistory,
    times: &Times,
    definitions: &DefinitionHistory,
    run: &WatchRun,
) -> Result<(), String> {
    let Some(ended) = run.ended else {
        return Ok(());
    };
    if run.lines.last().is_some_and(|(_, line)| line["type"] == "ERROR") {
        return Ok(());
    }
    // The definition that the node knew when it was asked went after that.
    let (known, newest) = (times.shown_by(run.node, run.asked), times.possible_at(ended));
    let ends = definitions.ends(run.ask.kind, run.ask.version);
    let ends: Vec<u64> = ends.filter(|at| (known + 1..=newest).contains(at)).collect();
    let told = run.lines.iter().filter_map(|(_, line)| version(&line["object"])).max();
    // Of several it was the first that it has not gone past, if there is one.
    let not_past = ends.iter().find(|at| told.is_none_or(|told| **at >= told));
    let Some(&end) = not_past.or(ends.first()) else {
        return Err(format!("it ends between {known} and {newest}, when nothing else ended"));
    };
    let bookmark = run.lines.iter().find(|(_, line)| line["type"] == "BOOKMARK");
    let (after, told_first) = match run.ask.at {
        At::Exact(after) => (after, true),
        _ => match bookmark.and_then(|(_, line)| version(&line["object"])) {
            Some(after) => (after, true),
            None => (known, false),
        },
    };
    let prefix = run.ask.key();
    let mut due = past.changes.iter().filter(|change| {
        let objects = [&change.before, &change.now];
        let chosen = objects.into_iter().flatten().any(|object| is_chosen(object, run.ask.color));
        (after + 1..=end).contains(&change.revision) && change.key.starts_with(&prefix) && chosen
    });
    let is_told = |at: u64| {
        let mut lines = run.lines.iter();
        lines.any(|(_, line)| line["type"] != "BOOKMARK" && version(&line["object"]) == Some(at))
    };
    match due.find(|change| !is_told(change.revision)) {
        Some(missing) if told_first => Err(format!(
            "it ends with its definition at {end}, and has not told of {} at {}",
            missing.key, missing.revision
        )),
        _ => Ok(()),
    }
}

/// A watch goes not much on when its node has shown what came after its definition.
fn check_length(
    times: &Times,
    definitions: &DefinitionHistory,
    run: &WatchRun,
) -> Result<(), String> {
    let Some((opened, _)) = run.lines.first() else {
        return Ok(());
    };
    let opened = times.possible_at(*opened);
    let Some(end) = definitions.removals(run.ask.kind).find(|at| *at > opened) else {
        return Ok(());
    };
    for (time, line) in run.lines.iter().filter(|(_, line)| line["type"] != "ERROR") {
        let at = version(&line["object"]).unwrap_or_default();
        if at > end && times.shown_by(run.node, time.saturating_sub(END_LIMIT)) >= end {
            return Err(format!("it tells {at}, long after its definition went at {end}"));
        }
    }
    Ok(())
}
