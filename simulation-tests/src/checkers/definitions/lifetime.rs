//! The checker of custom objects' lives: each begins and ends within one incarnation of its
//! definition.
//!
//! - An object is created while its definition takes objects, and by the schema of that
//!   incarnation.
//! - A definition goes when none of its objects is left.
//! - No answer shows an object where there is no definition of it, or one that is older than the
//!   definition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::incarnations::DefinitionHistory;
use crate::api::{ApiReply, ApiRequest, ResourceKind, Verb};
use crate::checkers::api::object_history::{Change, ObjectHistory, text};
use crate::workload::api::ApiRecords;
use crate::workload::definitions::MARK;

/// Everything that is wrong with the lives of custom objects.
pub(super) fn check(
    past: &ObjectHistory,
    definitions: &DefinitionHistory,
    records: &ApiRecords,
) -> Vec<String> {
    let mut violations = Vec::new();
    let mut wrong = |key: &str, at: u64, problem: String| {
        violations.push(format!("lifetime: {key} at {at}: {problem}"));
    };
    // By uid, the revision that created an object.
    let mut created = BTreeMap::new();
    for change in &past.changes {
        let Some(now) = change.now.as_deref().filter(|_| change.before.is_none()) else {
            continue;
        };
        created.insert(text(now, "uid"), change.revision);
        if let Some(kind) = ResourceKind::custom_of_key(&change.key)
            && let Err(problem) = check_creation(definitions, kind, change, now)
        {
            wrong(&change.key, change.revision, problem);
        }
    }
    for kind in ResourceKind::CUSTOM {
        for at in definitions.removals(kind) {
            if let Some((left, _)) = past.list(&kind.key("", ""), at).next() {
                wrong(&kind.definition(), at, format!("it goes with {left} there"));
            }
        }
        if definitions.at(kind, past.newest()).is_none()
            && let Some((left, _)) = past.list(&kind.key("", ""), past.newest()).next()
        {
            wrong(left, past.newest(), "it has outlived its definition".to_owned());
        }
    }
    for exchange in records.exchanges.iter().filter(|exchange| exchange.what.ask.kind.is_custom()) {
        let Some(reply) = exchange.what.reply.as_ref().filter(|reply| reply.status == 200) else {
            continue;
        };
        if let Some(problem) = shown(definitions, &created, &exchange.what.ask, reply) {
            let at = reply.revision.or(reply.version()).unwrap_or_default();
            let what = format!("{} by node {}", exchange.what.ask.uri(), exchange.node);
            wrong(&what, at, problem);
        }
    }
    violations
}

fn check_creation(
    definitions: &DefinitionHistory,
    kind: ResourceKind,
    change: &Change,
    now: &Value,
) -> Result<(), String> {
    let Some(state) = definitions.at(kind, change.revision - 1) else {
        return Err("it is created though it has no definition".to_owned());
    };
    if !state.is_established || state.is_terminating {
        return Err("it is created while its definition takes no objects".to_owned());
    }
    let mark = &now["spec"][MARK];
    let mut states = definitions.states_of(kind, &state.uid, change.revision);
    if states.any(|state| state.versions.iter().any(|version| *mark == version.mark)) {
        return Ok(());
    }
    Err(format!("it is created by the schema of {mark}, which its definition never had"))
}

/// What is wrong with the objects that an answer shows.
fn shown(
    definitions: &DefinitionHistory,
    created: &BTreeMap<&str, u64>,
    ask: &ApiRequest,
    reply: &ApiReply,
) -> Option<String> {
    let at = reply.revision.or(reply.version())?;
    let objects = match ask.verb {
        Verb::Get => std::slice::from_ref(&reply.body),
        Verb::List => reply.body["items"].as_array()?,
        _ => return None,
    };
    let first = objects.first()?;
    let Some(state) = definitions.at(ask.kind, at) else {
        return Some(format!("it shows {first}, though there is no definition"));
    };
    let since = *created.get(state.uid.as_str())?;
    let older = objects
        .iter()
        .find(|object| created.get(text(object, "uid")).is_some_and(|created| *created < since));
    older.map(|older| format!("it shows {older}, which is older than the definition"))
}
