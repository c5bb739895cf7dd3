//! ReplicationController: the predecessor of ReplicaSet.

use quorate_meta::{Cause, Names, Value};

use super::pod::{template, warnings};
use crate::field::Field;
use crate::{rules, workload};
use quorate_registry::Propagation;
use quorate_registry::strategy::plain_field;
use quorate_registry::{GatedFields, Part, Strategy};

const TEMPLATE_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];

const GATED: &[GatedFields] = &[template::gated("spec.template.spec")];

/// The strategy of ReplicationController.
#[derive(Debug)]
pub(super) struct ReplicationController;

impl Strategy for ReplicationController {
    fn has_declared_rules(&self) -> bool {
        true
    }

    /// Deleting a controller orphans its pods by default, as it did before garbage collection.
    fn propagation(&self) -> Propagation {
        Propagation::Orphan
    }

    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &["spec", "template"]);
        let Some(labels) = object.at(&TEMPLATE_LABELS).filter(|labels| !labels.is_empty()).cloned()
        else {
            return;
        };
        for path in [["spec", "selector"], ["metadata", "labels"]] {
            if object.at(&path).is_none_or(Value::is_empty) {
                object.set_at(&path, labels.clone());
            }
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], [("replicas", 0)]);
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let (selector, template) = (spec.get("selector"), spec.get("template"));
        rules::not_negative(&spec.get("minReadySeconds"), &mut causes);
        if selector.is_empty() {
            causes.push(selector.required(""));
        }
        rules::not_negative(&spec.get("replicas"), &mut causes);
        if !template.is_set() {
            causes.push(template.required(""));
            return causes;
        }
        let labels = template.get("metadata.labels");
        if !selector.entries().all(|(key, value)| labels.value().get(key) == Some(value.value())) {
            causes.push(labels.invalid("`selector` does not match template `labels`"));
        }
        template::check_long_running(names, &template, "ReplicationController", &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, _: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if part == Part::Status {
            workload::check_replicas(&Field::root(new).get("status"), &mut causes);
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of_workload(names, old, new, "spec.template")
    }

    fn selectable(&self, object: &Value, field: &str) -> String {
        let text = plain_field(object, field);
        if field == "status.replicas" && text.is_empty() { "0".to_owned() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn the_template_names_what_is_missing() {
        let mut object = Value::from(
            json!({"metadata": {}, "spec": {"template": {"metadata": {"labels": {"app": "a"}}}}}),
        );
        ReplicationController.default(Naming::Svc.names(), &mut object);
        assert_eq!(object.str_at(&["spec", "selector", "app"]), Some("a"));
        assert_eq!(object.str_at(&["metadata", "labels", "app"]), Some("a"));
    }

    #[test]
    fn rules_of_the_whole() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let causes = ReplicationController
                .validate(Naming::Svc.names(), &json!({ "spec": spec }).into());
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"selector": {"a": "b"}}), &["Required spec.template"]);
        check(
            json!({"replicas": -1}),
            &["Required spec.selector", "Invalid spec.replicas", "Required spec.template"],
        );
    }
}
