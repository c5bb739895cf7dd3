//! Definitions and what is wrong with them, made ones and real ones.

use quorate_meta::Naming;
use quorate_registry::Strategy;
use serde_json::{Value as Json, json};

use super::*;
use crate::crd::strategy::DefinitionStrategy;

/// Definitions of public projects, and what a release-1.35 server said of them.
const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/real");

fn base(naming: Naming) -> Arc<Graph> {
    Arc::new(Graph::builtin(naming.names()))
}

fn widgets() -> Json {
    json!({
        "metadata": {"name": "widgets.x.example"},
        "spec": {
            "group": "x.example", "scope": "Cluster", "names": {"plural": "widgets", "kind": "Widget"},
            "conversion": {"strategy": "None"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"s": {"type": "string"}, "o": {"type": "object"}}}}
            }}}]
        }
    })
}

/// The definition with the value at a JSON pointer replaced, as the pipeline prepares it.
fn prepared(base: &Arc<Graph>, pointer: &str, value: Json) -> Value {
    let mut object = widgets();
    let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
    if let Some(parent) = object.pointer_mut(parent).and_then(Json::as_object_mut) {
        parent.insert(key.to_owned(), value);
    }
    prepare(base, object.into())
}

fn prepare(base: &Arc<Graph>, mut object: Value) -> Value {
    let strategy = DefinitionStrategy::new(base.clone());
    strategy.default(base.names(), &mut object);
    strategy.prepare_create(base.names(), &mut object);
    object
}

fn texts(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(Cause::text).collect()
}

#[test]
fn new_definitions() {
    let base = base(Naming::Svc);
    let check = |pointer: &str, value: Json, expect: &[&str]| {
        let found = create(&base, &prepared(&base, pointer, value));
        assert_eq!(texts(&found), expect, "{pointer}");
    };
    check("/spec/scope", json!("Namespaced"), &[]);
    check("/spec/scope", json!(null), &["spec.scope: Required value"]);
    check(
        "/metadata/name",
        json!("x"),
        &["metadata.name: Invalid value: \"x\": must be spec.names.plural+\".\"+spec.group"],
    );
    check(
        "/spec/names/listKind",
        json!("Widget"),
        &["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"],
    );
    check(
        "/spec/preserveUnknownFields",
        json!(true),
        &[
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-svc-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ],
    );
    check(
        "/spec/versions",
        json!([]),
        &[
            "spec.versions: Invalid value: []: must have exactly one version marked as storage version",
            "status.storedVersions: Invalid value: null: must have at least one stored version",
        ],
    );
    check(
        "/spec/versions/0/schema",
        json!({}),
        &["spec.versions[0].schema.openAPIV3Schema: Required value"],
    );
}

#[test]
fn conversions() {
    let base = base(Naming::Svc);
    let check = |conversion: Json, expect: &[&str]| {
        let found = create(&base, &prepared(&base, "/spec/conversion", conversion));
        assert_eq!(texts(&found), expect);
    };
    let webhook = |client: Json, reviews: Json| json!({"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": reviews}});
    check(webhook(json!({"url": "https://x.example/y"}), json!(["v1"])), &[]);
    check(
        webhook(json!({}), json!(["v9"])),
        &[
            "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
        ],
    );
    check(
        json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
        &[
            "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
        ],
    );
}

#[test]
fn changes() {
    let base = base(Naming::Svc);
    let check = |established: &str, pointer: &str, value: Json, expect: &[&str]| {
        let mut old = prepared(&base, "/spec/scope", json!("Cluster"));
        let condition = json!([{"type": "Established", "status": established}]);
        old.set_at(&["status", "conditions"], Value::from(condition));
        let new = prepared(&base, pointer, value);
        assert_eq!(texts(&update(&base, &old, &new)), expect, "{pointer}");
    };
    let scope = "spec.scope: Invalid value: \"Namespaced\": field is immutable";
    check("True", "/spec/scope", json!("Namespaced"), &[scope]);
    check("False", "/spec/scope", json!("Namespaced"), &[]);
    let group = "spec.group: Invalid value: \"y.example\": field is immutable";
    check("False", "/spec/group", json!("y.example"), &[group]);
}

/// What a server said of a line.
fn told(line: &Value) -> Vec<String> {
    let messages = line.get("messages").and_then(Value::as_list).unwrap_or_default();
    messages.iter().skip(1).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether the messages are the recorded ones, of which long ones are cut or show inner types.
fn agree(found: &[Cause], told: &[String]) -> bool {
    let mut found: Vec<&str> = found.iter().map(|cause| cause.message.as_str()).collect();
    let mut told: Vec<&str> = told.iter().map(String::as_str).collect();
    found.sort_unstable();
    told.sort_unstable();
    let is_same = |(found, told): (&&str, &&str)| {
        found == told
            || told.contains("\"OpenAPIV3Schema\":")
            || told.contains("\"JSONSchemas\":")
            || told.split_once(" … (").is_some_and(|(start, _)| found.starts_with(start))
    };
    found.len() == told.len() && found.iter().zip(&told).all(is_same)
}

#[test]
fn real_definitions() {
    let Ok(lines) = std::fs::read_to_string(format!("{REAL}/verdicts.jsonl")) else {
        return eprintln!("skipped: no verdicts at {REAL}");
    };
    let base = base(Naming::Kubernetes);
    let (mut differ, mut accepted, mut refused) = (Vec::new(), 0, 0);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("a verdict");
        let file = line.str_at(&["file"]).unwrap_or_default();
        let is_new = ["create", "dryrun"].contains(&line.str_at(&["do"]).unwrap_or_default());
        if !file.starts_with("crds/") || !is_new {
            continue;
        }
        let text = std::fs::read_to_string(format!("{REAL}/{file}")).expect("a readable file");
        let definition: Value = serde_saphyr::from_str(&text).expect("a definition");
        let status = line.get("status").and_then(Value::as_i64).unwrap_or_default();
        if status != 201 && status != 422 {
            continue;
        }
        let told = told(&line);
        let found = create(&base, &prepare(&base, definition));
        if !agree(&found, &told) {
            differ.push(format!("{file}: {:?}", texts(&found)));
        }
        match status {
            201 => accepted += 1,
            _ => refused += 1,
        }
    }
    assert_eq!(differ, Vec::<String>::new());
    assert!(accepted > 400 && refused > 100, "{accepted} accepted, {refused} refused");
}
