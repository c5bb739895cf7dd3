//! Evictions over HTTP: what PodDisruptionBudgets allow, what becomes of the pod, and which
//! requests are refused.

use futures::future::join_all;
use http::Method;
use quorate_access::authentication::User;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const PODS: &str = "/api/v1/namespaces/a/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/a/poddisruptionbudgets";
const RBAC: &str = "/apis/rbac.authorization.svc.io/v1/namespaces/a";
const MERGE: [(&str, &str); 1] = [("content-type", "application/merge-patch+json")];
const NOW: &str = "2030-01-01T00:00:00Z";
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

async fn make(server: &Server, path: &str, body: Value) {
    let made = server.send(Method::POST, path, &[], body.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
}

async fn say(server: &Server, path: &str, status: Value) {
    let path = format!("{path}/status");
    let said =
        server.send(Method::PATCH, &path, &MERGE, json!({ "status": status }).to_string()).await;
    assert_eq!(said.status, 200, "{}", said.text());
}

/// Makes a pod on a node, or on none yet; without a phase it stays as pods begin.
async fn pod(server: &Server, name: &str, node: &str, phase: &str, ready: bool) {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    if !node.is_empty() {
        spec["nodeName"] = json!(node);
    }
    make(server, PODS, json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec}))
        .await;
    if !phase.is_empty() {
        let condition = json!({"type": "Ready", "status": if ready { "True" } else { "False" }});
        say(server, &format!("{PODS}/{name}"), json!({"phase": phase, "conditions": [condition]}))
            .await;
    }
}

/// Makes a budget of which it is known how many pods may go.
async fn budget(
    server: &Server,
    name: &str,
    spec: Value,
    allowed: i64,
    healthy: i64,
    desired: i64,
) {
    make(server, BUDGETS, json!({"metadata": {"name": name}, "spec": spec})).await;
    let status = json!({"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": healthy,
        "desiredHealthy": desired, "expectedPods": healthy});
    say(server, &format!("{BUDGETS}/{name}"), status).await;
}

fn web() -> Value {
    json!({"selector": {"matchLabels": {"app": "web"}}})
}

fn eviction(name: &str, options: Value) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options})
}

async fn evict(server: &Server, name: &str, query: &str, options: Value) -> Answer {
    let path = format!("{PODS}/{name}/eviction{query}");
    server.send(Method::POST, &path, &[], eviction(name, options).to_string()).await
}

async fn evicted(server: &Server, name: &str, options: Value) {
    let answer = evict(server, name, "", options).await;
    let expect = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success", "code": 201});
    assert_eq!((answer.status.as_u16(), answer.json()), (201, expect));
}

/// An eviction that the budget refuses for now: the cause, and how long to wait.
async fn refused(server: &Server, name: &str) -> (String, String) {
    let answer = evict(server, name, "", json!({})).await;
    let body = answer.json();
    assert_eq!((answer.status.as_u16(), body["message"].as_str()), (429, Some(VIOLATES)), "{body}");
    let [cause] = body["details"]["causes"].as_array().unwrap().as_slice() else {
        panic!("{body}")
    };
    assert_eq!(cause["reason"], "DisruptionBudget");
    (cause["message"].as_str().unwrap().to_owned(), answer.header("retry-after").to_owned())
}

async fn exists(server: &Server, name: &str) -> bool {
    server.get(&format!("{PODS}/{name}")).await.status == 200
}

#[tokio::test]
async fn drainers_of_old_say_a_former_version() {
    let server = Server::for_pods().await;
    for (version, code) in [("v1beta1", 201), ("v1alpha1", 400)] {
        pod(&server, version, "", "", false).await;
        let mut body = eviction(version, json!({}));
        body["apiVersion"] = json!(format!("policy/{version}"));
        let path = format!("{PODS}/{version}/eviction");
        let answer = server.send(Method::POST, &path, &[], body.to_string()).await;
        assert_eq!(answer.status, code, "{}", answer.text());
    }
}

