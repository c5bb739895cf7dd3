//! StatefulSet: pods with a stable identity, an order, and storage of their own.

use quorate_meta::{Cause, Map, Names, Value, name};

use super::stateful_set_status::check_status;
use crate::core::persistent_volume_claim;
use crate::core::pod::{check_claim_template, template, warnings};
use crate::field::Field;
use crate::{rules, workload};
use quorate_registry::features::Feature;
use quorate_registry::strategy::intent_differs;
use quorate_registry::{GatedFields, NameRule, Part, Strategy};

/// The fields of a specification that may change.
const CHANGEABLE: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
    "ordinals",
];
const WHY: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                   'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

/// Gated fields: `maxUnavailable` (KEP-961) and those of the pod template.
const MAX_UNAVAILABLE: (Feature, &str) =
    (Feature::MaxUnavailableStatefulSet, "updateStrategy.rollingUpdate.maxUnavailable");
const GATED: &[GatedFields] = &[
    GatedFields { below: "spec", fields: &[MAX_UNAVAILABLE], off: &[] },
    template::gated("spec.template.spec"),
];

/// The strategy of StatefulSet.
#[derive(Debug)]
pub(super) struct StatefulSet;

impl Strategy for StatefulSet {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        template::default(object, &["spec", "template"]);
        let Some(spec) = object.as_map_mut().and_then(|map| map.map_mut("spec")) else {
            return;
        };
        if let Some(strategy) = spec.map_mut("updateStrategy") {
            default_strategy(strategy);
        }
        for claim in
            spec.get_mut("volumeClaimTemplates").and_then(Value::as_list_mut).into_iter().flatten()
        {
            claim.set_at(&["apiVersion"], "v1");
            claim.set_at(&["kind"], "PersistentVolumeClaim");
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], [("availableReplicas", 0), ("replicas", 0)]);
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        check_management(&spec, &mut causes);
        check_strategy(&spec.get("updateStrategy"), &mut causes);
        for field in ["whenDeleted", "whenScaled"] {
            let policy = spec.get("persistentVolumeClaimRetentionPolicy").get(field);
            rules::optional_one_of(&policy, &["Retain", "Delete"], &mut causes);
        }
        workload::not_negative(
            &spec,
            &["replicas", "minReadySeconds", "ordinals.start", "revisionHistoryLimit"],
            &mut causes,
        );
        let (selector, template) = (spec.get("selector"), spec.get("template"));
        if workload::check_selector(&selector, "statefulset", &mut causes) {
            template::check_selector_matches(&selector, &template, &mut causes);
            let claims = spec.get("volumeClaimTemplates");
            let volumes = claims.items().map(|claim| claim.get("metadata.name").text()).collect();
            template::check_with_volumes(names, &template, volumes, &mut causes);
            template::check_restarts(&template, "StatefulSet", &mut causes);
        }
        rules::optional_name(&spec.get("serviceName"), name::dns_label, &mut causes);
        for claim in spec.get("volumeClaimTemplates").items() {
            check_claim_template(&claim, &mut causes);
        }
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (old, new) = (Field::root(old), Field::root(new));
        let fixed = |spec: &Value| {
            let mut spec = spec.as_map().cloned().unwrap_or_default();
            spec.retain(|field, _| !CHANGEABLE.contains(&field));
            spec
        };
        match part {
            Part::Main if fixed(old.get("spec").value()) != fixed(new.get("spec").value()) => {
                causes.push(new.get("spec").forbidden(WHY));
            }
            Part::Status => check_status(&new.get("status"), &mut causes),
            _ => {}
        }
        causes
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let mut warnings = warnings::of_template(names, old, new, "spec.template");
        if old.is_some_and(|old| !intent_differs(old, new)) {
            return warnings;
        }
        let spec = Field::root(new).get("spec");
        for claim in spec.get("volumeClaimTemplates").items() {
            // The path does not name the specification, as in Kubernetes.
            let claim = Field::new(claim.get("spec").value(), claim.path().clone());
            warnings.extend(persistent_volume_claim::fraction_warning(&claim));
        }
        if spec.get("revisionHistoryLimit").int().is_some_and(|limit| limit < 0) {
            let why =
                "a negative value retains all historical revisions; a value >= 0 is recommended";
            warnings.push(format!("spec.revisionHistoryLimit: {why}"));
        }
        warnings
    }
}

