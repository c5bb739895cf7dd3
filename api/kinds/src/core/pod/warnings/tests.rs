//! Tests of warnings about pods and templates.

use super::*;
use quorate_meta::Naming;
use serde_json::json;

#[test]
fn reported_warnings() {
    let check = |spec: serde_json::Value, expect: &[&str]| {
        let object = Value::from(json!({ "spec": spec }));
        assert_eq!(of_spec(Naming::Svc.names(), &Field::root(&object), false), expect);
    };
    let container =
        |part: &str, value: serde_json::Value| json!({"containers": [{"name": "c", part: value}]});
    check(json!({}), &[]);
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    check(
        container("env", twice),
        &[
            "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
        ],
    );
    check(
        container("resources", json!({"requests": {"memory": "1500m", "cpu": "1500m"}})),
        &[
            "spec.containers[0].resources.requests[memory]: fractional byte value \"1500m\" is invalid, must be an integer",
        ],
    );
    let ports = json!([{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP", "name": "x"}]);
    check(
        container("ports", ports),
        &[
            "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
        ],
    );
    check(
        json!({"imagePullSecrets": [{}]}),
        &["spec.imagePullSecrets[0].name: invalid empty name \"\""],
    );
    check(
        json!({"hostAliases": [{"ip": "10.1.1.1"}, {"ip": "10.1.1.1"}]}),
        &["spec.hostAliases[1].ip: duplicate ip \"10.1.1.1\""],
    );
    check(
        json!({"volumes": [{"name": "g", "glusterfs": {}}]}),
        &["spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+"],
    );
    let term = json!([{"topologyKey": "zone"}]);
    check(
        json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}}),
        &[
            "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
        ],
    );
}

#[test]
fn labels_of_nodes() {
    let old = json!({"matchExpressions": [{"key": "beta.svc.io/os", "operator": "Exists"}]});
    let affinity = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, old]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": old}]}});
    let spread = json!([{"topologyKey": "failure-domain.beta.svc.io/zone", "labelSelector": {}}]);
    let object = json!({"spec": {"nodeSelector": {"beta.svc.io/arch": "a"}, "affinity": affinity, "topologySpreadConstraints": spread}});
    let warnings = of_spec(Naming::Svc.names(), &Field::root(&object.into()), false);
    let paths: Vec<&str> =
        warnings.iter().map(|warnings| warnings.split(": ").next().unwrap_or_default()).collect();
    let affinity = "spec.affinity.nodeAffinity";
    assert_eq!(
        paths,
        [
            "spec.nodeSelector[beta.svc.io/arch]".to_owned(),
            format!(
                "{affinity}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[0].key"
            ),
            format!(
                "{affinity}.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key"
            ),
            "spec.topologySpreadConstraints[0].topologyKey".to_owned(),
        ]
    );
}

#[test]
fn names_of_pods_and_of_what_makes_them() {
    let check = |name: &str, expect: Option<&str>| {
        let object = Value::from(json!({"metadata": {"name": name}}));
        let names = Naming::Svc.names();
        let made = of_workload(names, None, &object, "spec.template");
        assert_eq!(made.first().map(String::as_str), expect);
        assert_eq!(of_pod(names, &object).len(), made.len());
        assert_eq!(
            of_workload(names, Some(&object), &object, "spec.template"),
            Vec::<String>::new()
        );
    };
    check("a-b", None);
    let why = "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended";
    check("a.b", Some(&format!("metadata.name: {why}: [must not contain dots]")));
}
