//! Server-side apply (KEP-555) over HTTP: codes, bodies, versions, warnings; who owns what is the
//! schema's to test.

mod bounds;

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAP: &str = "/api/v1/namespaces/a/configmaps/m";

async fn send(server: &Server, query: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let headers = [&[("content-type", "application/apply-patch+yaml")], headers].concat();
    server.send(Method::PATCH, &format!("{MAP}?{query}"), &headers, body).await
}

async fn apply(server: &Server, manager: &str, data: Value) -> Answer {
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data});
    send(server, &format!("fieldManager={manager}"), &[], &body.to_string()).await
}

/// Code, reason and the reason and field of each cause.
fn refusal(answer: &Answer) -> String {
    let body = answer.json();
    let causes = body["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes: Vec<_> =
        causes.iter().map(|c| format!(" {} {}", text(&c["reason"]), text(&c["field"]))).collect();
    format!("{} {}{}", answer.status.as_u16(), text(&body["reason"]), causes.concat())
}

#[tokio::test]
async fn the_first_apply_creates_and_the_same_again_changes_nothing() {
    let server = Server::with_namespace().await;
    let created = apply(&server, "one", json!({"k": "v"})).await;
    assert_eq!(created.status, 201);
    assert_eq!(
        created.json()["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:data": {"f:k": {}}})
    );
    server.clock.advance(5000);
    let again = apply(&server, "one", json!({"k": "v"})).await;
    assert_eq!((again.status.as_u16(), again.json()), (200, created.json()));
    let changed = apply(&server, "one", json!({"l": "v"})).await;
    assert_eq!((changed.status.as_u16(), &changed.json()["data"]), (200, &json!({"l": "v"})));
    assert_ne!(changed.version(), created.version());
}

#[tokio::test]
async fn a_conflict_says_who_owns_what() {
    let server = Server::with_namespace().await;
    apply(&server, "one", json!({"k": "v"})).await;
    let refused = apply(&server, "two", json!({"k": "w"})).await;
    assert_eq!(refusal(&refused), "409 Conflict FieldManagerConflict .data.k");
    let body = refused.json();
    assert_eq!(body["message"], "Apply failed with 1 conflict: conflict with \"one\": .data.k");
    assert_eq!(body["details"]["causes"][0]["message"], "conflict with \"one\"");
    let forced = apply(&server, "two&force=true", json!({"k": "w"})).await;
    assert_eq!((forced.status.as_u16(), &forced.json()["data"]), (200, &json!({"k": "w"})));
}

#[tokio::test]
async fn bodies_that_are_refused() {
    let server = Server::with_namespace().await;
    let check = async |query: &str, body: &str, expect: &str| {
        assert_eq!(refusal(&send(&server, query, &[], body).await), expect, "{body}");
    };
    let good = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}";
    check("", good, "422 Invalid FieldValueRequired fieldManager").await;
    check("fieldManager=a", "{", "400 BadRequest").await;
    check("fieldManager=a", "- a", "400 BadRequest").await;
    check("fieldManager=a", "", "400 BadRequest").await;
    check(
        "fieldManager=a",
        "{apiVersion: v1, kind: Secret, metadata: {name: m}}",
        "400 BadRequest",
    )
    .await;
    check(
        "fieldManager=a",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}",
        "400 BadRequest",
    )
    .await;
    let entries = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, managedFields: []}}";
    check("fieldManager=a", entries, "400 BadRequest").await;
    check(
        "fieldManager=a",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: []}",
        "500 ",
    )
    .await;
    assert_eq!(server.get(MAP).await.status, 404);
}

