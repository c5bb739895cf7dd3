//! The checker of API writes against the history.
//!
//! - What was acknowledged is in the history at the revision that the answer names, as the
//!   answer shows it, and follows from the state just before; its preconditions held there.
//! - What was refused is not in the history, and the reason held at some moment between question
//!   and answer.
//! - Real time: what was asked after something had been shown comes later.

use serde_json::Value;

use super::object_history::{Change, Object, ObjectHistory, bare, is_terminating, stamp, text};
use super::times::Times;
use crate::api::{ApiReply, ApiRequest, ResourceKind, Verb, version};
use crate::workload::api::{ApiCall, ApiExchange, ApiRecords};

/// What the keys of ranges begin with that Services get addresses from.
const RANGES: &str = "o/networking.svc.io/servicecidrs/";

/// Whether what a refusal says was true at some moment of a range of revisions.
type Reason = fn(&ObjectHistory, &ApiRequest, &ApiReply, (u64, u64)) -> Result<(), String>;

/// Everything that is wrong with the answers to writes.
pub(in crate::checkers) fn check(
    past: &ObjectHistory,
    times: &Times,
    records: &ApiRecords,
) -> Vec<String> {
    check_all(past, times, records, refused)
}

/// The same, whatever the reasons of refusals are.
pub(in crate::checkers) fn check_done(
    past: &ObjectHistory,
    times: &Times,
    records: &ApiRecords,
) -> Vec<String> {
    check_all(past, times, records, |_, _, _, _| Ok(()))
}

fn check_all(
    past: &ObjectHistory,
    times: &Times,
    records: &ApiRecords,
    reason: Reason,
) -> Vec<String> {
    let writes = records.exchanges.iter().filter(|exchange| exchange.what.ask.writes());
    writes.filter_map(|exchange| check_one(past, times, exchange, reason)).collect()
}

fn check_one(
    past: &ObjectHistory,
    times: &Times,
    exchange: &ApiExchange,
    reason: Reason,
) -> Option<String> {
    let ApiCall { ask, reply } = &exchange.what;
    let window = (times.shown_before(exchange.asked), times.possible_at(exchange.answered));
    let written = ask.stamp.as_deref().map(|stamp| past.stamped(stamp)).unwrap_or_default();
    let problem = match reply {
        None => Ok(()),
        Some(reply) if (ask.dry_run || reply.is_refusal()) && !written.is_empty() => {
            Err(format!("answered {} and carried out at {}", reply.status, written[0]))
        }
        Some(_) if ask.dry_run => Ok(()),
        Some(reply) if !reply.is_success() => reason(past, ask, reply, window),
        Some(reply) if ask.verb == Verb::Delete => deleted(past, ask, reply, window),
        Some(reply) => done(past, ask, reply, window),
    };
    let ApiExchange { client, node, asked, answered, .. } = exchange;
    let what = format!(
        "{:?} of {} by client {client} at node {node}, {asked:?} to {answered:?}",
        ask.verb,
        ask.key()
    );
    problem.err().map(|problem| format!("writes: {what}: {problem}"))
}

fn done(
    past: &ObjectHistory,
    ask: &ApiRequest,
    reply: &ApiReply,
    window: (u64, u64),
) -> Result<(), String> {
    let Some(at) = reply.version() else {
        return Err("the answer has no resourceVersion".to_owned());
    };
    let key = ask.kind.key(&ask.namespace, text(&reply.body, "name"));
    let Some(change) = past.change(&key, at) else {
        return Err(format!("it was acknowledged at {at} and is not in the history"));
    };
    if at <= window.0 {
        return Err(format!("it is at {at}, but {} was shown before it began", window.0));
    }
    if at > window.1 {
        return Err(format!(
            "it is at {at}, but was answered when at most {} was committed",
            window.1
        ));
    }
    preconditions(ask, change)?;
    let Some(now) = &change.now else {
        return Ok(());
    };
    if **now != bare(reply.body.clone()) {
        return Err(format!("the answer shows {}, but {now} was committed", reply.body));
    }
    if stamp(now) != ask.stamp.as_deref() {
        return Err(format!("it was acknowledged at {at}, which {:?} has written", stamp(now)));
    }
    contents(ask, change.before.as_deref(), now)
}

