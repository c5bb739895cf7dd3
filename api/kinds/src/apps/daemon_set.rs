//! DaemonSet: a pod on each node.
//!
//! The template generation is no field any more; a deprecated annotation keeps it for clients that
//! read it.

use quorate_meta::{Cause, Names, Value};

use crate::core::pod::{template, warnings};
use crate::field::Field;
use crate::{rules, workload};
use quorate_registry::strategy::status;
use quorate_registry::{GatedFields, Part, Strategy};

const TEMPLATE_GENERATION: [&str; 3] =
    ["metadata", "annotations", "deprecated.daemonset.template.generation"];

const GATED: &[GatedFields] = &[template::gated("spec.template.spec")];

/// The strategy of DaemonSet.
#[derive(Debug)]
pub(super) struct DaemonSet;

impl Strategy for DaemonSet {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &["spec", "template"]);
        if object.str_at(&["spec", "updateStrategy", "type"]) == Some("RollingUpdate") {
            for (field, value) in [("maxUnavailable", 1), ("maxSurge", 0)] {
                let path = ["spec", "updateStrategy", "rollingUpdate", field];
                if object.at(&path).is_none_or(Value::is_null) {
                    object.set_at(&path, value);
                }
            }
        }
        if template_generation(object).is_none() {
            object.set_at(&TEMPLATE_GENERATION, "0");
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        const COUNTS: [&str; 4] = [
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberMisscheduled",
            "numberReady",
        ];
        object.set_at(&["status"], COUNTS.map(|field| (field, 0)));
        let generation = template_generation(object).unwrap_or_default().max(1);
        object.set_at(&TEMPLATE_GENERATION, generation.to_string());
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        let template = |object: &Value| object.at(&["spec", "template"]).cloned();
        let changed = i64::from(template(old) != template(new));
        let generation = template_generation(old).unwrap_or_default() + changed;
        new.set_at(&TEMPLATE_GENERATION, generation.to_string());
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let (selector, template) = (spec.get("selector"), spec.get("template"));
        if workload::check_optional_selector(&selector, "daemonset", &mut causes) {
            template::check_selector_matches(&selector, &template, &mut causes);
        }
        template::check_long_running(names, &template, "DaemonSet", &mut causes);
        workload::not_negative(&spec, &["minReadySeconds"], &mut causes);
        check_strategy(&spec.get("updateStrategy"), &mut causes);
        workload::not_negative(&spec, &["revisionHistoryLimit"], &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        match part {
            Part::Main => {
                rules::immutable(&old.get("spec.selector"), &new.get("spec.selector"), &mut causes)
            }
            _ => check_status(&new.get("status"), &mut causes),
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of_template(names, old, new, "spec.template")
    }
}

fn template_generation(object: &Value) -> Option<i64> {
    object.str_at(&TEMPLATE_GENERATION)?.parse().ok()
}

fn check_strategy(strategy: &Field<'_>, causes: &mut Vec<Cause>) {
    let update = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let (missing, surplus) = (update.get("maxUnavailable"), update.get("maxSurge"));
            for field in [&missing, &surplus] {
                workload::number_or_percent(field, causes);
                workload::at_most_100_percent(field, causes);
            }
            match (workload::is_zero(&missing), workload::is_zero(&surplus)) {
                (true, true) => causes.push(missing.required("cannot be 0 when maxSurge is 0")),
                (false, false) => {
                    causes.push(surplus.invalid("may not be set when maxUnavailable is non-zero"))
                }
                _ => {}
            }
        }
        _ => {
            let value = strategy.value().clone();
            causes.push(Cause::not_supported(
                strategy.path(),
                value,
                &["RollingUpdate", "OnDelete"],
            ));
        }
    }
}

fn check_status(status: &Field<'_>, causes: &mut Vec<Cause>) {
    let counted = [
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    workload::not_negative(status, &counted, causes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::field_causes;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn strategies() {
        let check = |strategy, expect: &[&str]| field_causes(check_strategy, strategy, expect);
        let rolling = |missing: serde_json::Value, surplus: serde_json::Value| json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": missing, "maxSurge": surplus}});
        check(json!({"type": "OnDelete"}), &[]);
        check(rolling(json!("20%"), json!(0)), &[]);
        check(rolling(json!(1), json!(1)), &["Invalid s.rollingUpdate.maxSurge"]);
        check(rolling(json!(0), json!(0)), &["Required s.rollingUpdate.maxUnavailable"]);
        check(rolling(json!("200%"), json!(0)), &["Invalid s.rollingUpdate.maxUnavailable"]);
        check(json!({"type": "Slow"}), &["NotSupported s"]);
    }

    #[test]
    fn the_generation_of_the_template() {
        let names = Naming::Svc.names();
        let of = |image: &str, generation: &str| {
            Value::from(
                json!({"metadata": {"annotations": {"deprecated.daemonset.template.generation": generation}},
                "spec": {"template": {"spec": {"image": image}}}}),
            )
        };
        let mut object = of("a", "odd");
        DaemonSet.default(names, &mut object);
        assert_eq!(template_generation(&object), Some(0));
        DaemonSet.prepare_create(names, &mut object);
        assert_eq!(template_generation(&object), Some(1));
        for (image, expect) in [("a", 4), ("b", 5)] {
            let mut new = of(image, "9");
            DaemonSet.prepare_update(names, Part::Main, &of("a", "4"), &mut new);
            assert_eq!(template_generation(&new), Some(expect));
        }
    }
}
