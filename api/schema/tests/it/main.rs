//! Integration tests of the engine: an object from its first body through updates and patches, in
//! both naming profiles.

mod every_kind;
mod parts;
#[path = "../../../wire/src/random.rs"]
mod random;
mod released;

use quorate_meta::{GroupVersionKind, Naming, Value};
use quorate_schema::fieldset::Reach;
use quorate_schema::managed::{OneVersion, Writer, update_managed_fields};
use quorate_schema::{Graph, KindDef, apply_defaults, decode, strategic, validate_structure};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Decodes, defaults, validates and tracks a body the way a write does.
fn write(
    graph: &Graph,
    kind: &KindDef,
    live: Option<&Value>,
    mut body: Value,
    manager: &str,
) -> (Value, Vec<String>) {
    let unknown = decode(graph, kind.ty, &mut body).expect("types fit").paths;
    apply_defaults(graph, kind.ty, &mut body);
    assert!(validate_structure(graph, kind.ty, &body).is_empty());
    let api_version = kind.api_version();
    let writer = Writer {
        name: manager,
        api_version: &api_version,
        subresource: "",
        time: "2026-01-01T00:00:00Z",
        reach: &Reach::default(),
        versions: &OneVersion,
    };
    update_managed_fields(graph, kind.ty, live, &mut body, &writer);
    (body, unknown)
}

fn managers(object: &Value) -> Vec<&str> {
    let entries =
        object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.str_at(&["manager"])).collect()
}

#[test]
fn a_secret_through_its_writes() {
    for naming in [Naming::Svc, Naming::Kubernetes] {
        let graph = Graph::builtin(naming.names());
        let kind = graph.kind(&GroupVersionKind::new("", "v1", "Secret")).expect("Secret");
        let body = json(r#"{"metadata":{"name":"s"},"data":{"k":"dg=="},"dta":{}}"#);
        let (created, unknown) = write(&graph, kind, None, body, "one");
        assert_eq!(unknown, ["dta"]);
        assert_eq!((created.str_at(&["type"]), managers(&created)), (Some("Opaque"), vec!["one"]));

        let mut patched = created.clone();
        strategic(&graph, kind.ty, &mut patched, &json(r#"{"data":{"l":"dw=="}}"#))
            .expect("applies");
        let (patched, unknown) = write(&graph, kind, Some(&created), patched, "two");
        assert!(unknown.is_empty());
        assert_eq!(managers(&patched), ["one", "two"]);

        let (again, _) = write(&graph, kind, Some(&patched), patched.clone(), "three");
        assert_eq!(again, patched, "a write that changes nothing leaves no trace");
    }
}
