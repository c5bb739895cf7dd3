//! Definitions as they are read.

use quorate_meta::Value;
use quorate_wire::json;
use serde_json::json;

use super::{ConversionStrategy, Definition};
use crate::crd::testing;

fn widgets() -> serde_json::Value {
    json!({
        "metadata": {"name": "widgets.x.example", "uid": "u", "generation": 2},
        "spec": {
            "group": "x.example", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"]},
            "versions": [
                {"name": "v1", "served": true, "storage": true,
                 "schema": {"openAPIV3Schema": {"type": "object"}},
                 "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
                 "selectableFields": [{"jsonPath": ".spec.color"}],
                 "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}]},
                {"name": "v1beta1", "served": false, "storage": false, "deprecated": true, "deprecationWarning": "old"}
            ]
        },
        "status": {
            "acceptedNames": {"plural": "widgets", "kind": "Widget"}, "storedVersions": ["v1"],
            "conditions": [{"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}]
        }
    })
}

#[test]
fn a_whole_definition_reads() {
    let definition = testing::read(widgets());
    assert!(definition.namespaced && definition.is_established() && !definition.is_terminating);
    assert_eq!(definition.accepted.plural, "widgets");
    let v1 = definition.storage_version().expect("v1");
    assert!(v1.status && v1.schema.is_some());
    assert_eq!(v1.scale.as_ref().map(|scale| scale.spec_replicas_path.as_str()), Some(".spec.n"));
    assert_eq!(
        (v1.columns.len(), v1.selectable_fields.as_slice()),
        (1, &[".spec.color".to_owned()][..])
    );
    let old = definition.version("v1beta1").expect("v1beta1");
    assert!(!old.served && old.deprecated && old.schema.is_none());
    assert_eq!(definition.conversion, ConversionStrategy::None);
}

#[test]
fn the_missing_field_is_named() {
    let check = |remove: &[&str], expect: &str| {
        let mut object = Value::from(widgets());
        object.remove_at(remove);
        let json = json::to_vec(&object).into();
        assert_eq!(Definition::read(&json).expect_err("it lacks a field"), expect);
    };
    check(&["spec"], "spec is missing");
    check(&["spec", "group"], "spec.group is missing");
    check(&["spec", "names", "kind"], "spec.names lacks plural or kind");
}
