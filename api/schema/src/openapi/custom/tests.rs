//! Tests of documents about custom resources.

use quorate_meta::Naming;
use serde_json::json;

use super::*;
use crate::graph::Graph;

fn resource(schema: Option<&Value>) -> CustomResource<'_> {
    let scale = GroupVersionKind::new("autoscaling", "v1", "Scale");
    let verbs = vec!["get", "patch", "update"];
    CustomResource {
        group: "stable.example.com",
        version: "v1",
        kind: "CronTab",
        list_kind: "CronTabList",
        plural: "crontabs",
        namespaced: true,
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
            .to_vec(),
        subresources: vec![
            CustomSubresource { name: "status", verbs: verbs.clone(), body: None },
            CustomSubresource { name: "scale", verbs, body: Some(scale) },
        ],
        schema,
    }
}

fn parts(naming: Naming, schema: serde_json::Value, dialect: Dialect) -> CustomParts {
    let graph = Graph::builtin(naming.names());
    let schema = Value::from(schema);
    let documents = Documents::new(&graph, Vec::new(), "v1.35.0");
    CustomDocuments::new(&documents).parts(&resource(Some(&schema)), dialect)
}

/// What is published of the schema of a field, as `kubernetes` names it.
fn check(field: serde_json::Value, v2: serde_json::Value, v3: serde_json::Value) {
    let schema = json!({"type": "object", "properties": {"f": field}});
    for (dialect, expect) in [(Dialect::V2, v2), (Dialect::V3, v3)] {
        let parts = parts(Naming::Kubernetes, schema.clone(), dialect);
        let definition =
            parts.definitions.get("com.example.stable.v1.CronTab").expect("it is defined");
        assert_eq!(
            definition.at(&["properties", "f"]),
            Some(&expect.into()),
            "{dialect:?} {field}"
        );
    }
}

#[test]
fn words() {
    let same =
        json!({"type": "string", "pattern": "^a$", "maxLength": 3, "enum": ["a"], "default": ""});
    check(same.clone(), same.clone(), same);
    check(
        json!({"type": "integer", "minimum": 0, "exclusiveMinimum": false, "example": 1, "title": "", "format": "int32"}),
        json!({"type": "integer", "minimum": 0, "format": "int32"}),
        json!({"type": "integer", "minimum": 0, "format": "int32"}),
    );
    let list = json!({"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]},
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    check(list.clone(), list.clone(), list);
    let rules = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]});
    check(rules.clone(), rules.clone(), rules);
}

