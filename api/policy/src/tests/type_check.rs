//! Type checking against the schema of a custom kind.

use std::sync::Arc;

use quorate_meta::{GroupVersionKind, Naming};
use quorate_schema::Graph;
use serde_json::json;

use crate::{CheckedKind, Environments, type_check};

#[test]
fn custom_kinds_have_the_fields_of_their_schema_and_metadata() {
    let names = Naming::Kubernetes.names();
    let (environments, graph) = (Environments::new(names), Arc::new(Graph::builtin(names)));
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {
            "refs": {"type": "array", "items": {"type": "object", "properties": {"name": text}}},
            "port": {"x-kubernetes-int-or-string": true},
        }},
    }});
    let kind = GroupVersionKind::new("example.com", "v1", "Thing");
    let checked = CheckedKind::custom(kind, &schema.into(), &graph).expect("the schema compiles");
    let kinds = [checked];
    let check = |expression: &str, expect: Option<&str>| {
        let spec = json!({"validations": [{"expression": expression}]});
        let warnings = type_check(&environments, &spec.into(), &kinds, None);
        let told: Vec<&str> = warnings
            .iter()
            .map(|warning| warning.warning.lines().next().unwrap_or_default())
            .collect();
        let expect: Vec<String> = expect
            .iter()
            .map(|text| format!("example.com/v1, Kind=Thing: ERROR: <input>:1:{text}"))
            .collect();
        assert_eq!(told, expect, "{expression}");
    };
    check("object.metadata.labels['a'] == object.spec.refs[0].name", None);
    check("object.spec.port == 1 || object.spec.port == 'a' || object.kind == 'Thing'", None);
    check("object.spec.port.x", None);
    check("object.spec.other == 1", Some("12: undefined field 'other'"));
    check("object.metadata.label == 'a'", Some("16: undefined field 'label'"));
    check(
        "object.spec.refs.all(r, r.all(n, n == 'a'))",
        Some(
            "25: expression of type 'Thing*.spec.refs.@idx' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
    );
}
