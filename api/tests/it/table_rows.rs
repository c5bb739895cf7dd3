//! Table rows with more than the cells of their columns: conditions, a further cell, an order of
//! their own.

use http::Method;
use serde_json::{Value, json};

use crate::harness::Server;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.svc.io";
const PODS: &str = "/api/v1/namespaces/a/pods";
const SCHEMAS: &str = "/apis/flowcontrol.apiserver.svc.io/v1/flowschemas";
const ADDRESSES: &str = "/apis/networking.svc.io/v1/ipaddresses";

async fn make(server: &Server, path: &str, body: Value) {
    let answer = server.send(Method::POST, path, &[], body.to_string()).await;
    assert_eq!(answer.status, 201, "{path}: {}", answer.text());
}

async fn table(server: &Server, path: &str) -> Value {
    let answer = server.get_as(path, TABLE).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

#[tokio::test]
async fn rows_of_finished_pods_say_so() {
    let server = Server::for_pods().await;
    let containers = json!([{"name": "c", "image": "i"}]);
    make(&server, PODS, json!({"metadata": {"name": "p"}, "spec": {"containers": containers}}))
        .await;
    let path = format!("{PODS}/p");
    let check = async |phase: &str, expect: Value| {
        let patch = json!({"status": {"phase": phase}}).to_string();
        let headers = [("content-type", "application/merge-patch+json")];
        let answer = server.send(Method::PATCH, &format!("{path}/status"), &headers, patch).await;
        assert_eq!(answer.status, 200, "{phase}: {}", answer.text());
        for path in [path.as_str(), PODS] {
            let table = table(&server, path).await;
            assert_eq!(table["rows"][0]["conditions"], expect, "{phase} {path}");
            assert_eq!(table["rows"][0]["cells"][0], "p");
        }
    };
    let completed = |phase: &str, message: &str| json!([{"type": "Completed", "status": "True", "reason": phase, "message": message}]);
    check("Running", json!(null)).await;
    check("Succeeded", completed("Succeeded", "The pod has completed successfully.")).await;
    // What has ended stays so; another one fails.
    let gone = server.send(Method::DELETE, &format!("{path}?gracePeriodSeconds=0"), &[], "").await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    make(&server, PODS, json!({"metadata": {"name": "p"}, "spec": {"containers": containers}}))
        .await;
    check("Failed", completed("Failed", "The pod failed.")).await;
}

#[tokio::test]
async fn rows_of_addresses_have_one_cell_more_than_columns() {
    let server = Server::new();
    let parent = json!({"resource": "services", "namespace": "n", "name": "s"});
    make(
        &server,
        ADDRESSES,
        json!({"metadata": {"name": "10.96.0.9"}, "spec": {"parentRef": parent}}),
    )
    .await;
    server.clock.advance(125_000);
    for path in [ADDRESSES, &format!("{ADDRESSES}/10.96.0.9")] {
        let table = table(&server, path).await;
        assert_eq!(table["columnDefinitions"].as_array().unwrap().len(), 2, "{path}");
        assert_eq!(
            table["rows"][0]["cells"],
            json!(["10.96.0.9", "services/n/s", "2m5s"]),
            "{path}"
        );
    }
}

#[tokio::test]
async fn rows_of_flow_schemas_come_by_precedence() {
    let server = Server::new();
    for (name, precedence, set) in
        [("a", 900, "x"), ("b", 1000, "x"), ("c", 100, "y"), ("d", 900, "x"), ("e", 20, "x")]
    {
        let level = json!({"name": "l"});
        let spec = json!({"matchingPrecedence": precedence, "priorityLevelConfiguration": level});
        make(
            &server,
            SCHEMAS,
            json!({"metadata": {"name": name, "labels": {"set": set}}, "spec": spec}),
        )
        .await;
    }
    let check = async |query: &str, expect: &[&str]| {
        let table = table(&server, &format!("{SCHEMAS}?{query}")).await;
        let rows = table["rows"].as_array().unwrap().iter();
        assert_eq!(rows.map(|row| row["cells"][0].clone()).collect::<Vec<_>>(), expect, "{query}");
        table["metadata"]["continue"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(
        server.get(SCHEMAS).await.names(),
        ["a", "b", "c", "d", "e"],
        "objects come by name"
    );
    check("", &["e", "c", "a", "d", "b"]).await;
    check("labelSelector=set%3Dx", &["e", "a", "d", "b"]).await;
    check("resourceVersion=0", &["e", "c", "a", "d", "b"]).await;
    // What is on a page is what any other form has there.
    let token = check("limit=3", &["c", "a", "b"]).await;
    let token = check(&format!("limit=1&continue={token}"), &["d"]).await;
    assert_eq!(check(&format!("limit=3&continue={token}"), &["e"]).await, "");
    check("labelSelector=set%3Dnone", &[]).await;
}
