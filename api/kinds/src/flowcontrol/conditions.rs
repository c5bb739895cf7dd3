//! The conditions of FlowSchemas and PriorityLevelConfigurations: each type once.

use std::collections::HashSet;

use quorate_meta::{Cause, Value};

use crate::field::Field;

/// Checks the conditions of a status.
pub(super) fn check(object: &Value, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for condition in Field::root(object).get("status.conditions").items() {
        let kind = condition.get("type");
        if !seen.insert(kind.text()) {
            causes.push(Cause::duplicate(kind.path(), kind.text()));
        }
        if kind.is_empty() {
            causes.push(kind.required("must not be empty"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::json;

    #[test]
    fn every_condition_has_a_type_of_its_own() {
        let run = |kinds: &[&str], expect: &[&str]| {
            let conditions: Vec<_> =
                kinds.iter().map(|kind| json!({"type": kind, "status": "True"})).collect();
            let mut causes = Vec::new();
            check(&json!({"status": {"conditions": conditions}}).into(), &mut causes);
            assert_eq!(shown(&causes), expect, "{kinds:?}");
        };
        run(&["a", "b"], &[]);
        run(&["a", ""], &["Required status.conditions[1].type"]);
        run(&["a", "a"], &["Duplicate status.conditions[1].type"]);
    }
}
