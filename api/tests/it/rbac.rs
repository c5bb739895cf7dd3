//! RBAC over HTTP: roles and bindings, and the requests that they allow.

use http::{Method, StatusCode};
use quorate_access::authentication::User;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const RBAC: &str = "/apis/rbac.authorization.svc.io/v1";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const RIGHTS: &str = "/apis/authorization.svc.io/v1/selfsubjectrulesreviews";

fn role(name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn binding(name: &str, role: &str, subjects: Value) -> Value {
    let (kind, role) = role.split_once('/').unwrap();
    json!({"metadata": {"name": name}, "roleRef": {"kind": kind, "name": role}, "subjects": subjects})
}

fn maps(verbs: &[&str]) -> Value {
    json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}])
}

fn user(name: &str) -> Value {
    json!([{"kind": "User", "name": name}])
}

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    server.send(Method::POST, path, &[], body.to_string()).await
}

/// Creates an object that must be accepted.
async fn make(server: &Server, path: &str, body: Value) {
    let answer = post(server, path, body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn joe(server: &Server) -> Server {
    server.by(Some(User::new("joe", [])))
}

async fn let_joe_list_his_rights(server: &Server) {
    let rule = json!({"apiGroups": ["authorization.svc.io"], "resources": ["selfsubjectrulesreviews"], "verbs": ["create"]});
    make(server, &format!("{RBAC}/clusterroles"), role("asks", json!([rule]))).await;
    make(
        server,
        &format!("{RBAC}/clusterrolebindings"),
        binding("asks", "ClusterRole/asks", user("joe")),
    )
    .await;
}

#[tokio::test]
async fn a_binding_is_in_force_when_it_is_acknowledged() {
    let server = Server::with_namespace().await;
    let joe = joe(&server);
    assert_eq!(joe.get(MAPS).await.status, 403);
    for turn in 0..20 {
        let (role_name, name) = (format!("r{turn}"), format!("b{turn}"));
        let roles = format!("{RBAC}/namespaces/a/roles");
        let bindings = format!("{RBAC}/namespaces/a/rolebindings");
        make(&server, &roles, role(&role_name, maps(&["list"]))).await;
        make(&server, &bindings, binding(&name, &format!("Role/{role_name}"), user("joe"))).await;
        assert_eq!(joe.get(MAPS).await.status, 200, "{turn}");
        assert_eq!(joe.get("/api/v1/namespaces/b/configmaps").await.status, 403);
        let gone = server.send(Method::DELETE, &format!("{bindings}/{name}"), &[], "").await;
        assert_eq!(gone.status, 200);
        assert_eq!(joe.get(MAPS).await.status, 403, "{turn}");
    }
}

#[tokio::test]
async fn a_refusal_tells_what_is_wrong_with_bindings() {
    let server = Server::with_namespace().await;
    let joe = joe(&server);
    let bindings = format!("{RBAC}/namespaces/a/rolebindings");
    make(&server, &bindings, binding("b", "Role/later", user("joe"))).await;
    let missing = "RBAC: role.rbac.authorization.svc.io \\\"later\\\" not found";
    let answer = joe.get(MAPS).await;
    assert!(answer.status == 403 && answer.text().contains(missing), "{}", answer.text());
    let subject = json!([{"kind": "User", "name": "joe", "namespace": "a"}]);
    make(&server, &bindings, binding("wrong", "Role/later", subject)).await;
    let answer = joe.get(MAPS).await;
    assert!(answer.text().contains("must not have a namespace"), "{}", answer.text());
    let review = async || {
        let on = json!({"verb": "list", "resource": "configmaps", "namespace": "a"});
        let spec = json!({"user": "joe", "resourceAttributes": on});
        let path = "/apis/authorization.svc.io/v1/subjectaccessreviews";
        post(&server, path, json!({"spec": spec})).await.json()["status"].clone()
    };
    let status = review().await;
    let error = status["evaluationError"].as_str().unwrap_or_default();
    assert!(error.contains(r#"role.rbac.authorization.svc.io "later" not found, "#), "{status}");
    assert!(error.ends_with("must not have a namespace"), "{status}");
    assert_eq!((&status["allowed"], &status["denied"]), (&json!(false), &json!(null)));
    assert_eq!(status["reason"], format!("RBAC: [{error}]"));
    make(&server, &format!("{RBAC}/namespaces/a/roles"), role("later", maps(&["list"]))).await;
    assert_eq!(joe.get(MAPS).await.status, 200);
    assert_eq!(
        review().await["evaluationError"],
        json!(null),
        "the search ends with what allows it"
    );
}

#[tokio::test]
async fn defaults_are_there_for_everybody() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    let joe = joe(&server);
    assert_eq!(joe.get("/version").await.status, 200);
    assert_eq!(joe.get("/apis").await.status, 200);
    assert_eq!(joe.get("/metrics").await.status, 403);
    assert_eq!(joe.get(MAPS).await.status, 403);
    let bindings = format!("{RBAC}/namespaces/a/rolebindings");
    make(&server, &bindings, binding("b", "ClusterRole/view", user("joe"))).await;
    // The rules of `view` are gathered from another role in the background.
    while joe.get(MAPS).await.status != 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(joe.get("/api/v1/namespaces/a/secrets").await.status, 403);
}

#[tokio::test]
async fn defaults_are_mended_in_one_transaction() {
    let server = Server::new();
    server.defaults().await.stop();
    let roles = format!("{RBAC}/clusterroles");
    let mut versions = std::collections::BTreeSet::new();
    for plural in ["clusterroles", "clusterrolebindings", "roles", "rolebindings"] {
        let all = server.get(&format!("{RBAC}/{plural}")).await.json();
        let made = all["items"].as_array().unwrap();
        assert!(!made.is_empty(), "{plural}");
        let own = made.iter().filter(|made| made["aggregationRule"].is_null());
        versions.extend(own.map(|made| made["metadata"]["resourceVersion"].to_string()));
    }
    assert_eq!(versions.len(), 1, "one transaction: {versions:?}");
    let path = format!("{roles}/system:basic-user");
    let mine = json!({"apiVersion": "rbac.authorization.svc.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:basic-user"}, "rules": maps(&["get"])});
    let written = server.send(Method::PUT, &path, &[], mine.to_string()).await;
    assert_eq!(written.status, 200, "{}", written.text());
    let gone = server.send(Method::DELETE, &format!("{roles}/system:discovery"), &[], "").await;
    assert_eq!(gone.status, 200);
    let _controllers = server.defaults().await;
    while server.get(&format!("{roles}/system:discovery")).await.status == StatusCode::NOT_FOUND {
        tokio::task::yield_now().await;
    }
    let mended = server.get(&path).await;
    let rules = mended.json()["rules"].to_string();
    assert!(rules.contains("configmaps") && rules.contains("selfsubjectrulesreviews"), "{rules}");
    let restored = server.get(&format!("{roles}/system:discovery")).await;
    assert_eq!(mended.version(), restored.version(), "one transaction");
}

#[tokio::test]
async fn somebody_elses_rights_can_be_asked_for() {
    let server = Server::with_namespace().await;
    make(&server, &format!("{RBAC}/namespaces/a/roles"), role("r", maps(&["get"]))).await;
    make(
        &server,
        &format!("{RBAC}/namespaces/a/rolebindings"),
        binding("b", "Role/r", user("joe")),
    )
    .await;
    let check = async |path: &str, spec: Value, expect: Value| {
        let answer = post(&server, path, json!({"spec": spec})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        assert_eq!(answer.json()["status"], expect, "{spec}");
    };
    let any = "/apis/authorization.svc.io/v1/subjectaccessreviews";
    let local = "/apis/authorization.svc.io/v1/namespaces/a/localsubjectaccessreviews";
    let on =
        |namespace: &str| json!({"verb": "get", "resource": "configmaps", "namespace": namespace});
    let yes = json!({"allowed": true, "reason": "RBAC: allowed by RoleBinding \"b/a\" of Role \"r\" to User \"joe\""});
    let no = json!({"allowed": false});
    check(any, json!({"user": "joe", "resourceAttributes": on("a")}), yes.clone()).await;
    check(any, json!({"user": "joe", "resourceAttributes": on("")}), no.clone()).await;
    check(any, json!({"user": "ann", "resourceAttributes": on("a")}), no).await;
    check(local, json!({"user": "joe", "resourceAttributes": on("a")}), yes.clone()).await;
    check(local, json!({"user": "joe", "resourceAttributes": on("")}), yes).await;
    let answer =
        post(&server, local, json!({"spec": {"user": "joe", "resourceAttributes": on("b")}})).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
}

#[tokio::test]
async fn ones_own_rights_can_be_listed() {
    let server = Server::with_namespace().await;
    make(&server, &format!("{RBAC}/namespaces/a/roles"), role("r", maps(&["get"]))).await;
    make(
        &server,
        &format!("{RBAC}/namespaces/a/rolebindings"),
        binding("b", "Role/r", user("joe")),
    )
    .await;
    make(
        &server,
        &format!("{RBAC}/namespaces/a/rolebindings"),
        binding("c", "Role/gone", user("joe")),
    )
    .await;
    let_joe_list_his_rights(&server).await;
    let answer = post(&joe(&server), RIGHTS, json!({"spec": {"namespace": "a"}})).await;
    let status = answer.json()["status"].clone();
    assert_eq!(status["resourceRules"].as_array().unwrap().len(), 2, "{status}");
    assert!(status["evaluationError"].as_str().unwrap().contains("\"gone\" not found"), "{status}");
    assert_eq!(status["incomplete"], false, "a role that is missing grants nothing");
    let answer = post(&server, RIGHTS, json!({"spec": {"namespace": "a"}})).await;
    let all = json!(["*"]);
    assert_eq!(
        answer.json()["status"]["resourceRules"],
        json!([{"verbs": all, "apiGroups": all, "resources": all}])
    );
    assert_eq!(post(&server, RIGHTS, json!({"spec": {}})).await.status, 400);
}

#[tokio::test]
async fn paths_are_listed_where_they_are_granted() {
    let server = Server::with_namespace().await;
    let_joe_list_his_rights(&server).await;
    let paths = json!({"verbs": ["get"], "nonResourceURLs": ["/version"]});
    let rules = json!([paths, {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    make(&server, &format!("{RBAC}/clusterroles"), role("r", rules)).await;
    let joe = joe(&server);
    let check = async |expect: Value, resources: usize, code: u16| {
        let answer = post(&joe, RIGHTS, json!({"spec": {"namespace": "a"}})).await;
        let status = answer.json()["status"].clone();
        assert_eq!(status["nonResourceRules"], expect, "{status}");
        assert_eq!(status["resourceRules"].as_array().unwrap().len(), resources, "{status}");
        assert_eq!(joe.get("/version").await.status, code);
    };
    let bound = binding("b", "ClusterRole/r", user("joe"));
    make(&server, &format!("{RBAC}/namespaces/a/rolebindings"), bound.clone()).await;
    check(json!([]), 2, 403).await;
    make(&server, &format!("{RBAC}/clusterrolebindings"), bound).await;
    check(json!([paths]), 3, 200).await;
}

#[tokio::test]
async fn a_review_means_a_group_by_the_names_that_requests_mean_it_by() {
    let server = Server::with_namespace().await;
    let leases =
        json!([{"apiGroups": ["coordination.svc.io"], "resources": ["leases"], "verbs": ["list"]}]);
    make(&server, &format!("{RBAC}/namespaces/a/roles"), role("r", leases)).await;
    make(
        &server,
        &format!("{RBAC}/namespaces/a/rolebindings"),
        binding("b", "Role/r", user("joe")),
    )
    .await;
    for (group, expect) in [
        ("coordination.svc.io", true),
        ("coordination.k8s.io", true),
        ("coordination", false),
        ("*", false),
    ] {
        let on = json!({"verb": "list", "group": group, "resource": "leases", "namespace": "a"});
        let spec = json!({"user": "joe", "resourceAttributes": on});
        let path = "/apis/authorization.svc.io/v1/subjectaccessreviews";
        let answer = post(&server, path, json!({"spec": spec})).await.json();
        assert_eq!(answer["status"]["allowed"], expect, "{answer}");
        assert_eq!(answer["spec"], spec, "the question stays as it was asked");
    }
    for group in ["coordination.svc.io", "coordination.k8s.io"] {
        assert_eq!(
            joe(&server).get(&format!("/apis/{group}/v1/namespaces/a/leases")).await.status,
            200,
            "{group}"
        );
    }
}

#[tokio::test]
async fn an_update_that_creates_needs_the_permission_to_create() {
    let server = Server::with_namespace().await;
    let joe = joe(&server);
    let grant = async |name: &str, verbs: &[&str]| {
        let resources = json!([{"apiGroups": ["", "coordination.svc.io"], "resources": ["leases", "limitranges"], "verbs": verbs}]);
        make(&server, &format!("{RBAC}/namespaces/a/roles"), role(name, resources)).await;
        let binding = binding(name, &format!("Role/{name}"), user("joe"));
        make(&server, &format!("{RBAC}/namespaces/a/rolebindings"), binding).await;
    };
    grant("updates", &["update"]).await;
    for (prefix, group, plural) in [
        ("/apis/coordination.svc.io/v1", "coordination.svc.io", "leases"),
        ("/api/v1", "", "limitranges"),
    ] {
        let path = format!("{prefix}/namespaces/a/{plural}/x");
        let spec = if plural == "leases" { json!({}) } else { json!({"limits": []}) };
        let put = async |by: &Server, turn: &str, version: &str, dry: &str| {
            let metadata =
                json!({"name": "x", "labels": {"turn": turn}, "resourceVersion": version});
            let body = json!({"metadata": metadata, "spec": spec}).to_string();
            by.send(Method::PUT, &format!("{path}{dry}"), &[], body).await
        };
        for dry in ["", "?dryRun=All"] {
            let refused = put(&joe, "1", "", dry).await;
            let why = format!(
                r#"{plural}{}{group} "x" is forbidden: User "joe" cannot create resource "{plural}" in API group "{group}" in the namespace "a""#,
                if group.is_empty() { "" } else { "." }
            );
            assert_eq!(
                (refused.status.as_u16(), refused.json()["message"].as_str()),
                (403, Some(why.as_str()))
            );
        }
        assert_eq!(server.get(&path).await.status, 404, "{path}");
        let created = put(&server, "1", "", "").await;
        assert_eq!(created.status, 201);
        let updated = put(&joe, "2", &created.version(), "").await;
        assert_eq!(
            updated.status,
            200,
            "what is there needs no more than update: {}",
            updated.text()
        );
        assert_eq!(server.get(&path).await.json()["metadata"]["labels"]["turn"], "2");
        assert_eq!(server.send(Method::DELETE, &path, &[], "").await.status, 200);
    }
    grant("creates", &["create"]).await;
    let lease = "/apis/coordination.svc.io/v1/namespaces/a/leases/y";
    let body = json!({"metadata": {"name": "y"}, "spec": {}}).to_string();
    assert_eq!(joe.send(Method::PUT, lease, &[], body).await.status, 201);
}

#[tokio::test]
async fn a_role_that_gives_more_than_can_be_checked_is_refused() {
    let server = Server::with_namespace().await;
    let (roles, bindings) =
        (format!("{RBAC}/namespaces/a/roles"), format!("{RBAC}/namespaces/a/rolebindings"));
    let kinds = ["roles", "rolebindings"];
    let own = json!([{"apiGroups": ["rbac.authorization.svc.io"], "resources": kinds, "verbs": ["create"]}]);
    make(&server, &roles, role("writes", own.clone())).await;
    make(&server, &bindings, binding("writes", "Role/writes", user("joe"))).await;
    // 25 kB, and eight thousand million grants.
    let many: Vec<String> = (0..2000).map(|number| format!("t{number}")).collect();
    let hostile = json!([{"apiGroups": many, "resources": many, "verbs": many}]);
    make(&server, &roles, role("hostile", hostile.clone())).await;
    let joe = joe(&server);
    make(&joe, &roles, role("own", own)).await;
    for (path, body) in [
        (&roles, role("other", hostile)),
        (&bindings, binding("other", "Role/hostile", user("joe"))),
    ] {
        let refused = post(&joe, path, body).await;
        assert_eq!(refused.status, 403);
        let message = refused.text();
        assert!(message.contains("more RBAC permissions than can be checked"), "{message}");
    }
}
