//! PodTemplateSpec of workloads: labels, specification, and whether the selector matches.

use quorate_meta::{Cause, LabelSelector, Names, Value, name};

use super::{affinity, defaults, pod_annotations, spec};
use crate::field::Field;
use crate::rules;
use quorate_registry::GatedFields;
use quorate_registry::features::Feature;

const NO_MATCH: &str = "`selector` does not match template `labels`";

/// Gated fields of a PodSpec: gang scheduling (KEP-4671) and stop signals (KEP-4960).
const GATED: &[(Feature, &str)] = &[
    (Feature::GenericWorkload, "workloadRef"),
    (Feature::ContainerStopSignals, "containers[].lifecycle.stopSignal"),
    (Feature::ContainerStopSignals, "initContainers[].lifecycle.stopSignal"),
    (Feature::ContainerStopSignals, "ephemeralContainers[].lifecycle.stopSignal"),
];

/// Fields of a PodSpec whose features are off here: certificates of pods (KEP-4317).
const OFF: &[&str] = &["volumes[].projected.sources[].podCertificate"];

/// The gated fields of a PodSpec at a path.
pub(crate) const fn gated(below: &'static str) -> GatedFields {
    GatedFields { below, fields: GATED, off: OFF }
}

/// Defaults the template at a path of an object.
pub(crate) fn default(object: &mut Value, path: &[&str]) {
    if let Some(spec) = object
        .at_mut(path)
        .and_then(|template| template.get_mut("spec"))
        .and_then(Value::as_map_mut)
    {
        defaults::spec(spec);
    }
}

/// Checks a template.
pub(crate) fn check(names: &Names, template: &Field<'_>, causes: &mut Vec<Cause>) {
    check_with_volumes(names, template, Vec::new(), causes);
}