#[test]
fn what_version_2_does_not_say() {
    check(
        json!({"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}}),
        json!({}),
        json!({"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}}),
    );
    check(
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
    );
    check(
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    );
    check(
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    );
    check(
        json!({"type": "string", "oneOf": [{"pattern": "a"}], "not": {"maxLength": 1}}),
        json!({"type": "string"}),
        json!({"type": "string", "oneOf": [{"pattern": "a"}], "not": {"maxLength": 1}}),
    );
    check(
        json!({"type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}),
        json!({"type": "object", "required": ["b"], "properties": {"a": {}, "b": {"type": "string"}}}),
        json!({"type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "string"}}}),
    );
    check(
        json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
        json!({"type": "object", "additionalProperties": {}}),
        json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
    );
    check(
        json!({"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "string"}}),
        json!({"x-kubernetes-preserve-unknown-fields": true}),
        json!({"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "string"}}),
    );
}

#[test]
fn both_names_of_extensions() {
    let field = json!({"type": "object", "x-svc-embedded-type": true, "x-svc-map-type": "atomic"});
    let schema = json!({"type": "object", "properties": {"f": field}});
    let parts = parts(Naming::Svc, schema, Dialect::V3);
    let field = parts.definitions.get("com.example.stable.v1.CronTab").expect("it is defined");
    let field = field.at(&["properties", "f"]).expect("a field");
    for name in [
        "x-svc-embedded-type",
        "x-kubernetes-embedded-resource",
        "x-svc-map-type",
        "x-kubernetes-map-type",
    ] {
        assert!(field.get(name).is_some(), "{name}");
    }
    assert_eq!(field.get("required"), Some(&json!(["kind", "apiVersion"]).into()));
    let names: Vec<&str> =
        field.get("properties").and_then(Value::as_map).expect("some").keys().collect();
    assert_eq!(names, ["apiVersion", "kind", "metadata"]);
}

#[test]
fn objects_and_lists() {
    let gvk = |kind| json!([{"group": "stable.example.com", "version": "v1", "kind": kind}]);
    for dialect in [Dialect::V2, Dialect::V3] {
        let schema = json!({"type": "object", "description": "A tab.", "properties": {"metadata": {"type": "object"}, "spec": {"type": "object"}}});
        let parts = parts(Naming::Kubernetes, schema, dialect);
        let names: Vec<&str> = parts.definitions.keys().collect();
        assert_eq!(names, ["com.example.stable.v1.CronTab", "com.example.stable.v1.CronTabList"]);
        let object = parts.definitions.get(names[0]).expect("defined");
        let properties: Vec<&str> =
            object.get("properties").and_then(Value::as_map).expect("some").keys().collect();
        assert_eq!(properties, ["apiVersion", "kind", "metadata", "spec"]);
        assert_eq!(object.get("x-kubernetes-group-version-kind"), Some(&gvk("CronTab").into()));
        assert!(object.at(&["properties", "metadata", "description"]).is_some());
        let list = parts.definitions.get(names[1]).expect("defined");
        assert_eq!(list.get("x-kubernetes-group-version-kind"), Some(&gvk("CronTabList").into()));
        let item = dialect.reference(names[0]);
        assert_eq!(list.at(&["properties", "items", "items", "$ref"]), Some(&item.as_str().into()));
    }
}

#[test]
fn a_version_without_schema_allows_everything() {
    let graph = Graph::builtin(Naming::Kubernetes.names());
    let documents = Documents::new(&graph, Vec::new(), "v1.35.0");
    let expect = json!({"type": "object",
        "x-kubernetes-group-version-kind": [{"group": "stable.example.com", "version": "v1", "kind": "CronTab"}]});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}).into();
    for (schema, dialect) in [(None, Dialect::V2), (None, Dialect::V3), (Some(&open), Dialect::V2)]
    {
        let parts = CustomDocuments::new(&documents).parts(&resource(schema), dialect);
        let object = parts.definitions.get("com.example.stable.v1.CronTab");
        assert_eq!(object, Some(&expect.clone().into()), "{dialect:?}");
    }
}

#[test]
fn paths_and_operations() {
    let parts = parts(Naming::Kubernetes, json!({"type": "object"}), Dialect::V3);
    let root = "/apis/stable.example.com/v1";
    let names: Vec<&str> =
        parts.paths.keys().map(|path| path.strip_prefix(root).expect("below")).collect();
    let object = "/namespaces/{namespace}/crontabs/{name}";
    assert_eq!(
        names,
        [
            "/crontabs",
            "/namespaces/{namespace}/crontabs",
            object,
            &format!("{object}/scale"),
            &format!("{object}/status"),
        ]
    );
    let operation = |path: &str, method: &str| {
        let path = format!("{root}{path}");
        parts.paths.get(&path).and_then(|path| path.get(method)).expect("an operation").clone()
    };
    let check = |path: &str, method: &str, id: &str| {
        assert_eq!(operation(path, method).str_at(&["operationId"]), Some(id), "{method} {path}");
    };
    check("/crontabs", "get", "listStableExampleComV1CronTabForAllNamespaces");
    check("/namespaces/{namespace}/crontabs", "post", "createStableExampleComV1NamespacedCronTab");
    check(object, "patch", "patchStableExampleComV1NamespacedCronTab");
    check(&format!("{object}/scale"), "get", "readStableExampleComV1NamespacedCronTabScale");
    let scale = operation(&format!("{object}/scale"), "put");
    let kind = scale.at(&["x-kubernetes-group-version-kind", "kind"]);
    assert_eq!(kind, Some(&"CronTab".into()));
    assert_eq!(scale.at(&["tags"]), Some(&json!(["stableExampleCom_v1"]).into()));
    let patch = operation(object, "patch");
    let media: Vec<&str> = patch
        .at(&["requestBody", "content"])
        .and_then(Value::as_map)
        .expect("content")
        .keys()
        .collect();
    assert_eq!(
        media,
        [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json"
        ]
    );
}

#[test]
fn documents_define_what_they_refer_to() {
    let graph = Graph::builtin(Naming::Svc.names());
    let documents = Documents::new(&graph, Vec::new(), "v1.35.0");
    let part = CustomDocuments::new(&documents).part(&[resource(None)]);
    let schemas = part.at(&["components", "schemas"]).and_then(Value::as_map).expect("schemas");
    let text = format!("{part:?}");
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(schemas.contains_key(name), "{name}");
    }
    let shared = CustomDocuments::new(&documents).shared();
    let own = |name: &str| name.starts_with("com.example");
    for name in schemas.keys().filter(|name| !own(name)) {
        assert!(shared.get(name).is_some(), "{name}");
    }
    let whole = documents.whole(true);
    assert!(whole.at(&["definitions", "io.svc.api.autoscaling.v1.Scale"]).is_some());
}
