//! FlowSchema: which requests form a flow, and their priority level.
//!
//! Its rules are checked in `policy_rules`.

use quorate_meta::{Cause, Names, Value, name};

use quorate_meta::flow_control::EXEMPT;

use super::mandatory;
use super::{conditions, policy_rules};
use crate::field::Field;
use quorate_registry::Strategy;

const MAX_PRECEDENCE: i64 = 10_000;

/// The strategy of FlowSchema.
#[derive(Debug)]
pub(super) struct FlowSchema;

impl Strategy for FlowSchema {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let precedence = spec.get("matchingPrecedence");
        match precedence.int().unwrap_or_default() {
            ..=0 => causes.push(precedence.invalid("must be a positive value")),
            1 if object.str_at(&["metadata", "name"]) != Some(EXEMPT) => {
                causes.push(
                    precedence
                        .invalid("only the schema named 'exempt' may have matchingPrecedence 1"),
                );
            }
            number if number > MAX_PRECEDENCE => {
                causes.push(
                    precedence.invalid(&format!("must not be greater than {MAX_PRECEDENCE}")),
                );
            }
            _ => {}
        }
        let method = spec.get("distinguisherMethod");
        if method.is_set() && !["ByNamespace", "ByUser"].contains(&method.get("type").text()) {
            causes.push(method.get("type").not_supported(&["ByNamespace", "ByUser"]));
        }
        let level = spec.get("priorityLevelConfiguration.name");
        if level.is_empty() {
            causes.push(level.required("must reference a priority level"));
        } else {
            causes.extend(level.invalid_for(&name::dns_subdomain(level.text())));
        }
        spec.get("rules").items().for_each(|rule| policy_rules::check(&rule, &mut causes));
        mandatory::check_schema(
            object.str_at(&["metadata", "name"]).unwrap_or_default(),
            &spec,
            &mut causes,
        );
        conditions::check(object, &mut causes);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn schemas() {
        let base = json!({"metadata": {"name": "a"}, "spec": {"matchingPrecedence": 1000, "priorityLevelConfiguration": {"name": "p"}}});
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let causes =
                FlowSchema.validate(Naming::Svc.names(), &patched(&base, &[(pointer, value)]));
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        check("/spec/distinguisherMethod", json!({"type": "ByUser"}), &[]);
        check(
            "/spec/distinguisherMethod",
            json!({"type": "ByAge"}),
            &["NotSupported spec.distinguisherMethod.type"],
        );
        for precedence in [0, 1, 10_001] {
            check(
                "/spec/matchingPrecedence",
                json!(precedence),
                &["Invalid spec.matchingPrecedence"],
            );
        }
        let level = "/spec/priorityLevelConfiguration/name";
        check(level, json!(""), &["Required spec.priorityLevelConfiguration.name"]);
        check(level, json!("A b"), &["Invalid spec.priorityLevelConfiguration.name"]);
        check(
            "/spec/rules",
            json!([{}]),
            &["Required spec.rules[0].subjects", "Required spec.rules[0]"],
        );
        let exempt = patched(
            &base,
            &[("/metadata/name", json!("exempt")), ("/spec/matchingPrecedence", json!(1))],
        );
        assert_eq!(shown(&FlowSchema.validate(Naming::Svc.names(), &exempt)), ["Invalid spec"]);
    }
}
