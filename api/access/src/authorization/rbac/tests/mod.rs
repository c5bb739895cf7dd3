//! The RBAC index against a model that reads the objects one by one: random roles and bindings are
//! created, changed and deleted, and then every question must have the same answer from both.
//! `authorizer` asks the whole authorizer the same.

mod authorizer;

use std::collections::BTreeMap;

use proptest::prelude::*;
use quorate_meta::Value;
use serde_json::{Value as Json, json};

use super::index::{Index, RbacObject};
use crate::authentication::User;
use crate::authorization::{Action, ResourceAction};

const NAMESPACES: [&str; 2] = ["a", "b"];
const NAMES: [&str; 3] = ["x", "y", "x\u{0}y"];
const VERBS: [&str; 3] = ["get", "list", "*"];
const GROUPS: [&str; 3] = ["", "apps", "*"];
const RESOURCES: [&str; 5] = ["pods", "pods/log", "*/log", "*", "logs"];
const RESOURCE_NAMES: [&str; 2] = ["n", "m"];
const URLS: [&str; 4] = ["/m", "/m/*", "*", "/n*"];
const PATHS: [&str; 4] = ["/m", "/m/", "/m/x", "/nx"];

/// Kind, namespace (empty for the cluster's) and name of an object.
type Key = (&'static str, &'static str, &'static str);
type Objects = BTreeMap<Key, Json>;
type Step = [u8; 20];

fn pick<'t>(texts: &[&'t str], byte: u8) -> &'t str {
    texts[usize::from(byte) % texts.len()]
}

/// One or two of the texts.
fn some<'t>(texts: &[&'t str], byte: u8) -> Vec<&'t str> {
    let mut some = vec![pick(texts, byte / 2)];
    if byte.is_multiple_of(2) {
        some.push(pick(texts, byte / 16));
    }
    some
}

fn rule(bytes: &[u8]) -> Json {
    let [about, verb, thing, resource, named] = *bytes else {
        unreachable!("five bytes make a rule")
    };
    if about % 4 == 0 {
        return json!({"verbs": some(&VERBS, verb), "nonResourceURLs": some(&URLS, thing)});
    }
    let mut rule = json!({"verbs": some(&VERBS, verb), "apiGroups": some(&GROUPS, thing),
        "resources": some(&RESOURCES, resource)});
    if named % 2 == 0 {
        rule["resourceNames"] = json!(some(&RESOURCE_NAMES, named / 2));
    }
    rule
}

fn subject(bytes: &[u8]) -> Json {
    let [kind, name, ..] = *bytes else { unreachable!("two bytes make a subject") };
    match kind % 4 {
        0 => json!({"kind": "User", "name": pick(&NAMES, name)}),
        1 => json!({"kind": "Group", "name": pick(&NAMES, name)}),
        2 => {
            json!({"kind": "ServiceAccount", "name": "s", "namespace": pick(&["a", "b", ""], name)})
        }
        _ => json!({"kind": "User", "name": pick(&NAMES, name), "namespace": "a"}),
    }
}

/// One step: what is put or (where the first byte says so) taken away. Roles have up to three
/// rules, bindings as many subjects.
fn step(bytes: Step) -> (Key, Option<Json>) {
    let [gone, kind, namespace, name, count, rest @ ..] = bytes;
    let kind = pick(&["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"], kind);
    let namespace = if kind.starts_with("Cluster") { "" } else { pick(&NAMESPACES, namespace) };
    let key = (kind, namespace, pick(&NAMES, name));
    if gone % 4 == 0 {
        return (key, None);
    }
    let parts = rest.chunks_exact(5).take(usize::from(count % 4));
    let object = if kind.ends_with("Binding") {
        let role = if kind == "RoleBinding" && rest[12] % 2 == 0 { "Role" } else { "ClusterRole" };
        let subjects: Vec<Json> = parts.map(subject).collect();
        json!({"roleRef": {"kind": role, "name": pick(&NAMES, rest[13])}, "subjects": subjects})
    } else {
        json!({"rules": parts.map(rule).collect::<Vec<Json>>()})
    };
    (key, Some(object))
}

/// Takes a step; gives what was there before.
fn take(objects: &mut Objects, key: Key, now: Option<&Json>) -> Option<Json> {
    match now {
        Some(object) => objects.insert(key, object.clone()),
        None => objects.remove(&key),
    }
}

/// The texts of a list; none when it is absent.
fn texts(list: &Json) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

fn has(list: &Json, text: &str) -> bool {
    texts(list).contains(&text)
}