fn preconditions(ask: &ApiRequest, change: &Change) -> Result<(), String> {
    let body = ask.body.as_ref().unwrap_or(&Value::Null);
    let before = change.before.as_deref();
    if ask.verb == Verb::Create && before.is_some() {
        return Err("it was created though it was there".to_owned());
    }
    if matches!(ask.verb, Verb::Update | Verb::MergePatch) {
        let asked = version(body);
        let found = before.and_then(version);
        if asked.is_some() && asked != found {
            return Err(format!("it was bound to {asked:?} and carried out on {found:?}"));
        }
    }
    if ask.verb == Verb::JsonPatch && before.and_then(stamp) != body[0]["value"].as_str() {
        return Err(format!("it was carried out on {:?}", before.and_then(stamp)));
    }
    Ok(())
}

/// The new state is the old one, changed as asked.
fn contents(ask: &ApiRequest, before: Option<&Value>, now: &Value) -> Result<(), String> {
    let body = ask.body.as_ref().unwrap_or(&Value::Null);
    let replaces = matches!(ask.verb, Verb::Create | Verb::Update);
    let wanted = body["data"].as_object();
    if let Some((field, value)) =
        wanted.into_iter().flatten().find(|(field, value)| now["data"][*field] != **value)
    {
        return Err(format!("it should have set {field} to {value}"));
    }
    let others = before.filter(|_| !replaces).and_then(|before| before["data"].as_object());
    let own = |field: &str| wanted.is_some_and(|wanted| wanted.contains_key(field));
    let lost = others
        .into_iter()
        .flatten()
        .find(|(field, value)| !own(field) && now["data"][*field] != **value);
    if let Some((field, _)) = lost {
        return Err(format!("it has changed {field}, which it did not name"));
    }
    if replaces && count(&now["data"]) != count(&body["data"]) {
        return Err(format!("it should have replaced {} by {}", now["data"], body["data"]));
    }
    for field in ["labels", "ownerReferences", "finalizers"] {
        // A namespace is labelled with its name.
        if ask.kind == ResourceKind::Namespaces && field == "labels" {
            continue;
        }
        let (wanted, found) = (metadata(ask, body, before, field), &now["metadata"][field]);
        if count(wanted) + count(found) > 0 && wanted != found {
            return Err(format!("its {field} should be {wanted} and are {found}"));
        }
    }
    Ok(())
}

/// What a field of an object's metadata is to be: what the request says of it, and what it was
/// where that does not speak of it.
fn metadata<'a>(
    ask: &ApiRequest,
    body: &'a Value,
    before: Option<&'a Value>,
    field: &str,
) -> &'a Value {
    let (asked, replaces) =
        (&body["metadata"][field], matches!(ask.verb, Verb::Create | Verb::Update));
    // Patches name the only label that there is.
    if replaces || before.is_none() || !asked.is_null() {
        return asked;
    }
    before.map_or(&Value::Null, |before| &before["metadata"][field])
}

/// How many parts something has; none if it is absent.
fn count(value: &Value) -> usize {
    value
        .as_object()
        .map(serde_json::Map::len)
        .or(value.as_array().map(Vec::len))
        .unwrap_or_default()
}

fn deleted(
    past: &ObjectHistory,
    ask: &ApiRequest,
    reply: &ApiReply,
    window: (u64, u64),
) -> Result<(), String> {
    let details = reply.body["details"]["uid"].as_str();
    let uid = if reply.body["kind"] == "Status" {
        details.unwrap_or_default()
    } else {
        text(&reply.body, "uid")
    };
    let body = ask.body.as_ref().unwrap_or(&Value::Null);
    let wanted = body["preconditions"]["uid"].as_str();
    if wanted.is_some_and(|wanted| wanted != uid) {
        return Err(format!("it was bound to {wanted:?} and has deleted {uid}"));
    }
    let key = ask.key();
    let bound = body["preconditions"]["resourceVersion"].as_str();
    let was_there = |object: Option<&Object>| {
        object.is_some_and(|object| {
            text(object, "uid") == uid
                && bound.is_none_or(|bound| text(object, "resourceVersion") == bound)
        })
    };
    if !past.ever(&key, window, was_there) {
        return Err(format!("it has deleted {uid}, which was not there at {bound:?}"));
    }
    let is_going = |object: Option<&Object>| {
        object.is_none_or(|object| text(object, "uid") != uid || is_terminating(object))
    };
    if !is_going(past.get(&key, window.1)) {
        return Err(format!("it was acknowledged, but {uid} is still there at {}", window.1));
    }
    Ok(())
}