/// Defaults the update strategy to a rolling update of all pods.
fn default_strategy(strategy: &mut Map) {
    if strategy.get_str("type").is_none_or(str::is_empty) {
        strategy.insert("type", "RollingUpdate");
        strategy.map_mut("rollingUpdate");
    }
    if strategy.get_str("type") == Some("RollingUpdate")
        && let Some(update) = strategy.get_mut("rollingUpdate").and_then(Value::as_map_mut)
    {
        update.get_or_insert_with("partition", || 0.into());
    }
}

fn check_management(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let policy = spec.get("podManagementPolicy");
    match policy.text() {
        "" => causes.push(policy.required("")),
        "OrderedReady" | "Parallel" => {}
        _ => causes.push(policy.invalid("must be 'OrderedReady' or 'Parallel'")),
    }
}

fn check_strategy(strategy: &Field<'_>, causes: &mut Vec<Cause>) {
    let (kind, update) = (strategy.get("type"), strategy.get("rollingUpdate"));
    match kind.text() {
        "" => causes.push(kind.required("")),
        "OnDelete" if update.is_set() => {
            causes.push(update.invalid("only allowed for updateStrategy 'RollingUpdate'"));
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            rules::not_negative(&update.get("partition"), causes);
            let missing = update.get("maxUnavailable");
            if missing.is_set() {
                workload::number_or_percent(&missing, causes);
                if workload::is_zero(&missing) {
                    causes.push(missing.invalid("cannot be 0"));
                }
                workload::at_most_100_percent(&missing, causes);
            }
        }
        _ => causes.push(strategy.invalid("must be 'RollingUpdate' or 'OnDelete'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{field_causes, shown};
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn strategies() {
        let check = |strategy, expect: &[&str]| field_causes(check_strategy, strategy, expect);
        check(json!({"type": "OnDelete"}), &[]);
        check(json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}), &[]);
        check(
            json!({"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}),
            &["Invalid s.rollingUpdate.partition"],
        );
        check(json!({"type": "OnDelete", "rollingUpdate": {}}), &["Invalid s.rollingUpdate"]);
        check(json!({"type": "Slow"}), &["Invalid s"]);
    }

    #[test]
    fn defaults() {
        let check = |strategy: serde_json::Value, expect: serde_json::Value| {
            let mut object = Value::from(json!({"spec": {"updateStrategy": strategy}}));
            StatefulSet.default(Naming::Svc.names(), &mut object);
            assert_eq!(object, json!({"spec": {"updateStrategy": expect}}).into());
        };
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
        check(json!({}), rolling.clone());
        check(json!({"type": "RollingUpdate"}), json!({"type": "RollingUpdate"}));
        check(json!({"type": "RollingUpdate", "rollingUpdate": {}}), rolling);
        check(json!({"type": "OnDelete"}), json!({"type": "OnDelete"}));
    }

    #[test]
    fn changes() {
        let check = |change: serde_json::Value, expect: &[&str]| {
            let old = Value::from(json!({"spec": {"serviceName": "s", "replicas": 1}}));
            let mut new = old.clone();
            quorate_registry::patch::merge(&mut new, json!({ "spec": change }).into());
            let causes = StatefulSet.validate_update(Naming::Svc.names(), Part::Main, &old, &new);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"replicas": 2, "ordinals": {"start": 1}, "minReadySeconds": 1}), &[]);
        check(json!({"serviceName": "t"}), &["Forbidden spec"]);
    }
}
