//! VolumeAttributesClass: mutable parameters of volumes (KEP-3751).

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// Parameters of a class, at most.
const MAX_PARAMETERS: usize = 512;
/// Bytes of the parameters of a class, names and values, at most.
const MAX_PARAMETER_BYTES: usize = 256 * 1024;

/// The strategy of VolumeAttributesClass.
#[derive(Debug)]
pub(super) struct VolumeAttributesClass;

impl Strategy for VolumeAttributesClass {
    fn checks_structure(&self) -> bool {
        false
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let object = Field::root(object);
        rules::csi_driver_name(&object.get("driverName"), &mut causes);
        let parameters = object.get("parameters");
        if parameters.is_empty() {
            causes.push(parameters.required("must contain at least one key/value pair"));
        }
        check_parameters(&parameters, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let changed = ["driverName", "parameters"]
            .into_iter()
            .filter(|field| old.get(field) != new.get(field));
        changed
            .map(|field| Cause::forbidden(field, &format!("updates to {field} are forbidden.")))
            .collect()
    }
}

/// Checks the number and size of parameters; no name is empty.
pub(super) fn check_parameters(parameters: &Field<'_>, causes: &mut Vec<Cause>) {
    let count = parameters.entries().count();
    if count > MAX_PARAMETERS {
        causes.push(Cause::too_long(parameters.path(), MAX_PARAMETERS));
        return;
    }
    if parameters.entries().any(|(key, _)| key.is_empty()) {
        causes.push(Cause::invalid(parameters.path(), "", "field can not be empty."));
    }
    if parameters.entries().map(|(key, value)| key.len() + value.text().len()).sum::<usize>()
        > MAX_PARAMETER_BYTES
    {
        causes.push(Cause::too_long(parameters.path(), MAX_PARAMETER_BYTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn classes() {
        let check = |driver: &str, parameters: serde_json::Value, expect: &[&str]| {
            let object = json!({"driverName": driver, "parameters": parameters}).into();
            assert_eq!(
                shown(&VolumeAttributesClass.validate(Naming::Svc.names(), &object)),
                expect
            );
        };
        check("x.example.com", json!({"a": "b"}), &[]);
        check("", json!({}), &["Required driverName", "Required parameters"]);
        check("A_b", json!({"": "b"}), &["Invalid driverName", "Invalid parameters"]);
        check("x", json!({"a": "b".repeat(256 << 10)}), &["TooLong parameters"]);
        let many: serde_json::Map<_, _> =
            (0..513).map(|number| (number.to_string(), json!(""))).collect();
        check("x", json!(many), &["TooLong parameters"]);
    }

    #[test]
    fn all_fields_are_immutable() {
        let (old, new) = (
            json!({"driverName": "a", "parameters": {"k": "v"}}),
            json!({"driverName": "b", "parameters": {}}),
        );
        let causes = VolumeAttributesClass.validate_update(
            Naming::Svc.names(),
            Part::Main,
            &old.into(),
            &new.into(),
        );
        assert_eq!(shown(&causes), ["Forbidden driverName", "Forbidden parameters"]);
    }
}
