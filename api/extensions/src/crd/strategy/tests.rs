//! The life of a definition in the write pipeline.

use quorate_meta::Naming;
use serde_json::{Value as Json, json};

use super::*;

fn strategy() -> DefinitionStrategy {
    DefinitionStrategy::new(Arc::new(Graph::builtin(Naming::Svc.names())))
}

fn versions(storage: &str, names: &[&str]) -> Json {
    names.iter().map(|name| json!({"name": name, "storage": *name == storage})).collect()
}

#[test]
fn names_have_defaults() {
    let check = |names: Json, expect: Json| {
        let mut object = Value::from(json!({"spec": {"names": names}}));
        strategy().default(Naming::Svc.names(), &mut object);
        assert_eq!(object, json!({"spec": {"names": expect}}).into());
    };
    check(json!({"kind": "Ox"}), json!({"kind": "Ox", "singular": "ox", "listKind": "OxList"}));
    check(
        json!({"kind": "Ox", "singular": "one", "listKind": "Herd"}),
        json!({"kind": "Ox", "singular": "one", "listKind": "Herd"}),
    );
    check(json!({"plural": "oxen"}), json!({"plural": "oxen"}));
}

#[test]
fn a_new_definition_has_the_status_of_the_server() {
    let object = json!({"metadata": {"generation": 7}, "spec": {"versions": versions("v2", &["v1", "v2"])}, "status": {"conditions": [1]}});
    let mut object = Value::from(object);
    strategy().prepare_create(Naming::Svc.names(), &mut object);
    assert_eq!(object.get("status"), Some(&json!({"storedVersions": ["v2"]}).into()));
    assert_eq!(object.at(&["metadata", "generation"]), Some(&1.into()));
}

#[test]
fn each_part_of_an_update() {
    let check = |part: Part, spec: Json, status: Json| {
        let old = json!({"spec": {"versions": versions("v1", &["v1"])}, "status": {"storedVersions": ["v1"]}});
        let new = json!({"spec": {"versions": versions("v2", &["v1", "v2"])}, "status": {"storedVersions": ["v3"]}});
        let mut new = Value::from(new);
        strategy().prepare_update(Naming::Svc.names(), part, &old.into(), &mut new);
        assert_eq!(new, json!({"spec": spec, "status": status}).into(), "{part:?}");
    };
    check(
        Part::Main,
        json!({"versions": versions("v2", &["v1", "v2"])}),
        json!({"storedVersions": ["v1", "v2"]}),
    );
    check(
        Part::Status,
        json!({"versions": versions("v1", &["v1"])}),
        json!({"storedVersions": ["v3"]}),
    );
}

#[test]
fn a_deletion_begins() {
    let strategy = strategy();
    let object = json!({
        "metadata": {"finalizers": ["x/y"], "deletionTimestamp": "2020-01-01T00:00:00Z"},
        "status": {"conditions": [{"type": "Established", "status": "True"}]}
    });
    let mut object = Value::from(object);
    assert!(strategy.is_held(&json!({"metadata": {}}).into()));
    assert!(!strategy.is_held(&object));
    for _ in 0..2 {
        strategy.begin_deletion(&mut object);
        let finalizers = json!(["x/y", "customresourcecleanup.apiextensions.svc.io"]);
        assert_eq!(object.at(&["metadata", "finalizers"]), Some(&finalizers.into()));
        let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list);
        let types =
            conditions.unwrap_or_default().iter().filter_map(|one| one.get("type")?.as_str());
        assert_eq!(types.collect::<Vec<_>>(), ["Established", "Terminating"]);
    }
}
