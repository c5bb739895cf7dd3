//! Default roles and bindings of RBAC, as objects in the names of the naming profile.
//!
//! They are read from `defaults.txt`. A line without indentation begins an object: `clusterrole
//! NAME`, `role NAMESPACE NAME`, `clusterrolebinding NAME`, `rolebinding NAMESPACE NAME`; those
//! below it say what it holds. Lists have commas and no spaces; `core` is the group without a name.
//!
//! | Line | Meaning |
//! |---|---|
//! | `when KIND` | only where the kind is served; before a rule: only that rule |
//! | `adds-to ROLE` | is taken over by the aggregating role |
//! | `gathers ROLE` | takes over what adds to the role |
//! | `rule VERBS GROUPS RESOURCES [NAMES]` | a rule about resources |
//! | `paths VERBS URLS` | a rule about other paths |
//! | `role KIND NAME` | what a binding binds |
//! | `user NAME`, `group NAME`, `account NAMESPACE NAME` | a subject of a binding |

use quorate_meta::{Map, Names, Value};

const TEXT: &str = include_str!("defaults.txt");

/// A default role or binding.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultObject {
    /// Plural name of its resource.
    pub plural: &'static str,
    /// Whether it is a binding, not a role.
    pub is_binding: bool,
    /// Its namespace; `None` for a cluster-scoped one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The object.
    pub object: Value,
}

/// All default roles and bindings, as far as the kinds that they are about are served.
pub fn default_objects(names: &Names, is_served: impl Fn(&str) -> bool) -> Vec<DefaultObject> {
    let text = in_names(names);
    let mut found: Vec<DefaultObject> = Vec::new();
    // Whether the object that lines belong to is left out.
    let mut skips = false;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if !line.starts_with(' ') {
            found.push(begin(names, &mut words));
            skips = false;
            continue;
        }
        let (Some(mut verb), Some(last)) = (words.next(), found.last_mut()) else {
            continue;
        };
        if verb == "when" {
            let served = words.next().is_some_and(&is_served);
            match words.next() {
                Some(rule) if served => verb = rule,
                Some(_) => continue,
                None => {
                    skips = !served;
                    if skips {
                        found.pop();
                    }
                    continue;
                }
            }
        }
        if !skips {
            add(names, &mut last.object, verb, &words.collect::<Vec<_>>());
        }
    }
    found
}

fn in_names(names: &Names) -> String {
    let words = [
        ("$suffix", names.group_suffix),
        ("$system", names.namespace_system),
        ("$public", names.namespace_public),
        ("$domain", names.domain),
        ("$signer_client", names.signer_client),
        ("$signer_node_client", names.signer_client_node_agent),
        ("$signer_node_serving", names.signer_node_agent_serving),
        ("$signer_legacy", names.signer_legacy_unknown),
    ];
    words.into_iter().fold(TEXT.to_owned(), |text, (word, name)| text.replace(word, name))
}

fn begin<'t>(names: &Names, words: &mut impl Iterator<Item = &'t str>) -> DefaultObject {
    let (plural, kind, namespaced) = match words.next().unwrap_or_default() {
        "clusterrole" => ("clusterroles", "ClusterRole", false),
        "role" => ("roles", "Role", true),
        "clusterrolebinding" => ("clusterrolebindings", "ClusterRoleBinding", false),
        _ => ("rolebindings", "RoleBinding", true),
    };
    let mut word = || words.next().unwrap_or_default().to_owned();
    let namespace = namespaced.then(&mut word);
    let name = word();
    let mut object = Value::Map(Map::new());
    object.set_at(&["apiVersion"], format!("{}/v1", names.group("rbac.authorization")));
    object.set_at(&["kind"], kind);
    object.set_at(&["metadata", "name"], name.as_str());
    object.set_at(&["metadata", "labels", names.label_bootstrapping], "rbac-defaults");
    object.set_at(&["metadata", "annotations", names.annotation_rbac_autoupdate], "true");
    DefaultObject { plural, is_binding: kind.ends_with("Binding"), namespace, name, object }
}

