//! ReplicaSet: a number of equal pods.

use quorate_meta::{Cause, Names, Value};

use crate::core::pod::{template, warnings};
use crate::field::Field;
use crate::{rules, workload};
use quorate_registry::{GatedFields, Part, Strategy};

const GATED: &[GatedFields] = &[template::gated("spec.template.spec")];

/// The strategy of ReplicaSet.
#[derive(Debug)]
pub(super) struct ReplicaSet;

impl Strategy for ReplicaSet {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &["spec", "template"]);
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
        let selector = spec.get("selector");
        workload::not_negative(&spec, &["replicas", "minReadySeconds"], &mut causes);
        if workload::check_selector(&selector, "deployment", &mut causes) {
            template::check_selector_matches(&selector, &spec.get("template"), &mut causes);
            template::check_long_running(names, &spec.get("template"), "ReplicaSet", &mut causes);
        }
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        match part {
            Part::Main => {
                rules::immutable(&old.get("spec.selector"), &new.get("spec.selector"), &mut causes)
            }
            _ => workload::check_replicas(&new.get("status"), &mut causes),
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of_workload(names, old, new, "spec.template")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn rules_of_the_whole() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let causes = ReplicaSet.validate(Naming::Svc.names(), &json!({ "spec": spec }).into());
            assert_eq!(shown(&causes), expect);
        };
        let container = json!({"name": "c", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
        let template = json!({"metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "Default"}});
        check(
            json!({"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": template}),
            &[],
        );
        check(
            json!({"replicas": -1, "template": template}),
            &[
                "Invalid spec.replicas",
                "Required spec.selector",
                "Invalid spec.template.metadata.labels",
            ],
        );
        let like = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
        check(
            json!({"selector": like}),
            &["Invalid spec.selector.matchExpressions[0].operator", "Invalid spec.selector"],
        );
    }
}
