//! Default roles and bindings: the built-in list agrees with what is known of release 1.35, where
//! that is at hand, and a new cluster has what the list says, in the names of either profile and
//! from one transaction.
//!
//! The list is read here by a parser of its own; `authorization/rbac/defaults.rs` describes its
//! lines.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_meta::Naming;
use quorate_store::{
    Error, Layer, MemoryOptions, MemoryStore, Operation, Outcome, Retention, Store, Txn,
};
use serde_json::{Value, json};

use crate::harness::{Server, TestClock};

const LIST: &str = include_str!("../../access/src/authorization/rbac/defaults.txt");
/// The roles and bindings of a new cluster of release 1.35, with `svc.io` names. The file lies
/// beside the repository, on some machines.
const FACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/facts/bootstrap.json");
const PLURALS: [&str; 4] = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];
/// The number of objects of each plural.
const COUNTS: [usize; 4] = [70, 51, 7, 7];
const KEYS: &[u8] = b"o/rbac.authorization.svc.io/";

/// Objects by plural, namespace and name.
type Objects = BTreeMap<String, Value>;

/// The names of a profile.
struct Names {
    /// What stands in the list, and what it means.
    words: [(&'static str, &'static str); 8],
    group: &'static str,
    bootstrapping: &'static str,
    autoupdate: &'static str,
    aggregate: &'static str,
}

const SVC: Names = Names {
    words: [
        ("$suffix", "svc.io"),
        ("$domain", "svc.io"),
        ("$system", "svc-system"),
        ("$public", "svc-public"),
        ("$signer_client", "svc.io/apiserver-client"),
        ("$signer_node_client", "svc.io/apiserver-client-node-agent"),
        ("$signer_node_serving", "svc.io/node-agent-serving"),
        ("$signer_legacy", "svc.io/legacy-unknown"),
    ],
    group: "rbac.authorization.svc.io",
    bootstrapping: "svc.io/bootstrapping",
    autoupdate: "rbac.authorization.svc.io/autoupdate",
    aggregate: "rbac.authorization.svc.io/aggregate-to-",
};

const KUBERNETES: Names = Names {
    words: [
        ("$suffix", "k8s.io"),
        ("$domain", "kubernetes.io"),
        ("$system", "kube-system"),
        ("$public", "kube-public"),
        ("$signer_client", "kubernetes.io/kube-apiserver-client"),
        ("$signer_node_client", "kubernetes.io/kube-apiserver-client-kubelet"),
        ("$signer_node_serving", "kubernetes.io/kubelet-serving"),
        ("$signer_legacy", "kubernetes.io/legacy-unknown"),
    ],
    group: "rbac.authorization.k8s.io",
    bootstrapping: "kubernetes.io/bootstrapping",
    autoupdate: "rbac.authorization.kubernetes.io/autoupdate",
    aggregate: "rbac.authorization.k8s.io/aggregate-to-",
};

/// Everything that the list says.
fn listed(names: &Names) -> Objects {
    let text =
        names.words.iter().fold(LIST.to_owned(), |text, (word, name)| text.replace(word, name));
    let mut objects: Vec<(String, Value)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.starts_with(' ') {
            let (_, object) = objects.last_mut().expect("a line without indentation comes first");
            add(names, object, &words);
        } else {
            objects.push(begin(names, &words));
        }
    }
    let count = objects.len();
    let objects: Objects = objects.into_iter().collect();
    assert_eq!(objects.len(), count, "each of them stands in the list once");
    objects
}

fn begin(names: &Names, words: &[&str]) -> (String, Value) {
    let mut metadata = json!({
        "labels": {names.bootstrapping: "rbac-defaults"}, "annotations": {names.autoupdate: "true"}
    });
    match *words {
        ["clusterrole" | "clusterrolebinding", name] => metadata["name"] = json!(name),
        ["role" | "rolebinding", namespace, name] => {
            metadata["namespace"] = json!(namespace);
            metadata["name"] = json!(name);
        }
        _ => panic!("{words:?}"),
    }
    let object = json!({"metadata": metadata});
    (key(&format!("{}s", words[0]), &object), object)
}

