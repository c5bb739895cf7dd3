//! Object metadata that the server sets: uid, times, generation, grace period, finalizers.
//!
//! Invariant: a changed object keeps its name, namespace and `creationTimestamp`.

use quorate_env::Entropy;
use quorate_meta::{Map, Time, Value};

/// Metadata that is set and read by name here.
const SELF_LINK: &str = "selfLink";

/// The object's metadata, added when it is missing.
pub(super) fn of(object: &mut Value) -> &mut Map {
    if object.as_map().is_none() {
        *object = Value::Map(Map::new());
    }
    let map = object.as_map_mut().expect("made a map above");
    if map.get("metadata").is_none_or(|metadata| metadata.as_map().is_none()) {
        map.insert("metadata", Map::new());
    }
    map.get_mut("metadata").and_then(Value::as_map_mut).expect("made a map above")
}

/// A text field of the metadata; empty when it is absent.
pub(super) fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.str_at(&["metadata", field]).unwrap_or_default()
}

/// The grace period of a terminating object, in seconds.
pub(super) fn grace_seconds(object: &Value) -> i64 {
    object.at(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64).unwrap_or(0)
}

/// The time some seconds after another one, or before it.
pub(super) fn after(time: Time, seconds: i64) -> Time {
    let (start, micros) = time.unix();
    Time::from_unix(start.saturating_add(seconds), micros).unwrap_or(time)
}

/// Brings the `deletionTimestamp` of a terminating object forward, from one grace period to a
/// shorter one.
pub(super) fn hurry(object: &mut Value, had: i64, seconds: i64) {
    if seconds >= had {
        return;
    }
    let end = Time::parse(text(object, "deletionTimestamp")).map(|end| after(end, seconds - had));
    let metadata = of(object);
    metadata.insert("deletionGracePeriodSeconds", seconds);
    if let Ok(end) = end {
        metadata.insert("deletionTimestamp", end.seconds());
    }
}

/// Whether deletion has begun.
pub(super) fn is_terminating(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// The finalizers, in order.
pub(super) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    let list = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str)
}

/// Replaces the finalizers.
pub(super) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        of(object).remove("finalizers");
    } else {
        of(object).insert("finalizers", finalizers);
    }
}

/// Sets the identity of a new object, and drops the metadata that clients do not set. The
/// generation stays for kinds that do not count it.
pub(super) fn begin(
    object: &mut Value,
    namespace: Option<&str>,
    uid: String,
    now: Time,
    generation: bool,
) {
    let metadata = of(object);
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", SELF_LINK] {
        metadata.remove(field);
    }
    metadata.insert("uid", uid);
    metadata.insert("creationTimestamp", now.seconds());
    if generation {
        metadata.insert("generation", 1);
    }
    match namespace {
        Some(namespace) => metadata.insert("namespace", namespace),
        None => metadata.remove("namespace"),
    };
}

/// Restores in a changed object the metadata that no client changes.
pub(super) fn keep(old: &Value, new: &mut Value) {
    let was_terminating = is_terminating(old);
    let before = old.get("metadata").and_then(Value::as_map);
    let metadata = of(new);
    metadata.remove("resourceVersion");
    metadata.remove(SELF_LINK);
    let mut restore = |field: &str| match before.and_then(|before| before.get(field)) {
        Some(value) => metadata.insert(field, value.clone()),
        None => metadata.remove(field),
    };
    for field in ["name", "namespace", "creationTimestamp", "generation"] {
        restore(field);
    }
    if was_terminating {
        restore("deletionTimestamp");
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if metadata.get(field).is_none_or(Value::is_empty)
            && let Some(value) = before.and_then(|before| before.get(field))
        {
            metadata.insert(field, value.clone());
        }
    }
}

/// Increments the generation: the object's intent has changed.
pub(super) fn next_generation(object: &mut Value) {
    let generation = object.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
    of(object).insert("generation", generation + 1);
}

/// A random uid (UUID version 4, RFC 9562).
pub(super) fn new_uid(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_new_object_has_only_what_the_server_gives() {
        let object = Value::from(json!({"data": {}, "metadata": {
            "name": "a", "namespace": "", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7,
            "deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5, "selfLink": "/x"
        }}));
        for (counted, generation) in [(false, 7), (true, 1)] {
            let mut object = object.clone();
            begin(&mut object, Some("n"), "u".into(), Time::from_ms(0), counted);
            let time = "1970-01-01T00:00:00Z";
            let metadata = json!({"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": time, "generation": generation});
            assert_eq!(object, json!({"data": {}, "metadata": metadata}).into());
        }
    }

    #[test]
    fn a_changed_object_keeps_its_identity() {
        let old = Value::from(json!({"metadata": {
            "name": "a", "uid": "u", "creationTimestamp": "2001-01-01T00:00:00Z", "labels": {"x": "1"},
            "deletionTimestamp": "2002-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0
        }}));
        let mut new = Value::from(
            json!({"metadata": {"name": "a", "resourceVersion": "5", "creationTimestamp": "2003-01-01T00:00:00Z", "generation": 2}}),
        );
        keep(&old, &mut new);
        let expect = json!({"metadata": {
            "name": "a", "uid": "u", "creationTimestamp": "2001-01-01T00:00:00Z",
            "deletionTimestamp": "2002-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0
        }});
        assert_eq!(new, expect.into());
    }
}
