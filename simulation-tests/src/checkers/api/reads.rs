//! The checker of API reads: each shows exactly the state of the revision that it names, and that
//! revision is one that it may show.
//!
//! - Consistent: everything that had been shown to any client before the request.
//! - Any version: no less than the same node has shown before.
//! - Exact: that revision. Not older than: that or a newer one.
//! - Later pages: the revision of the first one, going on where the page before ended.

use std::collections::BTreeMap;

use serde_json::Value;

use super::object_history::{Object, ObjectHistory, bare, is_chosen, text};
use super::times::Times;
use crate::api::{ApiReply, ApiRequest, At, Verb};
use crate::checkers::retention::KeptHistory;
use crate::workload::api::{ApiExchange, ApiRecords};

/// Where a page ended, by the token that it gave.
type Pages<'a> = BTreeMap<&'a str, (u64, String)>;

/// Everything that is wrong with the answers to reads.
pub(in crate::checkers) fn check(
    past: &ObjectHistory,
    times: &Times,
    kept: &KeptHistory,
    records: &ApiRecords,
) -> Vec<String> {
    let mut pages = Pages::new();
    let mut violations = Vec::new();
    for exchange in records.exchanges.iter().filter(|exchange| !exchange.what.ask.writes()) {
        let Some(reply) = &exchange.what.reply else {
            continue;
        };
        let problem = match (exchange.what.ask.verb, reply.status) {
            (_, 429 | 503 | 504) => Ok(()),
            (Verb::Get, 200) => got(past, times, exchange, reply),
            (Verb::Get, 404) => missed(past, times, exchange),
            (Verb::List, 200) => listed(past, times, exchange, reply, &mut pages),
            (Verb::List, 410) => expired(kept, exchange, &pages),
            (_, status) => Err(format!("answered {status}: {}", reply.body["message"])),
        };
        if let Err(problem) = problem {
            let ApiExchange { client, node, asked, answered, what } = exchange;
            let uri = what.ask.uri();
            let what =
                format!("{uri} by client {client} at node {node}, {asked:?} to {answered:?}");
            violations.push(format!("reads: {what}: {problem}"));
        }
    }
    violations
}

fn got(
    past: &ObjectHistory,
    times: &Times,
    exchange: &ApiExchange,
    reply: &ApiReply,
) -> Result<(), String> {
    let Some(at) = reply.revision else {
        return Err("the answer names no revision".to_owned());
    };
    may_show(times, exchange, at)?;
    let found = bare(reply.body.clone());
    match past.get(&exchange.what.ask.key(), at) {
        Some(object) if **object == found => Ok(()),
        other => Err(format!("it shows {found} at {at}, where {other:?} was")),
    }
}

/// A state may be gone only when it was no longer kept: that of the revision asked for, or of the
/// first page.
fn expired(kept: &KeptHistory, exchange: &ApiExchange, pages: &Pages<'_>) -> Result<(), String> {
    let ask = &exchange.what.ask;
    let page = ask.token.as_deref().and_then(|token| pages.get(token));
    match (page, ask.at) {
        (Some((at, _)), _) => kept.check_refusal(*at, None, exchange.answered),
        (None, At::Exact(at)) => kept.check_refusal(at, None, exchange.answered),
        _ => Err("answered 410 to a read of no particular revision".to_owned()),
    }
}

fn missed(past: &ObjectHistory, times: &Times, exchange: &ApiExchange) -> Result<(), String> {
    let least = match exchange.what.ask.at {
        At::Any => times.shown_by(exchange.node, exchange.asked),
        _ => times.shown_before(exchange.asked),
    };
    let window = (least, times.possible_at(exchange.answered));
    let absent = past.ever(&exchange.what.ask.key(), window, |object| object.is_none());
    if absent { Ok(()) } else { Err(format!("not found, though it was there in {window:?}")) }
}

