//! Event of events/v1: only its series may change.

use quorate_meta::{Cause, Names, Value};

use super::conversion::EventConversion;
use crate::core::check_event;
use crate::field::Field;
use crate::rules;
use quorate_registry::{Conversion, Part, Strategy};

/// Occurrences of a new series, at least.
const MIN_SERIES: i64 = 2;
/// Immutable fields, with the name that field errors have for them.
const FIXED: [(&str, &str); 13] = [
    ("regarding", "involvedObject"),
    ("reason", "reason"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
    ("action", "action"),
    ("related", "related"),
    ("type", "type"),
    ("eventTime", "eventTime"),
];

/// The strategy of Event of events/v1.
#[derive(Debug)]
pub(super) struct EventsV1Event;

impl Strategy for EventsV1Event {
    fn checks_structure(&self) -> bool {
        false
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut stored = object.clone();
        EventConversion.to_stored(&mut stored);
        let mut causes = check_event(names, &stored, "reportingController");
        let series = Field::root(object).get("series");
        let (count, last) = (series.get("count"), series.get("lastObservedTime"));
        if series.is_set() {
            if count.int().unwrap_or_default() < MIN_SERIES {
                causes.push(Cause::invalid(count.path(), "", "should be at least 2"));
            }
            rules::required(&last, &mut causes);
        }
        causes
    }

    fn validate_create(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let event = Field::root(object);
        rules::required(&event.get("eventTime"), &mut causes);
        let kind = event.get("type");
        if !["Normal", "Warning"].contains(&kind.text()) {
            causes.push(Cause::invalid(
                kind.path(),
                "",
                &format!("has invalid value: {}", kind.text()),
            ));
        }
        let older = FIXED.iter().filter(|(field, _)| field.starts_with("deprecated"));
        let given = older
            .filter(|(field, _)| !event.get(field).is_empty() && event.get(field).int() != Some(0));
        causes.extend(given.map(|(_, told_of)| Cause::invalid(*told_of, "", "needs to be unset")));
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        for (field, told_of) in FIXED {
            let (before, after) = (Field::root(old).get(field), Field::root(new).get(field));
            if before.value() != after.value() && !(before.is_empty() && after.is_empty()) {
                causes.push(Cause::invalid(told_of, after.value().clone(), rules::IMMUTABLE));
            }
        }
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn event() -> Json {
        json!({
            "metadata": {"namespace": "a"}, "regarding": {"kind": "Pod", "namespace": "a"}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.com/c", "reportingInstance": "i", "action": "Act", "reason": "Why", "type": "Normal",
            "deprecatedSource": {}, "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null
        })
    }

    #[test]
    fn a_new_event_is_complete() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let (object, names) = (patched(&event(), &[(pointer, value)]), Naming::Svc.names());
            let causes = [
                EventsV1Event.validate(names, &object),
                EventsV1Event.validate_create(names, &object),
            ]
            .concat();
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        check("/note", json!("words"), &[]);
        for field in ["action", "reason", "reportingInstance"] {
            check(&format!("/{field}"), json!(null), &[&format!("Required {field}")]);
        }
        check("/reportingController", json!("A b"), &["Invalid reportingController"]);
        check("/eventTime", json!(null), &["Required eventTime"]);
        check("/type", json!("Odd"), &["Invalid type"]);
        check("/note", json!("n".repeat(1025)), &["Invalid message"]);
        check("/deprecatedCount", json!(2), &["Invalid count"]);
        check("/deprecatedSource", json!({"component": "x"}), &["Invalid source"]);
        let time = "2026-01-01T00:00:00.000000Z";
        check("/series", json!({"count": 2, "lastObservedTime": time}), &[]);
        check("/series", json!({"count": 1, "lastObservedTime": time}), &["Invalid series.count"]);
        check("/series", json!({"count": 3}), &["Required series.lastObservedTime"]);
    }

    #[test]
    fn only_the_series_is_mutable() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let new = patched(&event(), &[(pointer, value)]);
            let causes = EventsV1Event.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &event().into(),
                &new,
            );
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        check("/series", json!({"count": 2}), &[]);
        check("/metadata/labels", json!({"a": "b"}), &[]);
        check("/action", json!("Other"), &["Invalid action"]);
        check("/note", json!("other"), &["Invalid message"]);
        check("/regarding/name", json!("q"), &["Invalid involvedObject"]);
    }
}