#[tokio::test]
async fn what_is_recorded_of_a_pod_without_a_budget() {
    let server = Server::for_pods().await;
    pod(&server, "p", "", "", false).await;
    let before = server.get(&format!("{PODS}/p")).await.version();
    assert_eq!(evict(&server, "p", "?dryRun=All", json!({})).await.status, 201);
    assert_eq!(evict(&server, "p", "", json!({"dryRun": ["All"]})).await.status, 201);
    assert_eq!(server.get(&format!("{PODS}/p")).await.version(), before, "dry runs write nothing");

    let path = format!("{PODS}/p/eviction");
    let other = server
        .send(Method::POST, &path, &[], eviction("other", json!({})).to_string())
        .await
        .json();
    let message = "name in URL does not match name in Eviction object";
    assert_eq!((&other["code"], &other["message"]), (&json!(400), &json!(message)));
    let none = evict(&server, "none", "", json!({})).await.json();
    assert_eq!(
        (&none["code"], &none["details"]),
        (&json!(404), &json!({"kind": "pods", "name": "none"}))
    );
    for query in ["", "?dryRun=All"] {
        let other =
            evict(&server, "p", query, json!({"preconditions": {"uid": "other"}})).await.json();
        assert_eq!(
            (&other["code"], &other["details"]),
            (&json!(409), &json!({"kind": "Pod", "name": "p"}))
        );
        let message = other["message"].as_str().unwrap();
        assert!(
            message
                .contains("the UID in the precondition (other) does not match the UID in record ("),
            "{message}"
        );
    }
    assert_eq!(
        server.get(&format!("{PODS}/p")).await.version(),
        before,
        "a pod that is not meant is not marked"
    );
    evicted(&server, "p", json!({"gracePeriodSeconds": 0})).await;
    assert!(!exists(&server, "p").await);
}

#[tokio::test]
async fn a_running_pod_says_why_it_goes() {
    let server = Server::for_pods().await;
    let path = format!("{PODS}/p");
    pod(&server, "p", "n", "Running", true).await;
    evicted(&server, "p", json!({"gracePeriodSeconds": 7})).await;
    let pod = server.get(&path).await.json();
    let metadata = &pod["metadata"];
    assert_eq!(
        (&metadata["deletionGracePeriodSeconds"], metadata["deletionTimestamp"].is_string()),
        (&json!(7), true)
    );
    let expect = json!({"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": NOW});
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    assert_eq!(
        (conditions.len(), &conditions[0]["type"], &conditions[1]),
        (2, &json!("Ready"), &expect)
    );
    // No budget counts a pod that is being deleted.
    budget(&server, "b", web(), 0, 1, 1).await;
    evicted(&server, "p", json!({})).await;
    assert_eq!(server.get(&path).await.json()["metadata"]["deletionGracePeriodSeconds"], 7);
    evicted(&server, "p", json!({"gracePeriodSeconds": 0})).await;
    assert!(!exists(&server, "p").await);
}

#[tokio::test]
async fn a_version_that_is_meant_holds_until_the_end() {
    let server = Server::for_pods().await;
    for (name, phase) in [("p", ""), ("q", "Running")] {
        pod(&server, name, "", phase, true).await;
        let meant = |version: &str| json!({"preconditions": {"resourceVersion": version}});
        let old = evict(&server, name, "", meant("1")).await;
        assert_eq!((old.status.as_u16(), &old.json()["details"]["kind"]), (409, &json!("Pod")));
        let version = server.get(&format!("{PODS}/{name}")).await.version();
        evicted(&server, name, meant(&version)).await;
        assert!(!exists(&server, name).await);
    }
}

