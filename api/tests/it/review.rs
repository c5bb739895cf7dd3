//! Virtual kinds, such as SelfSubjectAccessReview: questions that are answered at once and never
//! stored.

use http::Method;
use quorate_access::authentication::User;
use quorate_access::authorization::ModeOptions;
use serde_json::{Value, json};

use crate::harness::Server;

const SELF_ACCESS: &str = "/apis/authorization.svc.io/v1/selfsubjectaccessreviews";
const ACCESS: &str = "/apis/authorization.svc.io/v1/subjectaccessreviews";

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
    let answer = server
        .send(Method::POST, &format!("{SELF_ACCESS}?dryRun=All"), &[], question.to_string())
        .await;
    assert_eq!(answer.json()["status"], json!({"allowed": true}), "a dry run answers as well");
}

#[tokio::test]
async fn a_question_passes_what_every_object_passes() {
    let server = Server::new();
    let check = async |query: &str, body: Value, code: u16, expect: &str| {
        let answer = server
            .send(Method::POST, &format!("{SELF_ACCESS}{query}"), &[], body.to_string())
            .await;
        assert_eq!(answer.status, code, "{query} {body}: {}", answer.text());
        assert!(answer.text().contains(expect), "{query} {body}: {}", answer.text());
        answer
    };
    let unknown = json!({"spec": {"resourceAttributes": pods(), "odd": 1}});
    check("?fieldValidation=Strict", unknown.clone(), 400, r#"unknown field \"spec.odd\""#).await;
    let warned = check("", unknown, 201, r#""allowed":true"#).await;
    assert_eq!(warned.header("warning"), r#"299 - "unknown field \"spec.odd\"""#);
    check(
        "",
        json!({"spec": {}}),
        422,
        "exactly one of nonResourceAttributes or resourceAttributes",
    )
    .await;
    check(
        "",
        json!({"metadata": {"name": "x"}, "spec": {"resourceAttributes": pods()}}),
        422,
        "must be empty",
    )
    .await;
    check(
        "?dryRun=Some",
        json!({"spec": {"resourceAttributes": pods()}}),
        422,
        "Unsupported value",
    )
    .await;
    check("", json!({"kind": "Secret", "apiVersion": "v1"}), 400, "Secret").await;
}

/// Asks whether the node `n1` may list the pods that this selector restricts.
async fn check_selector(
    server: &Server,
    field: &str,
    selector: Value,
    expect: Result<(bool, &str), &str>,
) {
    let mut on = json!({"verb": "list", "resource": "pods"});
    on[field] = selector.clone();
    let spec =
        json!({"user": "system:node:n1", "groups": ["system:nodes"], "resourceAttributes": on});
    let answer = server.send(Method::POST, ACCESS, &[], json!({"spec": spec}).to_string()).await;
    let status = answer.json()["status"].clone();
    match expect {
        Ok((allowed, error)) => {
            assert_eq!(answer.status, 201, "{field} {selector}: {}", answer.text());
            assert_eq!(status["allowed"], allowed, "{field} {selector}: {status}");
            let told = status["evaluationError"].as_str().unwrap_or_default();
            assert!(
                told.contains(error) && told.is_empty() == error.is_empty(),
                "{field} {selector}: {status}"
            );
        }
        Err(why) => {
            assert_eq!(answer.status, 422, "{field} {selector}: {}", answer.text());
            assert!(answer.text().contains(why), "{field} {selector}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn a_selector_is_a_text_or_requirements() {
    // A node may list the pods that are bound to it, and no others.
    let server = Server::with_modes(vec![ModeOptions::Nodes]);
    let check = async |field: &str, selector: Value, expect: Result<(bool, &str), &str>| {
        check_selector(&server, field, selector, expect).await;
    };
    let requirement = |operator: &str, values: &[&str]| {
        let one = json!({"key": "spec.nodeName", "operator": operator, "values": values});
        json!({"requirements": [one]})
    };
    let (fields, labels) = ("fieldSelector", "labelSelector");
    let both = json!({"rawSelector": "a=b", "requirements": [{"key": "a", "operator": "Exists"}]});
    // Both are empty: nothing is restricted.
    for empty in
        [json!({}), json!({"rawSelector": ""}), json!({"rawSelector": "", "requirements": []})]
    {
        check(fields, empty.clone(), Ok((false, ""))).await;
        check(labels, empty, Ok((false, ""))).await;
    }
    // A text is parsed, and applied if that succeeds.
    check(fields, json!({"rawSelector": "spec.nodeName=n1"}), Ok((true, ""))).await;
    check(fields, json!({"rawSelector": "spec.nodeName=n2"}), Ok((false, ""))).await;
    check(labels, json!({"rawSelector": "spec.nodeName=n1"}), Ok((false, ""))).await;
    let ignored =
        |field: &str| format!("spec.resourceAttributes.{field} ignored due to parse error");
    check(fields, json!({"rawSelector": "bad"}), Ok((false, ignored(fields).as_str()))).await;
    check(labels, json!({"rawSelector": "a in ("}), Ok((false, ignored(labels).as_str()))).await;
    // Requirements are used as they are.
    check(fields, requirement("In", &["n1"]), Ok((true, ""))).await;
    check(fields, requirement("NotIn", &["n1"]), Ok((false, ""))).await;
    check(labels, requirement("In", &["n1"]), Ok((false, ""))).await;
    // What fields cannot say, and operators of newer clients, widen the question.
    check(fields, requirement("In", &["n1", "n2"]), Ok((false, ignored(fields).as_str()))).await;
    check(fields, requirement("Exists", &[]), Ok((false, ignored(fields).as_str()))).await;
    for field in [fields, labels] {
        check(field, requirement("Above", &["1"]), Ok((false, ignored(field).as_str()))).await;
        check(field, requirement("", &[]), Ok((false, ignored(field).as_str()))).await;
    }
    let mut beside = requirement("In", &["n1"]);
    let odd = json!({"key": "a", "operator": "Above", "values": ["1"]});
    beside["requirements"].as_array_mut().unwrap().push(odd);
    let partially = "spec.resourceAttributes.fieldSelector partially ignored due to parse error";
    check(fields, beside, Ok((true, partially))).await;
    for field in [fields, labels] {
        check(field, both.clone(), Err("may not specified at the same time as requirements")).await;
        check(
            field,
            requirement("In", &[]),
            Err("must be specified when `operator` is 'In' or 'NotIn'"),
        )
        .await;
        check(
            field,
            requirement("Exists", &["a"]),
            Err("may not be specified when `operator` is 'Exists'"),
        )
        .await;
        let nameless = json!({"requirements": [{"key": "", "operator": "Exists"}]});
        check(field, nameless, Err("requirements[0].key")).await;
    }
}

#[tokio::test]
async fn several_mistakes_are_all_told_in_order() {
    let server = Server::new();
    const LOCAL: &str =
        "/apis/authorization.svc.io/v1/namespaces/default/localsubjectaccessreviews";
    let check = async |path: &str, body: Value, expect: &[&str]| {
        let answer = server.send(Method::POST, path, &[], body.to_string()).await;
        assert_eq!(answer.status, 422, "{path} {body}: {}", answer.text());
        let answer = answer.json();
        let causes = answer["details"]["causes"].as_array().unwrap();
        let fields: Vec<_> = causes.iter().map(|cause| cause["field"].as_str().unwrap()).collect();
        assert_eq!(fields, expect, "{path} {body}");
    };
    let selector = json!({"rawSelector": "a=b", "requirements": [{"key": "", "operator": "In"}]});
    let on = json!({"namespace": "other", "fieldSelector": selector, "labelSelector": selector});
    let spec = json!({"resourceAttributes": on, "nonResourceAttributes": {"path": "/"}});
    let body = json!({"metadata": {"name": "a"}, "spec": spec});
    let selectors = [
        "spec.resourceAttributes.fieldSelector.rawSelector",
        "spec.resourceAttributes.fieldSelector.requirements[0].key",
        "spec.resourceAttributes.fieldSelector.requirements[0].values",
        "spec.resourceAttributes.labelSelector.rawSelector",
        "spec.resourceAttributes.labelSelector.requirements[0].values",
        "spec.resourceAttributes.labelSelector.requirements[0].key",
        "spec.resourceAttributes.labelSelector.requirements[0].key",
    ];
    let [both, user] = ["spec.nonResourceAttributes", "spec.user"];
    let all = |before: &[&'static str], after: &[&'static str]| {
        [before, &selectors, &["metadata"], after].concat()
    };
    check(SELF_ACCESS, body.clone(), &all(&[both], &[])).await;
    check(ACCESS, body.clone(), &all(&[both, user], &[])).await;
    let of_namespace = "spec.resourceAttributes.namespace";
    check(LOCAL, body, &all(&[both, user], &[of_namespace, both])).await;
    let nothing = json!({"metadata": {"labels": {"a": "b"}}});
    check(ACCESS, nothing, &["spec.resourceAttributes", user, "metadata"]).await;
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
