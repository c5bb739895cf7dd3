//! RuntimeClass: a container runtime configuration of nodes.

use std::collections::HashSet;

use quorate_meta::{Cause, Names, Value, name};
use quorate_wire::json;

use crate::core::pod::{check_amount, check_tolerations, node_labels};
use crate::field::Field;
use crate::rules;
use quorate_registry::{Part, Strategy};

/// The strategy of RuntimeClass.
#[derive(Debug)]
pub(super) struct RuntimeClass;

impl Strategy for RuntimeClass {
    fn checks_structure(&self) -> bool {
        false
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let root = Field::root(object);
        let handler = root.get("handler");
        let wrong = name::dns_label(handler.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(handler.path(), handler.text(), why)));
        for (resource, amount) in root.get("overhead.podFixed").entries() {
            check_amount(names, resource, &amount, &mut causes);
        }
        let scheduling = root.get("scheduling");
        rules::labels(&scheduling.get("nodeSelector"), &mut causes);
        let tolerations = scheduling.get("tolerations");
        check_tolerations(&tolerations, &mut causes);
        let mut seen = HashSet::new();
        for toleration in tolerations.items() {
            if !seen.insert(json::to_vec(toleration.value())) {
                causes.push(toleration.duplicate());
            }
        }
        causes
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let selector = Field::root(new).get("scheduling.nodeSelector");
        let found = selector.entries().filter_map(|(key, _)| node_labels::deprecation(names, key));
        found.map(|why| format!("{}: {why}", selector.path())).collect()
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        rules::immutable(
            &Field::root(old).get("handler"),
            &Field::root(new).get("handler"),
            &mut causes,
        );
        causes
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
        let check = |object: serde_json::Value, expect: &[&str]| {
            assert_eq!(shown(&RuntimeClass.validate(Naming::Svc.names(), &object.into())), expect);
        };
        check(json!({"handler": "runc", "overhead": {"podFixed": {"cpu": "250m"}}}), &[]);
        check(json!({}), &["Invalid handler"]);
        check(
            json!({"handler": "A_b", "overhead": {"podFixed": {"cpu": "-1"}}}),
            &["Invalid handler", "Invalid overhead.podFixed[cpu]"],
        );
        let toleration = json!({"key": "k", "operator": "Exists"});
        check(
            json!({"handler": "r", "scheduling": {"nodeSelector": {"a b": "c"}, "tolerations": [toleration, toleration]}}),
            &["Invalid scheduling.nodeSelector", "Duplicate scheduling.tolerations[1]"],
        );
    }
}
