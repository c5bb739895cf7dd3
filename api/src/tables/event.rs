//! The cells of Events, which fall back from one field to another in ways that are easier said in
//! code.
//!
//! Both forms of an Event are known: the core one and that of the events group.

use quorate_meta::Value;

use super::cell::age;
use super::special::Special;

/// What is shown where a time is missing.
const UNKNOWN: &str = "<unknown>";

/// The function of a column that has one.
pub(super) fn special(kind: &str, column: &str) -> Option<Special> {
    if kind != "Event" {
        return None;
    }
    Some(match column {
        "Last Seen" => last_seen,
        "First Seen" => |object, now| first_seen(object, now).into(),
        "Object" => involved,
        "Subobject" => |object, _| {
            either(object, &[&["involvedObject", "fieldPath"], &["regarding", "fieldPath"]]).into()
        },
        "Message" => |object, _| either(object, &[&["message"], &["note"]]).trim().into(),
        "Source" => source,
        "Count" => count,
        _ => return None,
    })
}

fn either<'v>(object: &'v Value, paths: &[&[&str]]) -> &'v str {
    first(object, paths).and_then(Value::as_str).unwrap_or_default()
}

fn last_seen(object: &Value, now_ms: u64) -> Value {
    let series = first(object, &[&["series", "lastObservedTime"]]);
    let last = first(object, &[&["lastTimestamp"], &["deprecatedLastTimestamp"]]);
    age(series.or(last), now_ms).unwrap_or_else(|| first_seen(object, now_ms)).into()
}

fn first_seen(object: &Value, now_ms: u64) -> String {
    let time = first(object, &[&["firstTimestamp"], &["deprecatedFirstTimestamp"], &["eventTime"]]);
    age(time, now_ms).unwrap_or_else(|| UNKNOWN.into())
}

fn involved(object: &Value, _now_ms: u64) -> Value {
    let text = |field: &str| {
        let value = first(object, &[&["involvedObject", field], &["regarding", field]]);
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (kind, name) = (text("kind").to_lowercase(), text("name"));
    if name.is_empty() { kind.into() } else { format!("{kind}/{name}").into() }
}

fn source(object: &Value, _now_ms: u64) -> Value {
    let text = |paths: &[&[&str]]| {
        first(object, paths).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let component = text(&[
        &["source", "component"],
        &["deprecatedSource", "component"],
        &["reportingComponent"],
        &["reportingController"],
    ]);
    let host = text(&[&["source", "host"], &["deprecatedSource", "host"], &["reportingInstance"]]);
    if host.is_empty() { component.into() } else { format!("{component}, {host}").into() }
}

fn count(object: &Value, _now_ms: u64) -> Value {
    let counted = first(object, &[&["series", "count"], &["count"], &["deprecatedCount"]])
        .and_then(Value::as_i64);
    counted.filter(|count| *count != 0).unwrap_or(1).into()
}

/// The first of several paths that holds something.
fn first<'a>(object: &'a Value, paths: &[&[&str]]) -> Option<&'a Value> {
    paths
        .iter()
        .filter_map(|path| object.at(path))
        .find(|value| !value.is_null() && value.as_str() != Some(""))
}
