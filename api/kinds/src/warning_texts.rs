//! The table of warnings on writes: what each kind warns of, to the letter, in the names of the
//! `kubernetes` profile.
//!
//! Not here: warnings about deprecated versions, which are in `api_versions`, and those about
//! fields, ports and files of pods in all their forms, which are beside the code.

use std::sync::Arc;

use quorate_meta::{Naming, Value};
use quorate_schema::Graph;
use serde_json::{Value as Json, json};

/// The types of the profile, which take a moment to read.
fn types() -> Arc<Graph> {
    Arc::new(Graph::builtin(Naming::Kubernetes.names()))
}

/// Checks what a new object has warnings about.
#[track_caller]
fn check(graph: &Arc<Graph>, group: &str, kind: &str, object: Json, expect: &[&str]) {
    let names = Naming::Kubernetes.names();
    let strategy = crate::strategy(graph, group, "v1", kind);
    let object = Value::from(object);
    let mut warnings = strategy.warnings_as_sent(names, &object);
    warnings.extend(strategy.warnings(names, None, &object));
    assert_eq!(warnings, expect, "{kind}");
}

fn annotated(key: &str) -> Json {
    json!({"metadata": {"name": "a", "annotations": {key: "x"}}})
}

fn spec(spec: Json) -> Json {
    json!({"metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn services() {
    let graph = types();
    check(
        &graph,
        "core",
        "Service",
        annotated("service.kubernetes.io/topology-aware-hints"),
        &[
            "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
        ],
    );
    check(
        &graph,
        "core",
        "Service",
        spec(json!({"type": "ClusterIP", "trafficDistribution": "PreferClose"})),
        &["spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""],
    );
    let headless = json!({"type": "ClusterIP", "clusterIP": "None", "loadBalancerIP": "1.1.1.1",
        "externalIPs": ["1.1.1.1"], "sessionAffinity": "ClientIP"});
    check(
        &graph,
        "core",
        "Service",
        spec(headless),
        &[
            "spec.loadBalancerIP is ignored for headless services",
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
        ],
    );
    check(
        &graph,
        "core",
        "Service",
        spec(json!({"type": "ExternalName", "externalName": "x", "externalIPs": ["1.1.1.1"]})),
        &["spec.externalIPs is ignored when spec.type is \"ExternalName\""],
    );
    check(
        &graph,
        "core",
        "Service",
        spec(json!({"type": "ClusterIP", "externalName": "x", "externalIPs": ["01.1.1.1"]})),
        &[
            "spec.externalIPs[0]: non-standard IP address \"01.1.1.1\" will be considered invalid in a future Kubernetes release: use \"1.1.1.1\"",
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
        ],
    );
}

#[test]
fn ingresses_endpoints_and_policies() {
    let graph = types();
    check(
        &graph,
        "networking",
        "Ingress",
        annotated("kubernetes.io/ingress.class"),
        &[
            "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
        ],
    );
    check(
        &graph,
        "discovery",
        "EndpointSlice",
        json!({"addressType": "FQDN"}),
        &["spec.addressType: FQDN endpoints are deprecated"],
    );
    let block = json!({"ipBlock": {"cidr": "10.0.0.1/24", "except": ["fd00:0::/64"]}});
    check(
        &graph,
        "networking",
        "NetworkPolicy",
        spec(json!({"ingress": [{"from": [block]}]})),
        &[
            "spec.ingress[0].from[0].ipBlock.cidr: CIDR value \"10.0.0.1/24\" is ambiguous in this context (should be \"10.0.0.0/24\" or \"10.0.0.1/32\"?)",
            "spec.ingress[0].from[0].ipBlock.except[0]: IPv6 CIDR value \"fd00:0::/64\" should be in RFC 5952 canonical format (\"fd00::/64\")",
        ],
    );
}

#[test]
fn nodes_accounts_and_classes() {
    let graph = types();
    check(
        &graph,
        "core",
        "Node",
        spec(
            json!({"externalID": "x", "configSource": {"configMap": {}}, "podCIDRs": ["10.0.0.0/08"]}),
        ),
        &[
            "spec.configSource: the feature is removed",
            "spec.externalID: this field is deprecated, and is unused by Kubernetes",
            "spec.podCIDRs[0]: non-standard CIDR value \"10.0.0.0/08\" will be considered invalid in a future Kubernetes release: use \"10.0.0.0/8\"",
        ],
    );
    check(
        &graph,
        "core",
        "ServiceAccount",
        annotated("kubernetes.io/enforce-mountable-secrets"),
        &[
            "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
        ],
    );
    let os = "deprecated since v1.14; use \"kubernetes.io/os\" instead";
    check(
        &graph,
        "node",
        "RuntimeClass",
        json!({"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "x"}}}),
        &[&format!("scheduling.nodeSelector: {os}")],
    );
    let expressions = json!([{"key": "beta.kubernetes.io/os", "values": ["x"]}]);
    check(
        &graph,
        "storage",
        "StorageClass",
        json!({"allowedTopologies": [{"matchLabelExpressions": expressions}]}),
        &[&format!("allowedTopologies[0].matchLabelExpressions[0].key: {os}")],
    );
    let topology = json!({"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}],
        "matchLabels": {"beta.kubernetes.io/os": "x"}});
    check(
        &graph,
        "storage",
        "CSIStorageCapacity",
        json!({ "nodeTopology": topology }),
        &[
            &format!("nodeTopology.matchExpressions[0].key: beta.kubernetes.io/os is {os}"),
            &format!("nodeTopology.matchLabels.beta.kubernetes.io/os: {os}"),
        ],
    );
    check(
        &graph,
        "resource",
        "ResourceSlice",
        spec(json!({"driver": "GPU.example.com"})),
        &[
            "spec.driver: driver names should be lowercase; \"GPU.example.com\" contains uppercase characters",
        ],
    );
}

#[test]
fn volumes_and_claims() {
    let graph = types();
    let class = "deprecated since v1.8; use \"storageClassName\" attribute instead";
    let key = "volume.beta.kubernetes.io/storage-class";
    for kind in ["PersistentVolume", "PersistentVolumeClaim"] {
        check(
            &graph,
            "core",
            kind,
            annotated(key),
            &[&format!("metadata.annotations[{key}]: {class}")],
        );
    }
    let key = "volume.beta.kubernetes.io/mount-options";
    let options = "deprecated since v1.31; use \"mountOptions\" attribute instead";
    check(
        &graph,
        "core",
        "PersistentVolume",
        annotated(key),
        &[&format!("metadata.annotations[{key}]: {options}")],
    );
    check(
        &graph,
        "core",
        "PersistentVolume",
        spec(json!({"persistentVolumeReclaimPolicy": "Recycle"})),
        &[
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        ],
    );
    for (field, expect) in [
        ("cephfs", "spec.cephfs: deprecated in v1.28, non-functional in v1.31+"),
        (
            "photonPersistentDisk",
            "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
        ),
        ("scaleIO", "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+"),
        ("storageos", "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+"),
        ("rbd", "spec.rbd: deprecated in v1.28, non-functional in v1.31+"),
    ] {
        check(&graph, "core", "PersistentVolume", spec(json!({field: {}})), &[expect]);
    }
    for field in ["gcePersistentDisk", "flocker", "quobyte", "azureFile", "csi"] {
        check(&graph, "core", "PersistentVolume", spec(json!({field: {}})), &[]);
    }
    let terms = json!([{"matchExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "operator": "Exists"}]}]);
    check(
        &graph,
        "core",
        "PersistentVolume",
        spec(json!({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})),
        &[
            "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
        ],
    );
    check(
        &graph,
        "core",
        "PersistentVolumeClaim",
        spec(json!({"resources": {"requests": {"storage": "1500m"}}})),
        &[
            "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer",
        ],
    );
}

#[test]
fn volumes_of_pods() {
    let graph = types();
    for (field, expect) in [
        (
            "photonPersistentDisk",
            "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
        ),
        ("scaleIO", "scaleIO: deprecated in v1.16, non-functional in v1.22+"),
        ("flocker", "flocker: deprecated in v1.22, non-functional in v1.25+"),
        ("storageos", "storageOS: deprecated in v1.22, non-functional in v1.25+"),
        ("quobyte", "quobyte: deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "glusterfs: deprecated in v1.25, non-functional in v1.26+"),
        ("cephfs", "cephfs: deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "rbd: deprecated in v1.28, non-functional in v1.31+"),
        ("gitRepo", "gitRepo: deprecated in v1.11, and disabled by default in v1.33+"),
    ] {
        let pod = json!({"volumes": [{"name": "v", field: {}}]});
        check(&graph, "core", "Pod", spec(pod.clone()), &[&format!("spec.volumes[0].{expect}")]);
        let template = json!({"template": {"spec": pod}});
        let expect = format!("spec.template.spec.volumes[0].{expect}");
        check(&graph, "apps", "Deployment", spec(template), &[&expect]);
    }
    for field in ["gcePersistentDisk", "awsElasticBlockStore", "azureFile", "cinder"] {
        let pod = json!({"volumes": [{"name": "v", field: {}}]});
        check(&graph, "core", "Pod", spec(pod), &[]);
    }
    let claim = json!({"spec": {"resources": {"requests": {"storage": "1m"}}}});
    let volume = json!({"name": "v", "ephemeral": {"volumeClaimTemplate": claim}});
    check(
        &graph,
        "core",
        "Pod",
        spec(json!({ "volumes": [volume] })),
        &[
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value \"1m\" is invalid, must be an integer",
        ],
    );
}

#[test]
fn annotations_of_pods_and_templates() {
    let graph = types();
    let seccomp = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    let sysctls = "non-functional in v1.11+; use the \"sysctls\" field instead";
    for (key, why) in [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            "non-functional in v1.16+; use the \"priorityClassName\" field instead",
        ),
        ("security.alpha.kubernetes.io/sysctls", sysctls),
        ("security.alpha.kubernetes.io/unsafe-sysctls", sysctls),
        ("seccomp.security.alpha.kubernetes.io/pod", seccomp),
        ("container.seccomp.security.alpha.kubernetes.io/c", seccomp),
        (
            "container.apparmor.security.beta.kubernetes.io/c",
            "deprecated since v1.30; use the \"appArmorProfile\" field instead",
        ),
    ] {
        let mut pod = annotated(key);
        pod["spec"] = json!({"containers": [{"name": "c"}]});
        let expect = format!("metadata.annotations[{key}]: {why}");
        check(&graph, "core", "Pod", pod.clone(), &[&expect]);
        for (group, kind) in [("apps", "StatefulSet"), ("batch", "Job")] {
            let object = spec(json!({ "template": pod.clone() }));
            check(&graph, group, kind, object, &[&format!("spec.template.{expect}")]);
        }
        let object = json!({"metadata": {"name": "a"}, "template": pod});
        check(&graph, "core", "PodTemplate", object, &[&format!("template.{expect}")]);
    }
}

#[test]
fn workloads() {
    let graph = types();
    let named = json!({"metadata": {"name": "a.b"}});
    let dots = "which can result in surprising behavior; a DNS label is recommended: [must not contain dots]";
    let pods = format!("metadata.name: this is used in Pod names and hostnames, {dots}");
    check(
        &graph,
        "core",
        "Pod",
        named.clone(),
        &[&format!("metadata.name: this is used in the Pod's hostname, {dots}")],
    );
    for (group, kind) in [
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("core", "ReplicationController"),
        ("batch", "Job"),
        ("batch", "CronJob"),
    ] {
        check(&graph, group, kind, named.clone(), &[&pods]);
    }
    for (group, kind) in [("apps", "StatefulSet"), ("apps", "DaemonSet")] {
        check(&graph, group, kind, named.clone(), &[]);
    }
    let claim = json!({"spec": {"resources": {"requests": {"storage": "1m"}}}});
    check(
        &graph,
        "apps",
        "StatefulSet",
        spec(json!({"revisionHistoryLimit": -1, "volumeClaimTemplates": [claim]})),
        &[
            "spec.volumeClaimTemplates[0].resources.requests[storage]: fractional byte value \"1m\" is invalid, must be an integer",
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
        ],
    );
}