#[tokio::test]
async fn keys_that_stand_twice() {
    let server = Server::with_namespace().await;
    let body =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  k: first\n  k: second\n";
    let strict = send(&server, "fieldManager=a&fieldValidation=Strict", &[], body).await;
    assert_eq!(refusal(&strict), "400 BadRequest");
    let warned = send(&server, "fieldManager=a", &[], body).await;
    assert_eq!((warned.status.as_u16(), &warned.json()["data"]), (201, &json!({"k": "second"})));
    assert_eq!(warned.header("warning"), r#"299 - "line 6: key \"k\" already set in map""#);
    let ignored = send(&server, "fieldManager=a&fieldValidation=Ignore", &[], body).await;
    assert!(ignored.headers.get("warning").is_none());
}

#[tokio::test]
async fn fields_that_there_are_not() {
    let server = Server::with_namespace().await;
    let body =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, nmae: x}\ndata: {k: v}\nk: 1\nk: 2\n";
    let strict = send(&server, "fieldManager=a&fieldValidation=Strict", &[], body).await;
    assert_eq!(refusal(&strict), "400 BadRequest");
    let expect = "strict decoding error: yaml: unmarshal errors:\n  line 6: key \"k\" already set in map, unknown field \"k\", unknown field \"metadata.nmae\"";
    assert_eq!(strict.json()["message"], expect);
    assert_eq!(server.get(MAP).await.status, 404);
    let warned = send(&server, "fieldManager=a", &[], body).await;
    assert_eq!((warned.status.as_u16(), &warned.json()["data"]), (201, &json!({"k": "v"})));
    let told: Vec<&str> =
        warned.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    let expect = [
        r#"299 - "line 6: key \"k\" already set in map""#,
        r#"299 - "unknown field \"k\"""#,
        r#"299 - "unknown field \"metadata.nmae\"""#,
    ];
    assert_eq!(told, expect);
    // What is dropped is not owned.
    let fields = warned.json()["metadata"]["managedFields"][0]["fieldsV1"].clone();
    assert_eq!(fields, json!({"f:data": {"f:k": {}}}));
    let ignored = send(&server, "fieldManager=a&fieldValidation=Ignore", &[], body).await;
    assert_eq!((ignored.status.as_u16(), ignored.headers.get("warning")), (200, None));
    // A wrong type is fatal at every level, and the only error told.
    for level in ["Ignore", "Warn", "Strict"] {
        let wrong = body.replace("{k: v}", "[v]");
        let query = format!("fieldManager=a&fieldValidation={level}");
        assert_eq!(send(&server, &query, &[], &wrong).await.status, 500, "{level}");
    }
}

#[tokio::test]
async fn a_condition_holds_for_the_object_that_is_there() {
    let server = Server::with_namespace().await;
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}}).to_string();
    let absent = send(&server, "fieldManager=a", &[("if-match", "\"1\"")], &body).await;
    assert_eq!(refusal(&absent), "409 Conflict");
    let created = send(&server, "fieldManager=a", &[], &body).await;
    let stale = send(&server, "fieldManager=a", &[("if-match", "\"1\"")], &body).await;
    assert_eq!(refusal(&stale), "409 Conflict");
    let version = format!("\"{}\"", created.version());
    assert_eq!(send(&server, "fieldManager=a", &[("if-match", &version)], &body).await.status, 200);
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace() {
    let server = Server::with_namespace().await;
    let dry = apply(&server, "one&dryRun=All", json!({"k": "v"})).await;
    assert_eq!((dry.status.as_u16(), &dry.json()["data"]), (201, &json!({"k": "v"})));
    assert_eq!(server.get(MAP).await.status, 404);
    let created = apply(&server, "one", json!({"k": "v"})).await;
    let dry = apply(&server, "two&dryRun=All&force=true", json!({"k": "w"})).await;
    assert_eq!(dry.json()["data"], json!({"k": "w"}));
    assert_eq!(server.get(MAP).await.json(), created.json());
}

#[tokio::test]
async fn after_a_reset_the_requester_owns_what_its_request_names() {
    let server = Server::with_namespace().await;
    let path = "/api/v1/namespaces/a/configmaps/c";
    let create = r#"{"metadata":{"name":"c"},"data":{"k":"v","l":"v","m":"v"}}"#;
    for (case, media, body) in [
        (
            "merge",
            "application/merge-patch+json",
            r#"{"data":{"k":"w","l":"v"},"metadata":{"managedFields":[{}]}}"#,
        ),
        (
            "operations",
            "application/json-patch+json",
            r#"[{"op":"replace","path":"/metadata/managedFields","value":[{}]},
                {"op":"replace","path":"/data/k","value":"w"},{"op":"add","path":"/data/l","value":"v"}]"#,
        ),
        (
            "update",
            "application/json",
            r#"{"metadata":{"name":"c","managedFields":[{}]},"data":{"k":"w","l":"v"}}"#,
        ),
    ] {
        let collection = "/api/v1/namespaces/a/configmaps?fieldManager=one";
        assert_eq!(server.send(Method::POST, collection, &[], create).await.status, 201);
        let method = if case == "update" { Method::PUT } else { Method::PATCH };
        let with = format!("{path}?fieldManager=two");
        let answer = server.send(method, &with, &[("content-type", media)], body).await.json();
        let entries = answer["metadata"]["managedFields"].as_array().unwrap().clone();
        assert_eq!((entries.len(), &entries[0]["manager"]), (1, &json!("two")), "{case}: {answer}");
        let data = entries[0]["fieldsV1"]["f:data"].as_object().unwrap();
        assert!(
            data.contains_key("f:k") && data.contains_key("f:l") && !data.contains_key("f:m"),
            "{case}: {data:?}"
        );
        server.delete("c").await;
    }
}