/// Adds what a line says.
fn add(names: &Names, object: &mut Value, verb: &str, words: &[&str]) {
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let list = |at: usize| -> Value {
        let texts = word(at).split(',').map(|text| if text == "core" { "" } else { text });
        Value::List(texts.map(Value::from).collect())
    };
    let aggregate = format!("{}{}", names.label_rbac_aggregate_prefix, word(0));
    let group = || Value::from(names.group("rbac.authorization"));
    match verb {
        "adds-to" => drop(object.set_at(&["metadata", "labels", &aggregate], "true")),
        "gathers" => {
            let labels = Map::from([("matchLabels", Map::from([(aggregate.as_str(), "true")]))]);
            push(object, &["aggregationRule", "clusterRoleSelectors"], labels);
        }
        "rule" => {
            let mut rule =
                Map::from([("verbs", list(0)), ("apiGroups", list(1)), ("resources", list(2))]);
            if words.len() > 3 {
                rule.insert("resourceNames", list(3));
            }
            push(object, &["rules"], rule);
        }
        "paths" => {
            push(object, &["rules"], Map::from([("verbs", list(0)), ("nonResourceURLs", list(1))]))
        }
        "role" => {
            let role = [("apiGroup", group()), ("kind", word(0).into()), ("name", word(1).into())];
            object.set_at(&["roleRef"], Map::from(role));
        }
        "account" => {
            let account = [("kind", "ServiceAccount"), ("name", word(1)), ("namespace", word(0))];
            push(object, &["subjects"], Map::from(account));
        }
        kind => {
            let kind = if kind == "user" { "User" } else { "Group" };
            let subject = [("kind", kind.into()), ("apiGroup", group()), ("name", word(0).into())];
            push(object, &["subjects"], Map::from(subject));
        }
    }
}

fn push(object: &mut Value, path: &[&str], item: Map) {
    if object.at(path).is_none() {
        object.set_at(path, Value::List(Vec::new()));
    }
    if let Some(list) = object.at_mut(path).and_then(Value::as_list_mut) {
        list.push(Value::Map(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    fn find(naming: Naming, served: bool, plural: &str, name: &str) -> Option<Value> {
        let all = default_objects(naming.names(), |_| served);
        all.into_iter().find(|one| one.plural == plural && one.name == name).map(|one| one.object)
    }

    #[test]
    fn an_object_is_what_its_lines_say() {
        let metadata = |name: &str, into: Option<&str>| {
            let mut labels = json!({"svc.io/bootstrapping": "rbac-defaults"});
            if let Some(into) = into {
                labels[format!("rbac.authorization.svc.io/aggregate-to-{into}")] = "true".into();
            }
            json!({"name": name, "labels": labels, "annotations": {"rbac.authorization.svc.io/autoupdate": "true"}})
        };
        let group = "rbac.authorization.svc.io";
        let version = format!("{group}/v1");
        let all = json!(["*"]);
        let selector =
            json!({"matchLabels": {"rbac.authorization.svc.io/aggregate-to-edit": "true"}});
        let check = |plural: &str, name: &str, expect: serde_json::Value| {
            assert_eq!(find(Naming::Svc, false, plural, name), Some(expect.into()));
        };
        check(
            "clusterroles",
            "cluster-admin",
            json!({
                "apiVersion": version, "kind": "ClusterRole", "metadata": metadata("cluster-admin", None),
                "rules": [{"verbs": all, "apiGroups": all, "resources": all}, {"verbs": all, "nonResourceURLs": all}]
            }),
        );
        check(
            "clusterroles",
            "edit",
            json!({
                "apiVersion": version, "kind": "ClusterRole", "metadata": metadata("edit", Some("admin")),
                "aggregationRule": {"clusterRoleSelectors": [selector]}
            }),
        );
        check(
            "clusterrolebindings",
            "cluster-admin",
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata("cluster-admin", None),
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"kind": "Group", "apiGroup": group, "name": "system:masters"}]
            }),
        );
    }

    #[test]
    fn both_profiles_have_the_same_in_their_own_names() {
        let count = |naming: Naming| default_objects(naming.names(), |_| true).len();
        assert_eq!((count(Naming::Svc), count(Naming::Kubernetes)), (135, 135));
        for naming in [Naming::Svc, Naming::Kubernetes] {
            for one in default_objects(naming.names(), |_| true) {
                let text = format!("{one:?}");
                let foreign = if naming == Naming::Svc { ".k8s.io" } else { "svc" };
                assert!(!text.contains('$') && !text.contains(foreign), "{naming:?} {text}");
            }
        }
        let name = "system:certificates.k8s.io:legacy-unknown-approver";
        let role = find(Naming::Kubernetes, false, "clusterroles", name).unwrap();
        let expect = json!(["kubernetes.io/legacy-unknown"]);
        assert_eq!(
            role.get("rules").unwrap().as_list().unwrap()[0].get("resourceNames"),
            Some(&expect.into())
        );
    }

    #[test]
    fn what_is_not_served_needs_no_rules() {
        let name = "system:cluster-trust-bundle-discovery";
        for plural in ["clusterroles", "clusterrolebindings"] {
            assert!(
                find(Naming::Svc, true, plural, name).is_some()
                    && find(Naming::Svc, false, plural, name).is_none()
            );
        }
        let rules = |served: bool| {
            let role = find(Naming::Svc, served, "clusterroles", "system:node").unwrap();
            role.get("rules").unwrap().as_list().unwrap().len()
        };
        assert_eq!(rules(true), rules(false) + 1);
    }
}
