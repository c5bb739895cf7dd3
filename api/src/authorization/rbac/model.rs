//! The index against a model that reads the objects as the documents say: random roles and bindings come, change and go, and
//! after each step every question must have the same answer from both.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quorate_meta::Value;
use serde_json::{Value as Json, json};

use super::index::{Index, Object};
use crate::authentication::User;
use crate::authorization::ResourceAction;

const NAMESPACES: [&str; 2] = ["a", "b"];
const NAMES: [&str; 3] = ["x", "y", "x\u{0}y"];
const VERBS: [&str; 3] = ["get", "list", "*"];
const GROUPS: [&str; 3] = ["", "apps", "*"];
const RESOURCES: [&str; 5] = ["pods", "pods/log", "*/log", "*", "logs"];
const URLS: [&str; 4] = ["/m", "/m/*", "*", "/n*"];
const PATHS: [&str; 4] = ["/m", "/m/", "/m/x", "/nx"];

/// Kind, namespace (empty for the cluster's) and name of an object, and the object.
type Objects = BTreeMap<(&'static str, &'static str, &'static str), Json>;

fn pick<'t>(texts: &[&'t str], byte: u8) -> &'t str {
    texts[usize::from(byte) % texts.len()]
}

/// One step: what is put or (where the first byte says so) taken away.
fn step(bytes: [u8; 10]) -> ((&'static str, &'static str, &'static str), Option<Json>) {
    let [gone, kind, namespace, name, a, b, c, d, e, f] = bytes;
    let kind = pick(&["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"], kind);
    let namespace = if kind.starts_with("Cluster") { "" } else { pick(&NAMESPACES, namespace) };
    let key = (kind, namespace, pick(&NAMES, name));
    if gone % 4 == 0 {
        return (key, None);
    }
    let object = if kind.ends_with("Binding") {
        let role = if kind == "RoleBinding" && a % 2 == 0 { "Role" } else { "ClusterRole" };
        let subject = |kind: u8, name: u8| match kind % 4 {
            0 => json!({"kind": "User", "name": pick(&NAMES, name)}),
            1 => json!({"kind": "Group", "name": pick(&NAMES, name)}),
            2 => json!({"kind": "ServiceAccount", "name": "s", "namespace": pick(&["a", "b", ""], name)}),
            _ => json!({"kind": "User", "name": pick(&NAMES, name), "namespace": "a"}),
        };
        json!({"roleRef": {"kind": role, "name": pick(&NAMES, b)}, "subjects": [subject(c, d), subject(e, f)]})
    } else if a % 4 == 0 {
        json!({"rules": [{"verbs": [pick(&VERBS, b)], "nonResourceURLs": [pick(&URLS, c)]}]})
    } else {
        let mut rule =
            json!({"verbs": [pick(&VERBS, b)], "apiGroups": [pick(&GROUPS, c)], "resources": [pick(&RESOURCES, d)]});
        if e % 2 == 0 {
            rule["resourceNames"] = json!([pick(&["n", "m"], f)]);
        }
        json!({"rules": [rule]})
    };
    (key, Some(object))
}

fn has(list: &Json, text: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|own| own == text))
}

fn grants(rule: &Json, on: &Question) -> bool {
    let any = |field: &str, text: &str| has(&rule[field], "*") || has(&rule[field], text);
    match on {
        Question::Path(verb, path) => {
            let fits = |url: &str| url == *path || url == "*" || (url == "/m/*" && path.starts_with("/m/"));
            any("verbs", verb)
                && rule["nonResourceURLs"]
                    .as_array()
                    .is_some_and(|urls| urls.iter().any(|url| fits(url.as_str().unwrap())))
        }
        Question::Resource(on) => {
            let whole = if on.subresource.is_empty() {
                on.resource.to_owned()
            } else {
                format!("{}/{}", on.resource, on.subresource)
            };
            let resource = any("resources", &whole)
                || (!on.subresource.is_empty() && has(&rule["resources"], &format!("*/{}", on.subresource)));
            let named = rule["resourceNames"].is_null() || has(&rule["resourceNames"], &on.name);
            any("verbs", on.verb) && any("apiGroups", on.group) && resource && named
        }
    }
}