/// Checks a template whose pods get further volumes of these names.
pub(crate) fn check_with_volumes(
    names: &Names,
    template: &Field<'_>,
    volumes: Vec<&str>,
    causes: &mut Vec<Cause>,
) {
    // Field errors have no `metadata` or `spec` in their path, as in Kubernetes.
    let metadata = Field::new(template.get("metadata").value(), template.path().clone());
    rules::labels(&metadata.get("labels"), causes);
    let annotations = metadata.get("annotations");
    let texts = annotations.entries().map(|(key, value)| (key, value.text()));
    causes.extend(name::annotations(annotations.path(), texts));
    pod_annotations::check(names, None, &annotations, &template.get("spec"), causes);
    spec::check(names, &template.get("spec"), true, volumes, causes);
    affinity::check_required_values(&template.get("spec.affinity"), causes);
    let guests = template.get("spec.ephemeralContainers");
    if !guests.is_empty() {
        causes.push(guests.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Checks a template whose restart policy must be `Always`; `workload` is for the message.
pub(crate) fn check_long_running(
    names: &Names,
    template: &Field<'_>,
    workload: &str,
    causes: &mut Vec<Cause>,
) {
    check(names, template, causes);
    check_restarts(template, workload, causes);
}

/// Checks the restart policy of such a template.
pub(crate) fn check_restarts(template: &Field<'_>, workload: &str, causes: &mut Vec<Cause>) {
    let (policy, deadline) =
        (template.get("spec.restartPolicy"), template.get("spec.activeDeadlineSeconds"));
    if matches!(policy.text(), "Never" | "OnFailure") {
        causes.push(policy.not_supported(&["Always"]));
    }
    if deadline.is_set() {
        causes.push(
            deadline.forbidden(&format!("activeDeadlineSeconds in {workload} is not Supported")),
        );
    }
}

/// Checks that an optional selector matches the labels of the template.
pub(crate) fn check_selector_matches(
    selector: &Field<'_>,
    template: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    let labels = template.get("metadata.labels");
    let met = selector.is_set()
        && LabelSelector::from_object(selector.value()).is_some_and(|selector| {
            let texts = labels.value().as_map().into_iter().flat_map(|map| map.iter());
            selector.matches(texts.map(|(key, value)| (key, value.as_str().unwrap_or_default())))
        });
    if !met {
        causes.push(labels.invalid(NO_MATCH));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::json;

    fn good() -> serde_json::Value {
        let container = json!({"name": "c", "image": "a", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"});
        json!({"metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [container], "restartPolicy": "Always", "dnsPolicy": "Default"}})
    }

    #[test]
    fn templates() {
        let run = |change: serde_json::Value, expect: &[&str]| {
            let mut object = Value::from(json!({"t": good()}));
            quorate_registry::patch::merge(&mut object, json!({ "t": change }).into());
            let mut causes = Vec::new();
            check_long_running(
                Naming::Svc.names(),
                &Field::root(&object).get("t"),
                "X",
                &mut causes,
            );
            assert_eq!(shown(&causes), expect);
        };
        run(json!({}), &[]);
        run(json!({"spec": {"containers": null}}), &["Required t.spec.containers"]);
        run(json!({"spec": {"restartPolicy": "Never"}}), &["NotSupported t.spec.restartPolicy"]);
        run(
            json!({"spec": {"restartPolicy": "Odd", "dnsPolicy": ""}}),
            &["NotSupported t.spec.restartPolicy", "Required t.spec.dnsPolicy"],
        );
        run(
            json!({"spec": {"activeDeadlineSeconds": 5}}),
            &["Forbidden t.spec.activeDeadlineSeconds"],
        );
        run(json!({"spec": {"nodeSelector": {"a b": "c"}}}), &["Invalid t.spec.nodeSelector"]);
        run(json!({"metadata": {"labels": {"a b": "c"}}}), &["Invalid t.labels"]);
        run(json!({"metadata": {"annotations": {"a b": "c"}}}), &["Invalid t.annotations"]);
        run(json!({"spec": {"os": {"name": "odd"}}}), &["NotSupported t.spec.os.name"]);
    }

    #[test]
    fn gated_fields_of_pods_are_kept_with_their_gates() {
        let spec = |part: serde_json::Value, more: serde_json::Value| {
            let mut spec =
                Value::from(json!({"t": {"containers": [part], "initContainers": [part]}}));
            spec.at_mut(&["t"])
                .and_then(Value::as_map_mut)
                .unwrap()
                .merge(Value::from(more).as_map().unwrap().clone());
            spec
        };
        let signal = || json!({"lifecycle": {"stopSignal": "SIGHUP", "preStop": {}}});
        let workload = || json!({"workloadRef": {"name": "w"}});
        let check = |gates: &str, expect: Value| {
            let mut object = spec(signal(), workload());
            gated("t").clear(&gates.parse().unwrap(), None, &mut object);
            assert_eq!(object, expect, "{gates}");
        };
        let none = || json!({"lifecycle": {"preStop": {}}});
        check("", spec(none(), json!({})));
        check("ContainerStopSignals=true", spec(signal(), json!({})));
        check("GenericWorkload=true", spec(none(), workload()));
        let sources = json!([{"podCertificate": {"keyPath": "a"}}, {"secret": {"name": "s"}}]);
        let mut object =
            Value::from(json!({"t": {"volumes": [{"projected": {"sources": sources}}]}}));
        gated("t").clear(&"".parse().unwrap(), None, &mut object);
        let kept = json!([{}, {"secret": {"name": "s"}}]);
        let expect = json!({"t": {"volumes": [{"projected": {"sources": kept}}]}});
        assert_eq!(object, expect.into());
    }

    #[test]
    fn the_selector_chooses_the_template() {
        let check = |selector: serde_json::Value, expect: bool| {
            let object = Value::from(json!({"s": selector, "t": good()}));
            let root = Field::root(&object);
            let mut causes = Vec::new();
            check_selector_matches(&root.get("s"), &root.get("t"), &mut causes);
            assert_eq!(causes.is_empty(), expect, "{object:?}");
        };
        check(json!({"matchLabels": {"app": "a"}}), true);
        check(
            json!({"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}),
            true,
        );
        check(json!({"matchLabels": {"app": "b"}}), false);
        check(json!({}), true);
        check(json!(null), false);
    }
}
