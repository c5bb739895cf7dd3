//! LimitRanges over HTTP: the defaults that they give to new pods, and the pods that they keep out
//! of a namespace.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const PODS: &str = "/api/v1/namespaces/a/pods";
const CLAIMS: &str = "/api/v1/namespaces/a/persistentvolumeclaims";

async fn post(server: &Server, path: &str, body: Value) -> Answer {
    server.send(Method::POST, path, &[], body.to_string()).await
}

async fn merge(server: &Server, path: &str, patch: Value) -> Answer {
    let headers = [("content-type", "application/merge-patch+json")];
    server.send(Method::PATCH, path, &headers, patch.to_string()).await
}

async fn range(server: &Server, name: &str, limits: Value) {
    let range = json!({"metadata": {"name": name}, "spec": {"limits": limits}});
    let made = post(server, "/api/v1/namespaces/a/limitranges", range).await;
    assert_eq!(made.status, 201, "{}", made.text());
}

fn pod(name: &str, resources: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}})
}

fn claim(name: &str, size: &str) -> Value {
    let spec =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}});
    json!({"metadata": {"name": name}, "spec": spec})
}

#[track_caller]
fn assert_refused(answer: &Answer, kind: &str, name: &str, why: &str) {
    let message = format!("{kind} \"{name}\" is forbidden: {why}");
    let status = json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "message": message,
        "reason": "Forbidden", "details": {"kind": kind, "name": name}, "code": 403});
    assert_eq!((answer.status.as_u16(), answer.json()), (403, status));
}

/// The range of the recorded scenario.
fn recorded() -> Value {
    json!([{"type": "Container", "default": {"cpu": "200m", "memory": "64Mi"}, "defaultRequest": {"cpu": "100m"},
        "max": {"cpu": "1"}, "min": {"cpu": "50m"}}])
}

#[tokio::test]
async fn a_new_pod_gets_what_it_does_not_say() {
    let server = Server::for_pods().await;
    range(&server, "a", recorded()).await;
    let made = async |resources: Value| {
        let made = post(&server, &format!("{PODS}?dryRun=All"), pod("p", resources)).await;
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()
    };
    let given = |pod: &Value| pod["spec"]["containers"][0]["resources"].clone();
    let told = |pod: &Value| pod["metadata"]["annotations"]["svc.io/limit-ranger"].clone();
    let all = made(json!({})).await;
    let expect = json!({"limits": {"cpu": "200m", "memory": "64Mi"}, "requests": {"cpu": "100m", "memory": "64Mi"}});
    assert_eq!(given(&all), expect);
    let text = "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c";
    assert_eq!(told(&all), text);
    assert_eq!(all["status"]["qosClass"], "Burstable");
    let owners = all["metadata"]["managedFields"].to_string();
    assert!(
        !owners.contains("f:limits") && !owners.contains("limit-ranger"),
        "nobody has set them: {owners}"
    );
    let some = made(json!({"limits": {"cpu": "300m"}})).await;
    let expect = json!({"limits": {"cpu": "300m", "memory": "64Mi"}, "requests": {"cpu": "300m", "memory": "64Mi"}});
    assert_eq!(given(&some), expect);
    assert_eq!(
        told(&some),
        "LimitRanger plugin set: memory request for container c; memory limit for container c"
    );
    assert_eq!(told(&made(expect).await), Value::Null);
}

#[tokio::test]
async fn pods_out_of_bounds_are_refused() {
    let server = Server::for_pods().await;
    range(&server, "a", recorded()).await;
    let check = async |name: &str, resources: Value, why: &str| {
        assert_refused(&post(&server, PODS, pod(name, resources)).await, "pods", name, why);
    };
    let cpu = |request: &str, limit: &str| json!({"requests": {"cpu": request}, "limits": {"cpu": limit}});
    check(
        "c",
        json!({"limits": {"cpu": "2"}}),
        "maximum cpu usage per Container is 1, but limit is 2",
    )
    .await;
    check(
        "c",
        json!({"requests": {"cpu": "10m"}}),
        "minimum cpu usage per Container is 50m, but request is 10m",
    )
    .await;
    let both = "[minimum cpu usage per Container is 50m, but request is 10m, \
                maximum cpu usage per Container is 1, but limit is 2]";
    check("c", cpu("10m", "2"), both).await;
    let ratio = json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}});
    let bounds = json!([ratio, {"type": "Pod", "max": {"memory": "1Gi"}}]);
    range(&server, "b", bounds).await;
    let ratio = "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000";
    check("d", cpu("100m", "400m"), ratio).await;
    let memory = json!({"requests": {"cpu": "100m"}, "limits": {"memory": "2Gi"}});
    check("d", memory, "maximum memory usage per Pod is 1Gi, but limit is 2Gi").await;
    // The range that comes first by its name is told of.
    check("e", cpu("100m", "4"), "maximum cpu usage per Container is 1, but limit is 4").await;
    assert_eq!(server.get(PODS).await.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_range_is_for_pods_that_come_after_it() {
    let server = Server::for_pods().await;
    assert_eq!(post(&server, PODS, pod("p", json!({"limits": {"cpu": "2"}}))).await.status, 201);
    range(&server, "a", recorded()).await;
    let labelled =
        merge(&server, &format!("{PODS}/p"), json!({"metadata": {"labels": {"l": "1"}}})).await;
    assert_eq!(labelled.status, 200, "{}", labelled.text());
    assert_eq!(
        labelled.json()["spec"]["containers"][0]["resources"]["limits"],
        json!({"cpu": "2"})
    );
    server.namespace("b").await;
    server.default_account("b").await;
    let elsewhere =
        post(&server, "/api/v1/namespaces/b/persistentvolumeclaims", claim("c", "1Mi")).await;
    assert_eq!(elsewhere.status, 201, "{}", elsewhere.text());
}

#[tokio::test]
async fn claims_are_bounded_whenever_they_are_written() {
    let server = Server::for_pods().await;
    assert_eq!(post(&server, CLAIMS, claim("old", "3Gi")).await.status, 201);
    let bounds = json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}]);
    range(&server, "a", bounds).await;
    let check = async |name: &str, size: &str, why: &str| {
        assert_refused(
            &post(&server, CLAIMS, claim(name, size)).await,
            "persistentvolumeclaims",
            name,
            why,
        );
    };
    check("c", "1Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi")
        .await;
    let above = "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi";
    check("c", "3Gi", above).await;
    assert_eq!(post(&server, CLAIMS, claim("c", "2Gi")).await.status, 201);
    let path = format!("{CLAIMS}/old");
    let labelled = merge(&server, &path, json!({"metadata": {"labels": {"l": "1"}}})).await;
    assert_refused(&labelled, "persistentvolumeclaims", "old", above);
    // Its status is not its owner's business, and it may always go.
    let bound =
        merge(&server, &format!("{path}/status"), json!({"status": {"phase": "Bound"}})).await;
    assert_eq!(bound.status, 200, "{}", bound.text());
    let begun = server.send(Method::DELETE, &path, &[], "").await;
    assert_eq!(begun.status, 200, "{}", begun.text());
    let gone = merge(&server, &path, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    assert_eq!(server.get(&path).await.status, 404);
}
