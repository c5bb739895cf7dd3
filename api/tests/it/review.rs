//! Virtual kinds: questions that are answered at once and never stored.

use http::Method;
use quorate_api::authentication::User;
use serde_json::{Value, json};

use crate::harness::Server;

const SELF_ACCESS: &str = "/apis/authorization.svc.io/v1/selfsubjectaccessreviews";

fn pods() -> Value {
    json!({"verb": "get", "resource": "pods", "namespace": "a"})
}

#[tokio::test]
async fn anybody_may_ask_what_they_may_do() {
    let server = Server::new();
    server.defaults().await.stop();
    let nobody = server.by(Some(User::new("nobody", [])));
    let question = json!({"spec": {"resourceAttributes": pods()}, "status": {"allowed": true, "reason": "mine"}});
    let answer = nobody.send(Method::POST, SELF_ACCESS, &[], question.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let expect = json!({
        "apiVersion": "authorization.svc.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
        "spec": {"resourceAttributes": pods()}, "status": {"allowed": false}
    });
    assert_eq!(answer.json(), expect);
    let answer = server.send(Method::POST, &format!("{SELF_ACCESS}?dryRun=All"), &[], question.to_string()).await;
    assert_eq!(answer.json()["status"], json!({"allowed": true}), "a dry run answers as well");
}

#[tokio::test]
async fn a_question_passes_what_every_object_passes() {
    let server = Server::new();
    let check = async |query: &str, body: Value, code: u16, expect: &str| {
        let answer = server.send(Method::POST, &format!("{SELF_ACCESS}{query}"), &[], body.to_string()).await;
        assert_eq!(answer.status, code, "{query} {body}: {}", answer.text());
        assert!(answer.text().contains(expect), "{query} {body}: {}", answer.text());
        answer
    };
    let unknown = json!({"spec": {"resourceAttributes": pods(), "odd": 1}});
    check("?fieldValidation=Strict", unknown.clone(), 400, r#"unknown field \"spec.odd\""#).await;
    let warned = check("", unknown, 201, r#""allowed":true"#).await;
    assert_eq!(warned.header("warning"), r#"299 - "unknown field \"spec.odd\"""#);
    check("", json!({"spec": {}}), 422, "exactly one of nonResourceAttributes or resourceAttributes").await;
    check("", json!({"metadata": {"name": "x"}, "spec": {"resourceAttributes": pods()}}), 422, "must be empty").await;
    check("?dryRun=Some", json!({"spec": {"resourceAttributes": pods()}}), 422, "Unsupported value").await;
    check("", json!({"kind": "Secret", "apiVersion": "v1"}), 400, "Secret").await;
}

#[tokio::test]
async fn a_virtual_kind_can_only_be_asked() {
    let server = Server::new();
    for (method, path, code) in [
        (Method::GET, SELF_ACCESS.to_owned(), 405),
        (Method::DELETE, SELF_ACCESS.to_owned(), 405),
        (Method::GET, format!("{SELF_ACCESS}/x"), 404),
        (Method::POST, SELF_ACCESS.replace("/v1/", "/v1/namespaces/a/"), 404),
    ] {
        let answer = server.send(method.clone(), &path, &[], "{}").await;
        assert_eq!(answer.status, code, "{method} {path}");
    }
    let listed = server.get("/apis/authorization.svc.io/v1").await.json();
    let entry = &listed["resources"].as_array().unwrap()[1];
    let expect = json!({"name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview", "namespaced": false,
        "kind": "SelfSubjectAccessReview", "verbs": ["create"]});
    assert_eq!(entry, &expect);
}
