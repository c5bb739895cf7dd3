//! Pod: containers that run together on one node.

use quorate_meta::{Cause, Map, Names, Value};

use super::{
    affinity, app_armor, defaults, deletion, ephemeral, label_keys, pod_annotations, pod_status,
    resize, resources, spec, template, update, warnings,
};
use crate::field::Field;
use quorate_registry::strategy::status;
use quorate_registry::strategy::{intent_differs, plain_field};
use quorate_registry::{GatedFields, Part, Strategy};

/// Fields of a status whose features are off here: resizing of whole pods (KEP-5419), extended
/// resources by devices (KEP-5004) and the health of devices (KEP-4680).
const GATED_STATUS: GatedFields = GatedFields {
    below: "status",
    fields: &[],
    off: &[
        "resources",
        "allocatedResources",
        "extendedResourceClaimStatus",
        "containerStatuses[].allocatedResourcesStatus",
        "initContainerStatuses[].allocatedResourcesStatus",
        "ephemeralContainerStatuses[].allocatedResourcesStatus",
    ],
};
const GATED: &[GatedFields] = &[template::gated("spec"), GATED_STATUS];

/// The strategy of Pod.
#[derive(Debug)]
pub(in crate::core) struct Pod;

impl Strategy for Pod {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        // Binding a pod to a node does not change its generation.
        let node = |pod: &Value| pod.at(&["spec", "nodeName"]).cloned();
        node(old) == node(new) && intent_differs(old, new)
    }

    fn default(&self, _: &Names, object: &mut Value) {
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_map_mut) {
            defaults::pod(spec);
        }
        if let Some(status) = object.get_mut("status").and_then(Value::as_map_mut) {
            pod_status::align_addresses(status);
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            // A writer of the status must not change the owners.
            Part::Status => &["metadata.ownerReferences", "spec"],
            part => status::ignored(part),
        }
    }

    fn gated_fields(&self) -> &'static [GatedFields] {
        GATED
    }

    fn only(&self, part: Part) -> Option<&'static [&'static str]> {
        match part {
            Part::EphemeralContainers => Some(&["spec.ephemeralContainers"]),
            Part::Resize => Some(&resize::FIELDS),
            _ => None,
        }
    }

    fn prepare_create(&self, names: &Names, object: &mut Value) {
        set_grace_period(object);
        add_tolerations(names, object);
        label_keys::merge(object);
        app_armor::align(names, object);
        let spec = object.get("spec").cloned().unwrap_or_default();
        let quality = resources::qos_class(&spec);
        let mut status =
            Map::from([("phase", Value::from("Pending")), ("qosClass", quality.into())]);
        if spec.get("schedulingGates").is_some_and(|gates| !gates.is_empty()) {
            let condition = [
                ("lastProbeTime", Value::Null),
                ("lastTransitionTime", Value::Null),
                ("message", "Scheduling is blocked due to non-empty scheduling gates".into()),
                ("reason", "SchedulingGated".into()),
                ("status", "False".into()),
                ("type", "PodScheduled".into()),
            ];
            status.insert("conditions", vec![Value::from(condition)]);
        }
        object.set_at(&["status"], status);
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        match part {
            Part::EphemeralContainers => ephemeral::restore(old, new),
            Part::Resize => resize::restore(old, new),
            Part::Main => keep_priority(old, new),
            Part::Status => pod_status::keep_observed_generations(old, new),
            _ => {}
        }
        status::restore(part, old, new);
        if part == Part::Status {
            status::keep_at(&["metadata", "ownerReferences"], old, new);
        }
        if part == Part::Status
            && new.str_at(&["status", "qosClass"]).unwrap_or_default().is_empty()
        {
            let quality = old.at(&["status", "qosClass"]).cloned();
            let quality = quality.unwrap_or_else(|| {
                resources::qos_class(&new.get("spec").cloned().unwrap_or_default()).into()
            });
            new.set_at(&["status", "qosClass"], quality);
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        spec::check(names, &Field::root(object).get("spec"), false, Vec::new(), &mut causes);
        causes
    }

    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (root, spec) = (Field::root(object), Field::root(object).get("spec"));
        let annotations = root.get("metadata.annotations");
        pod_annotations::check(names, None, &annotations, &spec, &mut causes);
        app_armor::check_agreement(names, object, &mut causes);
        affinity::check_required_values(&spec.get("affinity"), &mut causes);
        let (guests, node) = (spec.get("ephemeralContainers"), spec.get("nodeName"));
        if !guests.is_empty() {
            causes.push(guests.forbidden("cannot be set on create"));
        }
        if !node.is_empty() && !spec.get("schedulingGates").is_empty() {
            causes
                .push(node.forbidden("cannot be set until all schedulingGates have been cleared"));
        }
        causes
    }

    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (before, root) = (old.at(&["metadata", "annotations"]), Field::root(new));
        pod_annotations::check_change(names, old, new, &mut causes);
        let annotations = root.get("metadata.annotations");
        pod_annotations::check(names, before, &annotations, &root.get("spec"), &mut causes);
        match part {
            Part::Main => update::check(old, new, &mut causes),
            Part::EphemeralContainers => ephemeral::check_update(names, old, new, &mut causes),
            Part::Resize => resize::check(names, old, new, &mut causes),
            _ => pod_status::check_change(old, new, &mut causes),
        }
        causes
    }

    fn warnings_as_sent(&self, names: &Names, object: &Value) -> Vec<String> {
        app_armor::warnings(names, object)
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        if old.is_some() { Vec::new() } else { warnings::of_pod(names, new) }
    }

    fn status_warnings(&self, new: &Value) -> Vec<String> {
        warnings::of_status(new)
    }

    fn grace_seconds(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        Some(deletion::grace_seconds(object, asked))
    }

    fn selectable(&self, object: &Value, field: &str) -> String {
        match field {
            "spec.host" => plain_field(object, "spec.nodeName"),
            "spec.hostNetwork" => object
                .at(&["spec", "hostNetwork"])
                .and_then(Value::as_bool)
                .unwrap_or_default()
                .to_string(),
            "status.podIP" => {
                let first = object
                    .at(&["status", "podIPs"])
                    .and_then(Value::as_list)
                    .and_then(<[Value]>::first);
                first.and_then(|first| first.str_at(&["ip"])).unwrap_or_default().to_owned()
            }
            "status.podIPs" => String::new(),
            _ => plain_field(object, field),
        }
    }
}

