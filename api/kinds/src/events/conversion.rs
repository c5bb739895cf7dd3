//! The conversion between Event of events/v1 and of v1: the same fields, most of them under other
//! names.

use quorate_meta::{Map, Value};

use quorate_registry::Conversion;

/// Fields with two names: that of events/v1 and that of v1.
const NAMES: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];
/// Strings that v1 always has, and events/v1 only when they are not empty.
const REPORTER: [&str; 2] = ["reportingComponent", "reportingInstance"];
/// Selectable fields that events/v1 has under another name.
const SELECTED: [(&str, &str); 8] = [
    ("regarding.apiVersion", "involvedObject.apiVersion"),
    ("regarding.fieldPath", "involvedObject.fieldPath"),
    ("regarding.kind", "involvedObject.kind"),
    ("regarding.name", "involvedObject.name"),
    ("regarding.namespace", "involvedObject.namespace"),
    ("regarding.resourceVersion", "involvedObject.resourceVersion"),
    ("regarding.uid", "involvedObject.uid"),
    ("reportingController", "reportingComponent"),
];

/// The conversion between the two groups.
#[derive(Debug)]
pub(super) struct EventConversion;

impl Conversion for EventConversion {
    fn to_stored(&self, object: &mut Value) {
        let Some(map) = object.as_map_mut() else {
            return;
        };
        for (newer, older) in NAMES {
            rename(map, newer, older);
        }
        for field in REPORTER {
            map.get_or_insert_with(field, || "".into());
        }
        if let Some(series) = map.get_mut("series").and_then(Value::as_map_mut)
            && series.get("count").and_then(Value::as_i64) == Some(0)
        {
            series.remove("count");
        }
    }

    fn to_served(&self, object: &mut Value) {
        let Some(map) = object.as_map_mut() else {
            return;
        };
        for field in REPORTER {
            if map.get(field).is_some_and(Value::is_empty) {
                map.remove(field);
            }
        }
        for (newer, older) in NAMES {
            rename(map, older, newer);
        }
        if let Some(series) = map.get_mut("series").and_then(Value::as_map_mut) {
            series.get_or_insert_with("count", || 0.into());
        }
    }

    fn stored_field<'f>(&self, field: &'f str) -> &'f str {
        SELECTED.iter().find(|(newer, _)| *newer == field).map_or(field, |(_, older)| older)
    }
}

fn rename(map: &mut Map, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn both_forms_say_the_same() {
        let check = |newer: Json, older: Json| {
            let mut object = Value::from(newer.clone());
            EventConversion.to_stored(&mut object);
            assert_eq!(object, older.into());
            EventConversion.to_served(&mut object);
            assert_eq!(object, newer.into());
        };
        check(
            json!({"note": "n", "regarding": {"kind": "Pod"}, "deprecatedSource": {}, "series": {"count": 0}, "reason": "R"}),
            json!({
                "message": "n", "involvedObject": {"kind": "Pod"}, "source": {}, "series": {}, "reason": "R",
                "reportingComponent": "", "reportingInstance": ""
            }),
        );
        check(
            json!({"reportingController": "c", "reportingInstance": "i", "deprecatedCount": 2, "deprecatedFirstTimestamp": null}),
            json!({"reportingComponent": "c", "reportingInstance": "i", "count": 2, "firstTimestamp": null}),
        );
    }

    #[test]
    fn selected_fields_have_stored_names() {
        let check =
            |newer: &str, older: &str| assert_eq!(EventConversion.stored_field(newer), older);
        check("regarding.name", "involvedObject.name");
        check("reportingController", "reportingComponent");
        check("reason", "reason");
    }
}