#[tokio::test]
async fn a_budget_counts_whom_it_lets_go() {
    let server = Server::for_pods().await;
    for name in ["p", "q"] {
        pod(&server, name, "", "Running", true).await;
    }
    let path = format!("{BUDGETS}/b");
    make(&server, BUDGETS, json!({"metadata": {"name": "b"}, "spec": web()})).await;
    let unknown = "The disruption budget b is still being processed by the server.";
    assert_eq!(refused(&server, "p").await, (unknown.to_owned(), "10".to_owned()));
    let counted = json!({"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1});
    say(&server, &path, counted).await;

    let before = server.get(&path).await.version();
    assert_eq!(evict(&server, "p", "?dryRun=All", json!({})).await.status, 201);
    let other = json!({"preconditions": {"uid": "other"}});
    assert_eq!(evict(&server, "p", "", other).await.status, 409);
    assert_eq!(server.get(&path).await.version(), before, "no leave is taken for nothing");
    assert!(exists(&server, "p").await);

    evicted(&server, "p", json!({})).await;
    assert!(!exists(&server, "p").await);
    let status = server.get(&path).await.json()["status"].clone();
    assert_eq!(
        (&status["disruptionsAllowed"], &status["disruptedPods"]),
        (&json!(0), &json!({"p": NOW}))
    );
    let condition = json!({"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
        "observedGeneration": 1, "lastTransitionTime": NOW});
    assert_eq!(status["conditions"], json!([condition]));
    let none = "The disruption budget b does not allow evicting pods currently";
    assert_eq!(refused(&server, "q").await, (none.to_owned(), String::new()));
    say(&server, &path, json!({"currentHealthy": 1})).await;
    let none = "The disruption budget b needs 1 healthy pods and has 1 currently";
    assert_eq!(refused(&server, "q").await, (none.to_owned(), String::new()));
    assert!(exists(&server, "q").await);

    say(&server, &path, json!({"disruptionsAllowed": 5})).await;
    let spec = json!({"spec": {"minAvailable": 1}});
    assert_eq!(server.send(Method::PATCH, &path, &MERGE, spec.to_string()).await.status, 200);
    assert_eq!(refused(&server, "q").await, (unknown.to_owned(), "10".to_owned()));
}

#[tokio::test]
async fn whom_a_budget_protects() {
    let server = Server::for_pods().await;
    pod(&server, "p", "", "Running", true).await;
    let check = async |spec: Value, expect: u16| {
        budget(&server, "b", spec, 0, 1, 1).await;
        assert_eq!(evict(&server, "p", "?dryRun=All", json!({})).await.status, expect);
        assert_eq!(server.send(Method::DELETE, &format!("{BUDGETS}/b"), &[], "").await.status, 200);
    };
    check(json!({}), 201).await;
    check(json!({"selector": {}}), 429).await;
    check(json!({"selector": {"matchLabels": {"app": "web"}}}), 429).await;
    check(json!({"selector": {"matchLabels": {"app": "other"}}}), 201).await;
    // Only pods of its own namespace.
    server.namespace("b").await;
    server.default_account("b").await;
    let elsewhere = BUDGETS.replace("/a/", "/b/");
    make(&server, &elsewhere, json!({"metadata": {"name": "b"}, "spec": {"selector": {}}})).await;
    assert_eq!(evict(&server, "p", "?dryRun=All", json!({})).await.status, 201);
}

#[tokio::test]
async fn pods_that_do_nothing_go_freely() {
    let server = Server::for_pods().await;
    budget(&server, "b", web(), 0, 1, 1).await;
    for phase in ["", "Succeeded", "Failed"] {
        pod(&server, "p", "n", phase, false).await;
        evicted(&server, "p", json!({"gracePeriodSeconds": 0})).await;
        assert!(!exists(&server, "p").await, "{phase}");
    }
}

#[tokio::test]
async fn pods_that_are_not_ready() {
    let server = Server::for_pods().await;
    let check = async |policy: Value, healthy: i64, desired: i64, expect: u16| {
        pod(&server, "p", "", "Running", false).await;
        let mut spec = web();
        spec["unhealthyPodEvictionPolicy"] = policy;
        budget(&server, "b", spec, 0, healthy, desired).await;
        assert_eq!(evict(&server, "p", "", json!({})).await.status, expect);
        assert_eq!(exists(&server, "p").await, expect != 201);
        let status = server.get(&format!("{BUDGETS}/b")).await.json()["status"].clone();
        assert_eq!(status["disruptedPods"], Value::Null, "no leave is needed");
        for path in [format!("{BUDGETS}/b"), format!("{PODS}/p")] {
            server.send(Method::DELETE, &path, &[], "").await;
        }
    };
    check(json!("AlwaysAllow"), 0, 2, 201).await;
    for policy in [Value::Null, json!("IfHealthyBudget")] {
        check(policy.clone(), 2, 2, 201).await;
        check(policy.clone(), 1, 2, 429).await;
        check(policy, 0, 0, 429).await;
    }
}

#[tokio::test]
async fn budgets_that_cannot_be_asked() {
    let server = Server::for_pods().await;
    pod(&server, "p", "", "Running", true).await;
    for name in ["b", "c"] {
        budget(&server, name, web(), 1, 1, 0).await;
    }
    let several = evict(&server, "p", "", json!({})).await;
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    let expect = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message,
        "code": 500});
    assert_eq!((several.status.as_u16(), several.json()), (500, expect));
    assert_eq!(server.send(Method::DELETE, &format!("{BUDGETS}/c"), &[], "").await.status, 200);
    let pods: Value = (0..=2000).map(|pod| (format!("p{pod}"), json!(NOW))).collect();
    say(&server, &format!("{BUDGETS}/b"), json!({ "disruptedPods": pods })).await;
    let full = evict(&server, "p", "", json!({})).await.json();
    let details = json!({"group": "policy", "kind": "poddisruptionbudget", "name": "b"});
    assert_eq!((&full["code"], &full["details"]), (&json!(403), &details), "{}", full["message"]);
    assert!(exists(&server, "p").await);
}