fn add(names: &Names, object: &mut Value, words: &[&str]) {
    let list = |text: &str| {
        json!(text.split(',').map(|one| if one == "core" { "" } else { one }).collect::<Vec<_>>())
    };
    let into = |role: &str| format!("{}{role}", names.aggregate);
    match *words {
        // Every kind that it may be is served here.
        ["when", _] => {}
        ["when", _, ref rule @ ..] => add(names, object, rule),
        ["adds-to", role] => object["metadata"]["labels"][into(role)] = json!("true"),
        ["gathers", role] => {
            let selector = json!({"matchLabels": {into(role): "true"}});
            push(&mut object["aggregationRule"]["clusterRoleSelectors"], selector);
        }
        ["rule", verbs, groups, resources] => {
            let rule = json!({"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)});
            push(&mut object["rules"], rule);
        }
        ["rule", verbs, groups, resources, called] => {
            let rule = json!({"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources),
                "resourceNames": list(called)});
            push(&mut object["rules"], rule);
        }
        ["paths", verbs, urls] => {
            push(
                &mut object["rules"],
                json!({"verbs": list(verbs), "nonResourceURLs": list(urls)}),
            );
        }
        ["role", kind, name] => {
            object["roleRef"] = json!({"apiGroup": names.group, "kind": kind, "name": name})
        }
        ["user", name] => {
            push(
                &mut object["subjects"],
                json!({"kind": "User", "apiGroup": names.group, "name": name}),
            );
        }
        ["group", name] => {
            push(
                &mut object["subjects"],
                json!({"kind": "Group", "apiGroup": names.group, "name": name}),
            );
        }
        ["account", namespace, name] => {
            push(
                &mut object["subjects"],
                json!({"kind": "ServiceAccount", "namespace": namespace, "name": name}),
            );
        }
        _ => panic!("{words:?}"),
    }
}

fn push(list: &mut Value, item: Value) {
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().unwrap().push(item);
}

fn key(plural: &str, object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    format!("{plural} {}/{}", text("namespace"), text("name"))
}

/// An object as the list tells of it: without what every object gets, without what is empty, and
/// without the rules of a role that gathers them.
fn told(object: &Value) -> Value {
    let gathers = !object["aggregationRule"].is_null();
    let fields: &[&str] =
        if gathers { &["aggregationRule"] } else { &["rules", "roleRef", "subjects"] };
    let mut told = pick(object, fields);
    told["metadata"] = pick(&object["metadata"], &["name", "namespace", "labels", "annotations"]);
    told
}

/// Those of these fields that are there and not empty.
fn pick(object: &Value, fields: &[&str]) -> Value {
    let mut picked = json!({});
    for field in fields {
        let value = &object[*field];
        if !value.is_null() && *value != json!([]) {
            picked[*field] = value.clone();
        }
    }
    picked
}

fn objects(plural: &str, items: &Value) -> Vec<(String, Value)> {
    items.as_array().unwrap().iter().map(|object| (key(plural, object), told(object))).collect()
}

#[track_caller]
fn same(found: &Objects, expect: &Objects) {
    let keys = |of: &Objects| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(found), keys(expect));
    for (key, object) in expect {
        assert_eq!(&found[key], object, "{key}");
    }
}

#[test]
fn the_list_says_what_is_known_of_the_release() {
    let text = match std::fs::read_to_string(FACTS) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return println!("skipped: no {FACTS}");
        }
        text => text.unwrap(),
    };
    let facts: Value = serde_json::from_str(&text).unwrap();
    let known = PLURALS.into_iter().flat_map(|plural| objects(plural, &facts[plural]));
    let mut known: Objects = known.collect();
    // The file lets service accounts alone read ClusterTrustBundles (KEP-3257); the specification,
    // which wins, lets every authenticated user.
    let bundles =
        known.get_mut("clusterrolebindings /system:cluster-trust-bundle-discovery").unwrap();
    let reader = &mut bundles["subjects"][0]["name"];
    assert_eq!(reader.take(), "system:serviceaccounts");
    *reader = json!("system:authenticated");
    same(&listed(&SVC), &known);
}

async fn check(naming: Naming, names: &Names) {
    let server = Server::with(naming, Retention::default());
    server.defaults().await.stop();
    let mut found = Objects::new();
    for (plural, count) in PLURALS.into_iter().zip(COUNTS) {
        let list = server.get(&format!("/apis/{}/v1/{plural}", names.group)).await;
        assert_eq!(list.names().len(), count, "{plural}");
        found.extend(objects(plural, &list.json()["items"]));
    }
    same(&found, &listed(names));
}

#[tokio::test]
async fn a_new_cluster_has_what_the_list_says() {
    check(Naming::Svc, &SVC).await;
    check(Naming::Kubernetes, &KUBERNETES).await;
}

/// A store that counts what each transaction does to roles and bindings: creations, and everything
/// else.
struct Counting {
    inner: MemoryStore,
    counts: Mutex<Vec<(usize, usize)>>,
}

#[async_trait]
impl Layer for Counting {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let before = self.inner.snapshot();
        let makes = |operation: &Operation| {
            matches!(operation, Operation::Put { .. }) && before.get(operation.key()).is_none()
        };
        let roles = txn.operations.iter().filter(|operation| operation.key().starts_with(KEYS));
        let made: Vec<bool> = roles.map(makes).collect();
        let counts =
            (made.iter().filter(|made| **made).count(), made.iter().filter(|made| !**made).count());
        let outcome = self.inner.txn(txn).await?;
        if counts != (0, 0) && matches!(outcome, Outcome::Committed { .. }) {
            self.counts.lock().push(counts);
        }
        Ok(outcome)
    }
}

#[tokio::test]
async fn all_of_them_come_from_one_transaction() {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Counting { inner, counts: Mutex::default() });
    let server = Server::over(store.clone(), clock);
    server.defaults().await.stop();
    let counts = store.counts.lock().clone();
    let all: usize = COUNTS.iter().sum();
    assert_eq!(counts.first(), Some(&(all, 0)));
    // What comes after it are the rules that three roles gather.
    assert!(
        counts[1..].iter().all(|(made, changed)| (*made, *changed) == (0, 1)) && counts.len() <= 4,
        "{counts:?}"
    );
}
