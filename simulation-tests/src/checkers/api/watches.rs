//! The checker of API watches: filtered, ordered, unique, without a gap, and true bookmarks.
//!
//! Each connection is judged from where it began; a watcher resumes where it ended, so together
//! they are complete.

use std::time::Duration;

use serde_json::Value;

use super::object_history::{Change, Object, ObjectHistory, bare, is_chosen};
use super::times::Times;
use crate::api::{ApiRequest, At, version};
use crate::checkers::retention::KeptHistory;
use crate::workload::api::{ApiRecords, WatchRun};

/// Everything that is wrong with what watchers were told.
pub(in crate::checkers) fn check(
    past: &ObjectHistory,
    times: &Times,
    kept: &KeptHistory,
    records: &ApiRecords,
) -> Vec<String> {
    let mut violations = Vec::new();
    for run in &records.watches {
        let problem = match &run.refused {
            Some((_, reply)) if matches!(reply.status, 429 | 503 | 504) => Ok(()),
            Some((time, reply)) if reply.status == 410 => expired(kept, &run.ask, *time),
            Some((_, reply)) => {
                Err(format!("answered {}: {}", reply.status, reply.body["message"]))
            }
            None => check_run(past, times, kept, run),
        };
        if let Err(problem) = problem {
            let what = format!(
                "{} by client {} at node {}, {:?}",
                run.ask.uri(),
                run.client,
                run.node,
                run.asked
            );
            violations.push(format!("watches: {what}: {problem}"));
        }
    }
    violations
}

/// Whether what a watch was to begin after was no longer kept.
fn expired(kept: &KeptHistory, ask: &ApiRequest, time: Duration) -> Result<(), String> {
    match ask.at {
        At::Exact(after) => kept.check_refusal(after, None, time),
        _ => Err("answered 410 to a watch from now on".to_owned()),
    }
}

fn check_run(
    past: &ObjectHistory,
    times: &Times,
    kept: &KeptHistory,
    run: &WatchRun,
) -> Result<(), String> {
    let (after, lines) = match run.ask.at {
        At::Exact(after) => (after, &run.lines[..]),
        _ => match initial(past, times, run)? {
            Some((after, count)) => (after, &run.lines[count..]),
            None => return Ok(()),
        },
    };
    let prefix = run.ask.key();
    let from = past.changes.partition_point(|change| change.revision <= after);
    let mut expected = past.changes[from..]
        .iter()
        .filter_map(|change| event(change, &prefix, &run.ask))
        .peekable();
    let mut told = after;
    for (time, line) in lines {
        let object = &line["object"];
        if line["type"] == "ERROR" && object["code"] == 410 {
            return kept.check_refusal(told, None, *time);
        }
        let Some(at) = version(object).filter(|_| line["type"] != "ERROR") else {
            return Err(format!("it ends after {told} with {line}"));
        };
        if at > times.possible_at(*time) {
            return Err(format!("it tells {at} before that was committed"));
        }
        let due = expected.peek().map(|due| due.0);
        if line["type"] == "BOOKMARK" {
            if let Some(due) = due.filter(|due| *due <= at) {
                return Err(format!("a bookmark says {at}, but {due} is missing"));
            }
        } else {
            let Some(next) = expected.next() else {
                return Err(format!("nothing is due, and {at} comes"));
            };
            same(&next, at, line)?;
        }
        if at < told {
            return Err(format!("{at} comes after {told}"));
        }
        told = at;
    }
    Ok(())
}

/// The initial events: their revision and how many lines they are, with the bookmark that ends
/// them; `None` when it has not come.
fn initial(
    past: &ObjectHistory,
    times: &Times,
    run: &WatchRun,
) -> Result<Option<(u64, usize)>, String> {
    let Some(end) = run.lines.iter().position(|(_, line)| line["type"] == "BOOKMARK") else {
        return Ok(None);
    };
    let (time, mark) = &run.lines[end];
    let marks = |annotations: &Value| {
        let annotations = annotations.as_object().into_iter().flatten();
        annotations
            .into_iter()
            .any(|(name, value)| name.ends_with("initial-events-end") && value == "true")
    };
    if !marks(&mark["object"]["metadata"]["annotations"]) {
        return Err("the first bookmark is not the end of the initial events".to_owned());
    }
    let at = version(&mark["object"]).ok_or("a bookmark without a resourceVersion")?;
    check_moment(times, run, *time, at)?;
    let prefix = run.ask.key();
    let there = past
        .list(&prefix, at)
        .map(|(_, object)| object)
        .filter(|object| is_chosen(object, run.ask.color));
    let mut there = there.peekable();
    for (_, line) in &run.lines[..end] {
        let Some(object) = there.next() else {
            return Err(format!("more comes than was there at {at}: {line}"));
        };
        if line["type"] != "ADDED" || **object != bare(line["object"].clone()) {
            return Err(format!("{line} comes first, where {object} was at {at}"));
        }
    }
    match there.next() {
        Some(missing) => Err(format!("{missing} was there at {at} and did not come first")),
        None => Ok(Some((at, end + 1))),
    }
}

fn check_moment(times: &Times, run: &WatchRun, time: Duration, at: u64) -> Result<(), String> {
    let (least, most) = (times.shown_before(run.asked), times.possible_at(time));
    if (least..=most).contains(&at) {
        return Ok(());
    }
    Err(format!("it begins at {at}, which is not in {least} to {most}"))
}

/// What a change is to a watcher: revision, type, object.
type DueEvent<'a> = (u64, &'static str, &'a Object);

fn event<'a>(change: &'a Change, prefix: &str, ask: &ApiRequest) -> Option<DueEvent<'a>> {
    if !change.key.starts_with(prefix) {
        return None;
    }
    let chosen =
        |object: &'a Option<Object>| object.as_ref().filter(|object| is_chosen(object, ask.color));
    let (kind, object) = match (chosen(&change.before), chosen(&change.now)) {
        (None, Some(now)) => ("ADDED", now),
        (Some(_), Some(now)) => ("MODIFIED", now),
        (Some(before), None) => ("DELETED", before),
        (None, None) => return None,
    };
    Some((change.revision, kind, object))
}

fn same(due: &DueEvent<'_>, at: u64, line: &Value) -> Result<(), String> {
    let (revision, kind, object) = due;
    if at != *revision {
        return Err(format!("{at} comes when {revision} is due"));
    }
    let mut expected = Value::clone(object);
    expected["metadata"]["resourceVersion"] = revision.to_string().into();
    if line["type"] != **kind || bare(line["object"].clone()) != expected {
        return Err(format!("{line} comes at {revision}, where {kind} of {expected} is due"));
    }
    Ok(())
}