/// Whether what the refusal says was true at some moment.
fn refused(
    past: &ObjectHistory,
    ask: &ApiRequest,
    reply: &ApiReply,
    window: (u64, u64),
) -> Result<(), String> {
    let key = ask.key();
    let namespace = ResourceKind::Namespaces.key("", &ask.namespace);
    let body = ask.body.as_ref().unwrap_or(&Value::Null);
    let namespace_is = |look: fn(Option<&Object>) -> bool| {
        !ask.namespace.is_empty() && past.ever(&namespace, window, look)
    };
    let was_true = match reply.status {
        404 if ask.verb == Verb::Create => namespace_is(|namespace| namespace.is_none()),
        404 if ask.verb == Verb::Apply => namespace_is(|namespace| namespace.is_none()),
        404 => past.ever(&key, window, |object| object.is_none()),
        403 => {
            namespace_is(|namespace| namespace.is_some_and(|namespace| is_terminating(namespace)))
        }
        409 => past.ever(&key, window, |object| conflicts(ask, body, object)),
        422 => {
            past.ever(&key, window, |object| is_invalid(ask, object))
                || is_taken(past, ask, window)
                || (address(ask).is_some() && lacks_ranges(past, ask, window))
        }
        500 => lacks_ranges(past, ask, window),
        // Unknown, or not served just now.
        429 | 503 | 504 | 507 => true,
        _ => false,
    };
    if was_true {
        return Ok(());
    }
    Err(format!("answered {} for no reason in {window:?}: {}", reply.status, reply.body["message"]))
}

/// Whether a request cannot be carried out on this state.
fn conflicts(ask: &ApiRequest, body: &Value, object: Option<&Object>) -> bool {
    let differs = |asked: &Value, field: &str| {
        asked.as_str().is_some_and(|asked| asked != object.map_or("", |object| text(object, field)))
    };
    match ask.verb {
        Verb::Create => object.is_some(),
        Verb::Delete => ["uid", "resourceVersion"]
            .iter()
            .any(|field| differs(&body["preconditions"][field], field)),
        _ => {
            ["uid", "resourceVersion"].iter().any(|field| differs(&body["metadata"][field], field))
        }
    }
}

/// Whether a request would make something of this state that is not allowed.
fn is_invalid(ask: &ApiRequest, object: Option<&Object>) -> bool {
    match ask.verb {
        Verb::JsonPatch => object.is_some_and(|object| {
            let expected = ask.body.as_ref().and_then(|body| body[0]["value"].as_str());
            stamp(object) != expected || expected.is_none()
        }),
        Verb::Update => object.is_some_and(|object| {
            let wanted = ask.body.as_ref().map_or(&Value::Null, |body| &body["spec"]["clusterIP"]);
            is_terminating(object) || object["spec"]["clusterIP"] != *wanted
        }),
        _ => false,
    }
}

/// Whether a Service had, at some moment, the address that a request names.
fn is_taken(past: &ObjectHistory, ask: &ApiRequest, window: (u64, u64)) -> bool {
    let services = ResourceKind::Services.key("", "");
    let taken = |wanted: &str, at| {
        past.list(&services, at).any(|(_, object)| object["spec"]["clusterIP"] == wanted)
    };
    address(ask).is_some_and(|wanted| (window.0..=window.1).any(|at| taken(wanted, at)))
}

/// The address that a request names.
fn address(ask: &ApiRequest) -> Option<&str> {
    ask.body.as_ref()?["spec"]["clusterIP"].as_str()
}

/// Whether a Service was wanted at some moment at which there was nothing yet that it could get an
/// address from.
fn lacks_ranges(past: &ObjectHistory, ask: &ApiRequest, window: (u64, u64)) -> bool {
    ask.kind == ResourceKind::Services
        && (window.0..=window.1).any(|at| past.list(RANGES, at).next().is_none())
}
