//! The checker of what nodes serve: every answer fits the definitions at one revision, which is
//! neither older than what the node had shown before nor newer than the answer.
//!
//! - A resource is found exactly when its definition is established and serves the version.
//! - The document of a group version has exactly the resources that are served.
//! - The columns of a table are those of the definition.

use serde_json::Value;

use super::incarnations::{DefinitionHistory, DefinitionState};
use crate::api::{ApiReply, ApiRequest, ResourceKind, Verb};
use crate::checkers::api::times::Times;
use crate::workload::api::{ApiExchange, ApiRecords};
use crate::workload::definitions::COLUMN;

/// Everything that is wrong with what nodes said of custom resources.
pub(super) fn check(
    times: &Times,
    definitions: &DefinitionHistory,
    records: &ApiRecords,
) -> Vec<String> {
    let exchanges = records.exchanges.iter().filter(|exchange| exchange.what.ask.kind.is_custom());
    let mut violations: Vec<String> =
        exchanges.filter_map(|exchange| check_one(times, definitions, exchange)).collect();
    for run in records.watches.iter().filter(|run| run.ask.kind.is_custom()) {
        let (time, is_found) = match (&run.refused, run.lines.first()) {
            (Some((time, reply)), _) if reply.is_unserved() => (*time, false),
            (None, Some((time, _))) => (*time, true),
            _ => continue,
        };
        let window = (times.shown_by(run.node, run.asked), times.possible_at(time));
        let (kind, version) = (run.ask.kind, run.ask.version);
        if !definitions.ever(kind, window, |state| is_served(state, version) == is_found) {
            let what = format!("{} at node {}, {:?}", run.ask.uri(), run.node, run.asked);
            violations.push(format!(
                "served: {what}: it was {}found, which does not fit any of {window:?}",
                if is_found { "" } else { "not " }
            ));
        }
    }
    violations
}

fn is_served(state: Option<&DefinitionState>, version: &str) -> bool {
    state.is_some_and(|state| state.served(version).is_some())
}

fn check_one(
    times: &Times,
    definitions: &DefinitionHistory,
    exchange: &ApiExchange,
) -> Option<String> {
    let ask = &exchange.what.ask;
    let reply = exchange.what.reply.as_ref()?;
    // Said before the resource was looked for, or for want of a leader.
    if matches!(reply.status, 429 | 500 | 503 | 504 | 507) {
        return None;
    }
    let read = (!ask.writes() && reply.is_success()).then(|| reply.revision.or(reply.version()));
    let newest = read.flatten().unwrap_or(times.possible_at(exchange.answered));
    let window = (times.shown_by(exchange.node, exchange.asked), newest);
    let problem = match ask.verb {
        Verb::Discover => discovered(definitions, ask, reply, window),
        _ => found(definitions, ask, reply, window),
    };
    let ApiExchange { client, node, asked, answered, .. } = exchange;
    let what = format!("{:?} of {}", ask.verb, ask.uri());
    let who = format!("client {client} at node {node}, {asked:?} to {answered:?}");
    problem.err().map(|problem| format!("served: {what} by {who}: {problem}"))
}

/// Whether a resource was to be found, and how it was shown.
fn found(
    definitions: &DefinitionHistory,
    ask: &ApiRequest,
    reply: &ApiReply,
    window: (u64, u64),
) -> Result<(), String> {
    let is_found = !reply.is_unserved();
    if !definitions.ever(ask.kind, window, |state| is_served(state, ask.version) == is_found) {
        return Err(format!("answered {} at none of {window:?}", reply.status));
    }
    if !ask.table || reply.status != 200 {
        return Ok(());
    }
    let columns = reply.body["columnDefinitions"].as_array().into_iter().flatten();
    let mut stamps = columns.filter_map(|column| column["name"].as_str()?.strip_prefix(COLUMN));
    let stamp = stamps.next().unwrap_or_default();
    let shows = |state: Option<&DefinitionState>| {
        let version = state.and_then(|state| state.served(ask.version));
        version.is_some_and(|version| version.column == stamp)
    };
    if definitions.ever(ask.kind, window, shows) {
        return Ok(());
    }
    Err(format!("it has the columns of {stamp}, which the definition has not in {window:?}"))
}

/// Whether the document of a group version has what was served.
fn discovered(
    definitions: &DefinitionHistory,
    ask: &ApiRequest,
    reply: &ApiReply,
    window: (u64, u64),
) -> Result<(), String> {
    let listed = |kind: ResourceKind| {
        let resources = reply.body["resources"].as_array().into_iter().flatten();
        let named = |resource: &Value| resource["name"] == kind.plural();
        reply.status == 200 && resources.into_iter().any(named)
    };
    for kind in ResourceKind::CUSTOM {
        let is_listed = listed(kind);
        if !definitions.ever(kind, window, |state| is_served(state, ask.version) == is_listed) {
            let is = if is_listed { "is" } else { "is not" };
            let plural = kind.plural();
            return Err(format!("{plural} {is} among the resources, at none of {window:?}"));
        }
    }
    Ok(())
}
