//! The Node object that a node writes for itself: no field that restricts where pods are scheduled,
//! beyond what every kubelet reports.
//!
//! Invariants: of labels in the domains of the system a node sets those that kubelets report and no
//! others; labels in the `node-restriction` domain, taints and owner references (whose deletion
//! would delete the Node) are never its to change. Fields that a node leaves as they were are not
//! looked at, so what others have set stays.

use std::collections::BTreeSet;

use quorate_meta::{Map, Names, Value};

use super::{Check, ensure};

/// The domain, in front of that of the system, whose labels no node may set.
const RESTRICTED: &str = "node-restriction";
/// Domains, in front of that of the system, whose labels kubelets use as they like.
const OF_KUBELETS: [&str; 2] = ["kubelet", "node"];
/// Labels that kubelets report: a domain in front of that of the system, and a name.
const REPORTED: [(&str, &str); 11] = [
    ("", "hostname"),
    ("", "os"),
    ("", "arch"),
    ("topology", "zone"),
    ("topology", "region"),
    ("failure-domain.beta", "zone"),
    ("failure-domain.beta", "region"),
    ("node", "instance-type"),
    ("beta", "instance-type"),
    ("beta", "os"),
    ("beta", "arch"),
];

/// Whether a node may create this Node.
pub(super) fn may_create(names: &Names, new: &Value) -> Check {
    let labels = forbidden(names, &Map::new(), labels(new));
    ensure(labels.is_empty(), &format!("is not allowed to set the following labels: {labels}"))
}

/// Whether a node may change its Node into this.
pub(super) fn may_change(names: &Names, node: &str, old: &Value, new: &Value) -> Check {
    for (path, what) in
        [(["spec", "taints"], "taints"), (["metadata", "ownerReferences"], "ownerReferences")]
    {
        let said = |object: &'_ Value| object.at(&path).filter(|value| !value.is_empty()).cloned();
        ensure(said(old) == said(new), &format!("node {node:?} is not allowed to modify {what}"))?;
    }
    let labels = forbidden(names, labels(old), labels(new));
    ensure(labels.is_empty(), &format!("is not allowed to modify labels: {labels}"))
}

/// The labels that differ and are not the node's to change, one after the other.
fn forbidden(names: &Names, old: &Map, new: &Map) -> String {
    let differing =
        old.iter().chain(new.iter()).map(|(key, _)| key).filter(|key| old.get(key) != new.get(key));
    let forbidden: BTreeSet<&str> = differing.filter(|key| !is_own(names, key)).collect();
    forbidden.into_iter().collect::<Vec<_>>().join(", ")
}

/// Whether a label is a node's own to set.
fn is_own(names: &Names, key: &str) -> bool {
    let Some((domain, name)) = key.split_once('/') else {
        return true;
    };
    let below = |parent: &str| within(domain, parent);
    let Some(front) = below(names.domain) else {
        return below(names.group_suffix).is_none();
    };
    let is_in = |parent: &str| within(front, parent).is_some();
    !is_in(RESTRICTED) && (OF_KUBELETS.into_iter().any(is_in) || REPORTED.contains(&(front, name)))
}

/// The labels of a subdomain in front of a parent domain; empty for the parent itself.
fn within<'d>(domain: &'d str, parent: &str) -> Option<&'d str> {
    let front = domain.strip_suffix(parent)?;
    if front.is_empty() { Some(front) } else { front.strip_suffix('.') }
}

fn labels(node: &Value) -> &Map {
    static NONE: Map = Map::new();
    node.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(&NONE)
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_that_restrict_scheduling_are_not_the_nodes_to_set() {
        let check = |naming: Naming, key: &str, expect: bool| {
            assert_eq!(is_own(naming.names(), key), expect, "{key}");
        };
        for (key, expect) in [
            ("anything", true),
            ("acme.com/zone", true),
            ("notkubernetes.io/zone", true),
            ("kubernetes.io/hostname", true),
            ("kubernetes.io/anything", false),
            ("topology.kubernetes.io/zone", true),
            ("topology.kubernetes.io/rack", false),
            ("beta.kubernetes.io/arch", true),
            ("node.kubernetes.io/anything", true),
            ("a.node.kubernetes.io/anything", true),
            ("kubelet.kubernetes.io/anything", true),
            ("node-restriction.kubernetes.io/a", false),
            ("b.node-restriction.kubernetes.io/a", false),
            ("foo.kubernetes.io/x", false),
            ("k8s.io/x", false),
            ("foo.k8s.io/x", false),
        ] {
            check(Naming::Kubernetes, key, expect);
        }
        check(Naming::Svc, "topology.svc.io/zone", true);
        check(Naming::Svc, "node-restriction.svc.io/a", false);
        check(Naming::Svc, "foo.kubernetes.io/x", true);
    }

    #[test]
    fn what_a_node_leaves_alone_may_be_there() {
        let node = |label: &str, taints: serde_json::Value, owners: serde_json::Value| -> Value {
            let metadata = json!({"labels": {label: "1", "foo.kubernetes.io/x": "1"}, "ownerReferences": owners});
            json!({"metadata": metadata, "spec": {"taints": taints}}).into()
        };
        let names = Naming::Kubernetes.names();
        let check = |label: &str, taints, owners, expect: &str| {
            let old = node("a", json!([{"key": "t", "effect": "NoSchedule"}]), json!([]));
            let why = may_change(names, "n1", &old, &node(label, taints, owners))
                .err()
                .unwrap_or_default();
            assert_eq!(why, expect);
        };
        let tainted = || json!([{"key": "t", "effect": "NoSchedule"}]);
        check("a", tainted(), json!(null), "");
        check("b", tainted(), json!(null), "");
        check("k8s.io/b", tainted(), json!(null), "is not allowed to modify labels: k8s.io/b");
        check("a", json!([]), json!(null), r#"node "n1" is not allowed to modify taints"#);
        check(
            "a",
            tainted(),
            json!([{"uid": "u"}]),
            r#"node "n1" is not allowed to modify ownerReferences"#,
        );
        let set = may_create(names, &node("k8s.io/b", tainted(), json!(null))).unwrap_err();
        assert_eq!(
            set,
            "is not allowed to set the following labels: foo.kubernetes.io/x, k8s.io/b"
        );
    }
}