/// Restores the priority that the client omitted.
fn keep_priority(old: &Value, new: &mut Value) {
    for field in ["priority", "preemptionPolicy"] {
        let given = new.at(&["spec", field]).is_some_and(|given| !given.is_null());
        if let Some(known) = old.at(&["spec", field]).filter(|_| !given) {
            new.set_at(&["spec", field], known.clone());
        }
    }
}

/// Replaces a negative termination grace period by the shortest one.
fn set_grace_period(object: &mut Value) {
    const SHORTEST_SECONDS: i64 = 1;
    if object
        .at(&["spec", "terminationGracePeriodSeconds"])
        .and_then(Value::as_i64)
        .is_some_and(|seconds| seconds < 0)
    {
        object.set_at(&["spec", "terminationGracePeriodSeconds"], SHORTEST_SECONDS);
    }
}

/// Adds the default tolerations of the taints `not-ready` and `unreachable`, unless the pod
/// tolerates them.
fn add_tolerations(names: &Names, object: &mut Value) {
    const SECONDS: i64 = 300;
    let Some(spec) = object.get_mut("spec").and_then(Value::as_map_mut) else {
        return;
    };
    let mut list =
        spec.get("tolerations").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default();
    for condition in ["not-ready", "unreachable"] {
        let key = names.node_taint(condition);
        let tolerated = list.iter().any(|toleration| {
            let text = |field: &str| toleration.str_at(&[field]).unwrap_or_default();
            (text("key").is_empty() || text("key") == key)
                && matches!(text("effect"), "" | "NoExecute")
        });
        if !tolerated {
            list.push(Value::from([
                ("effect", Value::from("NoExecute")),
                ("key", key.into()),
                ("operator", "Exists".into()),
                ("tolerationSeconds", SECONDS.into()),
            ]));
        }
    }
    spec.insert("tolerations", list);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn creations() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let causes = Pod.validate_create(Naming::Svc.names(), &json!({ "spec": spec }).into());
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"nodeName": "n", "schedulingGates": []}), &[]);
        check(json!({"schedulingGates": [{"name": "g"}]}), &[]);
        check(
            json!({"nodeName": "n", "schedulingGates": [{"name": "g"}]}),
            &["Forbidden spec.nodeName"],
        );
        check(
            json!({"ephemeralContainers": [{"name": "e"}]}),
            &["Forbidden spec.ephemeralContainers"],
        );
    }

    #[test]
    fn default_tolerations_are_added() {
        let check = |naming: Naming, spec: serde_json::Value, expect: &[&str]| {
            let mut object = Value::from(json!({ "spec": spec }));
            add_tolerations(naming.names(), &mut object);
            let list = object.at(&["spec", "tolerations"]).and_then(Value::as_list).unwrap();
            let keys: Vec<_> = list
                .iter()
                .map(|toleration| toleration.str_at(&["key"]).unwrap_or_default())
                .collect();
            assert_eq!(keys, expect);
        };
        check(Naming::Svc, json!({}), &["node.svc.io/not-ready", "node.svc.io/unreachable"]);
        let both = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
        check(Naming::Kubernetes, json!({}), &both);
        let own =
            json!({"tolerations": [{"key": both[0], "operator": "Exists", "effect": "NoExecute"}]});
        check(Naming::Kubernetes, own, &both);
        check(Naming::Kubernetes, json!({"tolerations": [{"operator": "Exists"}]}), &[""]);
    }
}