fn grants(rule: &Json, on: &Action<'_>) -> bool {
    let any = |field: &str, text: &str| has(&rule[field], "*") || has(&rule[field], text);
    match on {
        Action::Path { verb, path } => {
            let fits = |url: &str| {
                url == *path || url == "*" || (url == "/m/*" && path.starts_with("/m/"))
            };
            any("verbs", verb) && texts(&rule["nonResourceURLs"]).into_iter().any(fits)
        }
        Action::Resource(on) => {
            let whole = if on.subresource.is_empty() {
                on.resource.to_owned()
            } else {
                format!("{}/{}", on.resource, on.subresource)
            };
            let resource = any("resources", &whole)
                || (!on.subresource.is_empty()
                    && has(&rule["resources"], &format!("*/{}", on.subresource)));
            let named = rule["resourceNames"].is_null() || has(&rule["resourceNames"], &on.name);
            any("verbs", on.verb) && any("apiGroups", on.group) && resource && named
        }
    }
}

fn is_subject(subject: &Json, namespace: &str, user: &User) -> bool {
    let name = subject["name"].as_str().unwrap();
    match subject["kind"].as_str().unwrap() {
        "User" => subject["namespace"].is_null() && user.name == name,
        "Group" => subject["namespace"].is_null() && user.groups.iter().any(|group| group == name),
        _ => {
            let own = subject["namespace"].as_str().unwrap();
            let namespace = if own.is_empty() { namespace } else { own };
            !namespace.is_empty()
                && user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
    }
}

/// The rules of a role, if it is there; the namespace is empty for a ClusterRole.
fn rules<'o>(
    objects: &'o Objects,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Option<&'o Vec<Json>> {
    let mut roles = objects.iter();
    let role = roles
        .find(|((own, home, own_name), _)| *own == kind && *home == namespace && *own_name == name);
    role.map(|(_, role)| role["rules"].as_array().unwrap())
}

/// Whether the model finds a rule that grants this, given in the cluster or in this namespace.
fn holds(objects: &Objects, user: &User, wanted: &str, on: &Action<'_>) -> bool {
    let mut bindings = objects.iter().filter(|((kind, namespace, _), _)| {
        kind.ends_with("Binding")
            && (namespace.is_empty() || (!wanted.is_empty() && *namespace == wanted))
    });
    bindings.any(|((_, namespace, _), binding)| {
        let concerns = binding["subjects"]
            .as_array()
            .unwrap()
            .iter()
            .any(|subject| is_subject(subject, namespace, user));
        let [kind, name] =
            ["kind", "name"].map(|field| binding["roleRef"][field].as_str().unwrap());
        let home = if kind == "Role" { *namespace } else { "" };
        let rules = rules(objects, kind, home, name);
        concerns && rules.is_some_and(|rules| rules.iter().any(|rule| grants(rule, on)))
    })
}

fn namespace<'a>(on: &Action<'a>) -> &'a str {
    match on {
        Action::Resource(on) => on.namespace,
        Action::Path { .. } => "",
    }
}

/// The answer of the model.
fn expected(objects: &Objects, user: &User, on: &Action<'_>) -> bool {
    holds(objects, user, namespace(on), on)
}

/// The answer of the index.
fn answered(index: &Index, user: &User, on: &Action<'_>) -> bool {
    let mut allowed = false;
    index.visit("rbac", user, namespace(on), |found| {
        allowed = found.rules.iter().any(|rule| match on {
            Action::Resource(on) => rule.allows_resource(on),
            Action::Path { verb, path } => rule.allows_path(verb, path),
        });
        allowed
    });
    allowed
}

fn questions() -> Vec<Action<'static>> {
    let mut all: Vec<Action<'_>> =
        PATHS.iter().map(|path| Action::Path { verb: "get", path }).collect();
    for namespace in ["", "a", "b"] {
        for (resource, subresource) in
            [("pods", ""), ("pods", "log"), ("logs", ""), ("other", "log")]
        {
            for (group, verb, name) in [("", "get", ""), ("apps", "list", "n"), ("", "delete", "m")]
            {
                let name = name.into();
                let on = ResourceAction {
                    verb,
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                    ..ResourceAction::default()
                };
                all.push(Action::Resource(on));
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

fn target((kind, namespace, name): Key) -> RbacObject<'static> {
    match kind {
        "Role" => RbacObject::Role { namespace, name },
        "ClusterRole" => RbacObject::ClusterRole { name },
        _ => RbacObject::Binding { namespace, name },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_index_answers_as_the_model_does(steps in prop::collection::vec(any::<Step>(), 1..40)) {
        let mut index = Index::default();
        let mut objects = Objects::new();
        let (users, questions) = (users(), questions());
        for bytes in steps {
            let (key, now) = step(bytes);
            let before = take(&mut objects, key, now.as_ref());
            index.change(target(key), before.map(Value::from).as_ref(), now.map(Value::from).as_ref());
        }
        for user in &users {
            for on in &questions {
                prop_assert_eq!(answered(&index, user, on), expected(&objects, user, on), "{:?}", user);
            }
        }
        for (key, object) in objects {
            index.change(target(key), Some(&object.into()), None);
        }
        prop_assert!(index.is_empty(), "what has gone leaves nothing behind");
    }
}