/// Whether a read may show the state of this revision.
fn may_show(times: &Times, exchange: &ApiExchange, at: u64) -> Result<(), String> {
    let possible = times.possible_at(exchange.answered);
    if at > possible {
        return Err(format!(
            "it shows {at}, but at most {possible} was committed when it was answered"
        ));
    }
    let by_node = times.shown_by(exchange.node, exchange.asked);
    let (least, why) = match exchange.what.ask.at {
        At::MostRecent => (times.shown_before(exchange.asked), "had been shown before"),
        At::Any => (by_node, "this node had shown before"),
        At::NotOlderThan(asked) => (asked.max(by_node), "was asked for"),
        At::Exact(asked) if asked == at => return Ok(()),
        At::Exact(asked) => return Err(format!("it shows {at} instead of {asked}")),
    };
    if at < least { Err(format!("it shows {at}, though {least} {why}")) } else { Ok(()) }
}

fn listed<'r>(
    past: &ObjectHistory,
    times: &Times,
    exchange: &'r ApiExchange,
    reply: &'r ApiReply,
    pages: &mut Pages<'r>,
) -> Result<(), String> {
    let ask = &exchange.what.ask;
    let Some(at) = reply.version() else {
        return Err("the list has no resourceVersion".to_owned());
    };
    let after = match &ask.token {
        None => {
            may_show(times, exchange, at)?;
            String::new()
        }
        Some(token) => {
            let Some((first, last)) = pages.get(token.as_str()) else {
                return Err("no page gave the token".to_owned());
            };
            if *first != at {
                return Err(format!("a later page shows {at} instead of {first}"));
            }
            last.clone()
        }
    };
    if reply.revision.is_some_and(|told| told != at) {
        return Err(format!("the head says {:?} and the list {at}", reply.revision));
    }
    let found: Vec<Value> =
        reply.body["items"].as_array().cloned().unwrap_or_default().into_iter().map(bare).collect();
    check_items(past, ask, at, &after, &found)?;
    check_rest(past, ask, at, &after, &found, reply)?;
    if let Some(token) =
        reply.body["metadata"]["continue"].as_str().filter(|token| !token.is_empty())
    {
        let last = found
            .last()
            .map_or(after, |item| ask.kind.key(text(item, "namespace"), text(item, "name")));
        pages.insert(token, (at, last));
    }
    Ok(())
}

/// What a list from here on shows at a revision.
fn rest<'a>(
    past: &'a ObjectHistory,
    prefix: &'a str,
    ask: &'a ApiRequest,
    at: u64,
    after: &'a str,
) -> impl Iterator<Item = &'a Object> {
    let objects = past.list(prefix, at).filter(move |(key, _)| *key > after);
    objects.map(|(_, object)| object).filter(move |object| is_chosen(object, ask.color))
}

/// The items are the first of the rest, all of them unless there is a limit.
fn check_items(
    past: &ObjectHistory,
    ask: &ApiRequest,
    at: u64,
    after: &str,
    found: &[Value],
) -> Result<(), String> {
    let prefix = ask.key();
    let limit = ask.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let expected: Vec<&Object> = rest(past, &prefix, ask, at, after).take(limit).collect();
    let name = |object: &Value| format!("{}/{}", text(object, "namespace"), text(object, "name"));
    if let Some((wrong, _)) =
        found.iter().zip(&expected).find(|(found, expected)| **found != ****expected)
    {
        return Err(format!("at {at}, {} is not what was there, or not in its place", name(wrong)));
    }
    match (found.get(expected.len()), expected.get(found.len())) {
        (Some(more), _) => Err(format!("at {at} it shows {}, which was not there", name(more))),
        (_, Some(missing)) => Err(format!("at {at} it lacks {}", name(missing))),
        _ => Ok(()),
    }
}

/// A token exactly when there is more, and how much that is.
fn check_rest(
    past: &ObjectHistory,
    ask: &ApiRequest,
    at: u64,
    after: &str,
    found: &[Value],
    reply: &ApiReply,
) -> Result<(), String> {
    let prefix = ask.key();
    let left = rest(past, &prefix, ask, at, after).count() - found.len();
    let token = reply.body["metadata"]["continue"].as_str().unwrap_or_default();
    if token.is_empty() != (left == 0) {
        return Err(format!("at {at}, {left} objects are left, and the token is {token:?}"));
    }
    let told = reply.body["metadata"]["remainingItemCount"].as_u64();
    if told.is_some_and(|told| told != left as u64) {
        return Err(format!("at {at}, {left} objects are left, and it says {told:?}"));
    }
    Ok(())
}