#[tokio::test]
async fn evictions_that_meet_get_no_more_leave_than_there_is() {
    let server = Server::for_pods().await;
    let names: Vec<String> = (0..6).map(|index| format!("p{index}")).collect();
    for name in &names {
        pod(&server, name, "", "Running", true).await;
    }
    budget(&server, "b", web(), 2, 6, 4).await;
    let answers = join_all(names.iter().map(|name| evict(&server, name, "", json!({})))).await;
    let codes: Vec<u16> = answers.iter().map(|answer| answer.status.as_u16()).collect();
    assert_eq!(
        (codes.iter().filter(|code| **code == 201).count(), codes.len()),
        (2, 6),
        "{codes:?}"
    );
    assert!(codes.iter().all(|code| [201, 429].contains(code)), "{codes:?}");
    assert_eq!(server.get(PODS).await.names().len(), 4);
    let status = server.get(&format!("{BUDGETS}/b")).await.json()["status"].clone();
    let gone = status["disruptedPods"].as_object().unwrap().len();
    assert_eq!((&status["disruptionsAllowed"], gone), (&json!(0), 2));
}

#[tokio::test]
async fn who_may_evict_needs_no_right_to_budgets() {
    let server = Server::for_pods().await;
    pod(&server, "p", "", "Running", true).await;
    budget(&server, "b", web(), 1, 2, 1).await;
    let joe = server.by(Some(User::new("joe", [])));
    assert_eq!(evict(&joe, "p", "", json!({})).await.status, 403);
    let rule = json!({"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]});
    make(&server, &format!("{RBAC}/roles"), json!({"metadata": {"name": "r"}, "rules": [rule]}))
        .await;
    let binding = json!({"metadata": {"name": "r"}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "joe"}]});
    make(&server, &format!("{RBAC}/rolebindings"), binding).await;
    assert_eq!(joe.send(Method::DELETE, &format!("{PODS}/p"), &[], "").await.status, 403);
    evicted(&joe, "p", json!({})).await;
    assert!(!exists(&server, "p").await);
}

#[tokio::test]
async fn bodies_and_forms() {
    let server = Server::for_pods().await;
    pod(&server, "p", "", "", false).await;
    let path = format!("{PODS}/p/eviction");
    let check = async |change: &dyn Fn(&mut Value), expect: u16| {
        let mut body = eviction("p", json!({}));
        change(&mut body);
        let answer = server.send(Method::POST, &path, &[], body.to_string()).await;
        assert_eq!(answer.status, expect, "{}", answer.text());
        assert!(exists(&server, "p").await);
    };
    check(&|body| body["kind"] = json!("Pod"), 400).await;
    check(&|body| body["metadata"]["namespace"] = json!("b"), 400).await;
    check(&|body| body["metadata"]["name"] = json!(""), 400).await;
    check(&|body| body["deleteOptions"]["dryRun"] = json!(["Some"]), 422).await;
    check(&|body| body["deleteOptions"]["propagationPolicy"] = json!("Sometimes"), 422).await;
    let ignore = "ignoreStoreReadErrorWithClusterBreakingPotential";
    check(&|body| body["deleteOptions"][ignore] = json!(true), 422).await;
    assert_eq!(server.get(&path).await.status, 405);
    let listed = server.get("/api/v1").await.json();
    let entry = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == "pods/eviction")
        .cloned();
    let expect = json!({"name": "pods/eviction", "singularName": "", "namespaced": true, "group": "policy", "version": "v1",
        "kind": "Eviction", "verbs": ["create"]});
    assert_eq!(entry, Some(expect));
    let headers = [("accept", "application/json;as=Table;g=meta.svc.io;v=v1,application/json")];
    let body = json!({"metadata": {"name": "p"}, "deleteOptions": {"apiVersion": "v1", "kind": "DeleteOptions"}});
    let answer = server.send(Method::POST, &path, &headers, body.to_string()).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["kind"]), (201, &json!("Status")));
    assert!(!exists(&server, "p").await);
}
