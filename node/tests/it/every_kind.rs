//! kubectl applies a sample of every kind that a cluster stores, with strict validation: each field
//! in it is known.

use std::collections::BTreeSet;

use crate::support::{Cluster, Kubectl};

const SAMPLES: &str = include_str!("samples/every.yaml");

/// The kinds that are stored and can be patched, as `KIND.GROUP` in lower case.
fn stored(kubectl: &Kubectl) -> BTreeSet<String> {
    let listed =
        kubectl.run(&["api-resources", "-o", "wide", "--no-headers", "--verbs=create,list,patch"]);
    listed.lines().filter_map(kind).collect()
}

/// The kind in a line `PLURAL [SHORT NAMES] VERSION NAMESPACED KIND VERBS [CATEGORIES]`.
fn kind(line: &str) -> Option<String> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let namespaced = columns.iter().position(|column| matches!(*column, "true" | "false"))?;
    let (version, kind) = (columns.get(namespaced.checked_sub(1)?)?, columns.get(namespaced + 1)?);
    let group = version.split_once('/').map(|(group, _)| format!(".{group}")).unwrap_or_default();
    Some(format!("{kind}{group}").to_lowercase())
}

/// What the samples were applied to, as `KIND.GROUP` in lower case; kubectl says `KIND.GROUP/NAME
/// created (server dry run)`.
fn applied(told: &str) -> BTreeSet<String> {
    told.lines().filter_map(|line| Some(line.split_once('/')?.0.to_owned())).collect()
}

/// An order and a question: kinds that are created and never stored.
const ORDERS: &str = "apiVersion: v1
kind: Binding
metadata: {name: p, namespace: every}
target: {kind: Node, name: node-1}
---
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec: {user: joe, resourceAttributes: {verb: get, resource: pods}}
";

/// Files whose kind is a list of a built-in kind.
const LISTS: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleList
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {name: r, namespace: every}
  rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBindingList
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: b, namespace: every}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}
---
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: every}, data: {k: v}}
";

#[test]
fn orders_questions_and_lists_are_created() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    kubectl.run(&["create", "namespace", "every"]);
    kubectl.run(&["run", "p", "-n", "every", "--image=i"]);
    let manifest = cluster.root().join("orders.yaml");
    std::fs::write(&manifest, ORDERS).unwrap();
    // Of kinds that cannot be patched kubectl asks the custom resources, before it validates.
    kubectl.run(&["create", "--validate=ignore", "-f", manifest.to_str().unwrap()]);
    let node = kubectl.run(&["get", "pod", "p", "-n", "every", "-o", "jsonpath={.spec.nodeName}"]);
    assert_eq!(node, "node-1");
    let manifest = cluster.root().join("lists.yaml");
    std::fs::write(&manifest, LISTS).unwrap();
    for what in ["created", "unchanged"] {
        let told = kubectl.run(&["apply", "-f", manifest.to_str().unwrap()]);
        assert_eq!(told.lines().filter(|line| line.ends_with(what)).count(), 3, "{told}");
    }
}

#[test]
fn every_kind_is_applied_with_strict_validation() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    kubectl.run(&["create", "namespace", "every"]);
    let manifest = cluster.root().join("every.yaml");
    let path = manifest.to_str().unwrap();
    let apply = ["apply", "--validate=strict", "--dry-run=server", "-f", path];
    std::fs::write(&manifest, SAMPLES).unwrap();
    for how in [&[][..], &["--server-side"]] {
        let told = kubectl.run(&[&apply[..], how].concat());
        assert_eq!(told.lines().count(), SAMPLES.split("\n---\n").count(), "{told}");
        assert_eq!(applied(&told), stored(&kubectl), "{how:?}");
    }
    let wrong = SAMPLES.replacen("revisionHistoryLimit: 3", "revisionHistoryLimits: 3", 1);
    std::fs::write(&manifest, wrong).unwrap();
    let refused = kubectl.fail(&apply);
    assert!(
        refused.contains("strict decoding error: unknown field \"spec.revisionHistoryLimits\""),
        "{refused}"
    );
}
