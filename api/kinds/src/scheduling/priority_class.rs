//! PriorityClass: a pod priority by name.

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// The highest priority of a class that is not built in.
const MAX_USER_PRIORITY: i64 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";
/// The built-in priority classes and their values.
const SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The strategy of PriorityClass.
#[derive(Debug)]
pub(super) struct PriorityClass;

impl Strategy for PriorityClass {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    /// No field that can change counts.
    fn changes_intent(&self, _: &Value, _: &Value) -> bool {
        false
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let root = Field::root(object);
        let (name, value) = (root.get("metadata.name"), root.get("value"));
        if name.text().starts_with(SYSTEM_PREFIX) {
            let is_default = root.get("globalDefault").is_true();
            let wrong = unknown(name.text(), value.int().unwrap_or_default(), is_default);
            if let Some(why) = wrong {
                let why = format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
                );
                causes.push(name.forbidden(&why));
            }
        } else if value.int().is_some_and(|value| value > MAX_USER_PRIORITY) {
            let why =
                format!("maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}");
            causes.push(value.forbidden(&why));
        }
        rules::optional_one_of(
            &root.get("preemptionPolicy"),
            &["PreemptLowerPriority", "Never"],
            &mut causes,
        );
        causes
    }

    fn undeletable(&self, _: &Names, name: &str) -> Option<&'static str> {
        let known = SYSTEM.iter().any(|(own, _)| *own == name);
        known.then_some("this is a system priority class and cannot be deleted")
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        if old.get("value").int().unwrap_or_default() != new.get("value").int().unwrap_or_default()
        {
            causes.push(new.get("value").forbidden("may not be changed in an update."));
        }
        rules::immutable(&old.get("preemptionPolicy"), &new.get("preemptionPolicy"), &mut causes);
        causes
    }
}

/// Why a class with the prefix `system-` is no built-in one.
fn unknown(name: &str, value: i64, is_default: bool) -> Option<String> {
    match SYSTEM.iter().find(|(own, _)| *own == name) {
        Some((_, number)) if *number != value => {
            Some(format!("value of {name} PriorityClass must be {number}"))
        }
        Some(_) if is_default => {
            Some(format!("globalDefault of {name} PriorityClass must be false"))
        }
        Some(_) => None,
        None => Some(format!("{name} is not a known system priority class")),
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
        let check = |name: &str, value: i64, expect: &[&str]| {
            let object =
                json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"})
                    .into();
            assert_eq!(shown(&PriorityClass.validate(Naming::Svc.names(), &object)), expect);
        };
        check("a", 1_000_000_000, &[]);
        check("a", 1_000_000_001, &["Forbidden value"]);
        check("system-cluster-critical", 2_000_000_000, &[]);
        check("system-cluster-critical", 1, &["Forbidden metadata.name"]);
        check("system-mine", 1, &["Forbidden metadata.name"]);
    }

    #[test]
    fn why_a_name_is_reserved() {
        let check = |name: &str, value: i64, is_default: bool, expect: Option<&str>| {
            assert_eq!(unknown(name, value, is_default).as_deref(), expect);
        };
        check("system-mine", 1, false, Some("system-mine is not a known system priority class"));
        const OWN: &str = "system-node-critical";
        let why = "value of system-node-critical PriorityClass must be 2000001000";
        check(OWN, 1, true, Some(why));
        let why = "globalDefault of system-node-critical PriorityClass must be false";
        check(OWN, 2_000_001_000, true, Some(why));
        check(OWN, 2_000_001_000, false, None);
    }

    #[test]
    fn classes_of_the_system_are_not_deleted() {
        let check = |name: &str, expect: bool| {
            assert_eq!(
                PriorityClass.undeletable(Naming::Svc.names(), name).is_some(),
                expect,
                "{name}"
            );
        };
        check("system-node-critical", true);
        check("system-cluster-critical", true);
        check("system-mine", false);
    }

    #[test]
    fn immutable_fields() {
        let object = |value: i64, policy: &str| {
            Value::from(json!({"value": value, "preemptionPolicy": policy}))
        };
        let causes = PriorityClass.validate_update(
            Naming::Svc.names(),
            Part::Main,
            &object(1, "Never"),
            &object(2, "Other"),
        );
        assert_eq!(shown(&causes), ["Forbidden value", "Invalid preemptionPolicy"]);
    }
}