enum Question {
    Resource(ResourceAction<'static>),
    Path(&'static str, &'static str),
}

fn is_subject(subject: &Json, namespace: &str, user: &User) -> bool {
    let name = subject["name"].as_str().unwrap();
    match subject["kind"].as_str().unwrap() {
        "User" => subject["namespace"].is_null() && user.name == name,
        "Group" => subject["namespace"].is_null() && user.groups.iter().any(|group| group == name),
        _ => {
            let own = subject["namespace"].as_str().unwrap();
            let namespace = if own.is_empty() { namespace } else { own };
            !namespace.is_empty() && user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
    }
}

/// The answer of the model.
fn expected(objects: &Objects, user: &User, on: &Question) -> bool {
    let wanted = match on {
        Question::Resource(on) => on.namespace,
        Question::Path(..) => "",
    };
    let bindings = objects.iter().filter(|((kind, namespace, _), _)| {
        kind.ends_with("Binding") && (namespace.is_empty() || (!wanted.is_empty() && *namespace == wanted))
    });
    bindings.into_iter().any(|((_, namespace, _), binding)| {
        let concerns =
            binding["subjects"].as_array().unwrap().iter().any(|subject| is_subject(subject, namespace, user));
        let kind = binding["roleRef"]["kind"].as_str().unwrap();
        let home = if kind == "Role" { *namespace } else { "" };
        let role = objects.iter().find(|((own, namespace, name), _)| {
            *own == kind && *namespace == home && binding["roleRef"]["name"] == *name
        });
        concerns && role.is_some_and(|(_, role)| role["rules"].as_array().unwrap().iter().any(|rule| grants(rule, on)))
    })
}

/// The answer of the index.
fn answered(index: &Index, user: &User, on: &Question) -> bool {
    let mut allowed = false;
    let namespace = match on {
        Question::Resource(on) => on.namespace,
        Question::Path(..) => "",
    };
    index.visit("rbac", user, namespace, |found| {
        allowed = found.rules.iter().any(|rule| match on {
            Question::Resource(on) => rule.allows_resource(on),
            Question::Path(verb, path) => rule.allows_path(verb, path),
        });
        allowed
    });
    allowed
}

fn questions() -> Vec<Question> {
    let mut all: Vec<Question> = PATHS.iter().map(|path| Question::Path("get", path)).collect();
    for namespace in ["", "a", "b"] {
        for (resource, subresource) in [("pods", ""), ("pods", "log"), ("logs", ""), ("other", "log")] {
            for (group, verb, name) in [("", "get", ""), ("apps", "list", "n"), ("", "delete", "m")] {
                let name = name.into();
                let on =
                    ResourceAction { verb, group, resource, subresource, namespace, name, ..ResourceAction::default() };
                all.push(Question::Resource(on));
            }
        }
    }
    all
}

fn users() -> Vec<User> {
    let user = |name: &str, groups: &[&str]| User {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..User::default()
    };
    vec![
        user("x", &[]),
        user("y", &["x", "y"]),
        user("", &["x\u{0}y"]),
        user("system:serviceaccount:a:s", &["y"]),
        user("x\u{0}y", &[]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_answers_as_the_documents_say(steps in prop::collection::vec(any::<[u8; 10]>(), 1..40)) {
        let mut index = Index::default();
        let mut objects = Objects::new();
        let (users, questions) = (users(), questions());
        for bytes in steps {
            let (key @ (kind, namespace, name), object) = step(bytes);
            let before = match &object {
                Some(object) => objects.insert(key, object.clone()),
                None => objects.remove(&key),
            };
            let target = match kind {
                "Role" => Object::Role { namespace, name },
                "ClusterRole" => Object::ClusterRole { name },
                _ => Object::Binding { namespace, name },
            };
            index.change(target, before.map(Value::from).as_ref(), object.map(Value::from).as_ref());
        }
        for user in &users {
            for on in &questions {
                prop_assert_eq!(answered(&index, user, on), expected(&objects, user, on), "{:?}", user);
            }
        }
        for ((kind, namespace, name), object) in objects {
            let target = match kind {
                "Role" => Object::Role { namespace, name },
                "ClusterRole" => Object::ClusterRole { name },
                _ => Object::Binding { namespace, name },
            };
            index.change(target, Some(&object.into()), None);
        }
        prop_assert!(index.is_empty(), "what has gone leaves nothing behind");
    }
}
