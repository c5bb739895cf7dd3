//! ConfigMap: strings and bytes by key.

use quorate_meta::{Cause, Names, Path, Value};

use super::data;
use quorate_registry::{Part, Strategy};

/// The strategy of ConfigMap.
#[derive(Debug)]
pub(super) struct ConfigMap;

impl Strategy for ConfigMap {
    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        data::check_keys(object, "data", &mut causes);
        if let (Some(texts), Some(bytes)) = (
            object.get("data").and_then(Value::as_map),
            object.get("binaryData").and_then(Value::as_map),
        ) {
            let twice = texts.keys().filter(|key| bytes.contains_key(key));
            causes.extend(twice.map(|key| {
                Cause::invalid(
                    Path::new("data").key(key),
                    key,
                    "duplicate of key present in binaryData",
                )
            }));
        }
        data::check_keys(object, "binaryData", &mut causes);
        if data::text_bytes(object, "data") + data::base64_bytes(object, "binaryData")
            > data::MAX_CONTENTS_BYTES
        {
            causes.push(Cause::too_long("", data::MAX_CONTENTS_BYTES));
        }
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        data::check_immutable(old, new, &["data", "binaryData"], &mut causes);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn check(object: serde_json::Value, expect: &[&str]) {
        let causes = ConfigMap.validate(Naming::Svc.names(), &object.into());
        assert_eq!(
            causes.iter().map(|c| format!("{} {}", c.reason.as_str(), c.field)).collect::<Vec<_>>(),
            expect
        );
    }

    #[test]
    fn contents() {
        check(json!({}), &[]);
        check(json!({"data": {"k": "v"}, "binaryData": {"b": "AA=="}}), &[]);
        check(json!({"data": {"a/b": "v"}}), &["FieldValueInvalid data[a/b]"]);
        check(
            json!({"data": {"k": "v"}, "binaryData": {"k": "AA=="}}),
            &["FieldValueInvalid data[k]"],
        );
        check(json!({"data": {"k": "x".repeat(1 << 20)}}), &[]);
        check(
            json!({"data": {"k": "x".repeat(1 << 20)}, "binaryData": {"b": "AA=="}}),
            &["FieldValueTooLong "],
        );
    }

    #[test]
    fn immutable() {
        let check = |old: serde_json::Value, new: serde_json::Value, expect: &[&str]| {
            let causes = ConfigMap.validate_update(
                Naming::Svc.names(),
                Part::Main,
                &old.into(),
                &new.into(),
            );
            assert_eq!(causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(), expect);
        };
        let fixed = || json!({"immutable": true, "data": {"k": "v"}});
        check(fixed(), fixed(), &[]);
        check(fixed(), json!({"immutable": true, "data": {"k": "w"}}), &["data"]);
        check(
            fixed(),
            json!({"data": {"k": "v"}, "binaryData": {"b": "AA=="}}),
            &["immutable", "binaryData"],
        );
        check(fixed(), json!({"immutable": true, "data": {"k": "v"}, "binaryData": {}}), &[]);
        check(json!({"data": {"k": "v"}}), json!({"immutable": true}), &[]);
    }
}
