//! The `scale` subresource of custom resources.

use http::Method;
use serde_json::{Value, json};

use super::{MERGE, WIDGETS, create, send, server, widgets};
use crate::harness::Server;

async fn scalable(server: &Server) {
    let scale = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size",
        "labelSelectorPath": ".status.selector"});
    widgets(server, json!({"subresources": {"status": {}, "scale": scale}})).await;
}

fn scale() -> String {
    format!("{WIDGETS}/a/scale")
}

#[tokio::test]
async fn a_scale_is_made_of_the_object() {
    let (server, _controllers) = server().await;
    scalable(&server).await;
    create(&server, "a", json!({"spec": {"size": 3, "x": 1}})).await;
    let status = json!({"status": {"size": 2, "selector": "a=b"}});
    let answer = send(&server, Method::PATCH, &format!("{WIDGETS}/a/status"), MERGE, status).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let scale = server.get(&scale()).await.json();
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["spec"], json!({"replicas": 3}));
    assert_eq!(scale["status"], json!({"replicas": 2, "selector": "a=b"}));
}

#[tokio::test]
async fn writing_a_scale_writes_the_object() {
    let (server, _controllers) = server().await;
    scalable(&server).await;
    create(&server, "a", json!({"spec": {"size": 3, "x": 1}})).await;
    let check = |answer: crate::harness::Answer, expect: u64| {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json()["spec"]["replicas"], expect);
    };
    let asked = json!({"spec": {"replicas": 4}});
    check(
        send(&server, Method::PATCH, &format!("{}?fieldManager=p", scale()), MERGE, asked).await,
        4,
    );
    let mut put = server.get(&scale()).await.json();
    put["spec"]["replicas"] = json!(5);
    check(
        send(&server, Method::PUT, &format!("{}?fieldManager=u", scale()), "application/json", put)
            .await,
        5,
    );
    let object = server.get(&format!("{WIDGETS}/a")).await.json();
    assert_eq!(
        (&object["spec"], &object["metadata"]["generation"]),
        (&json!({"size": 5, "x": 1}), &json!(3))
    );
    let owner = |manager: &str| {
        let entries = object["metadata"]["managedFields"].as_array().expect("entries");
        entries.iter().find(|entry| entry["manager"] == manager).cloned().unwrap_or_default()
    };
    assert_eq!(owner("u")["subresource"], "scale");
    assert_eq!(owner("u")["fieldsV1"], json!({"f:spec": {"f:size": {}}}));
    assert_eq!(owner("p"), Value::Null);
    let applied = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 6}});
    let media = "application/apply-patch+yaml";
    let path = format!("{}?fieldManager=p", scale());
    assert_eq!(send(&server, Method::PATCH, &path, media, applied.clone()).await.status, 409);
    check(send(&server, Method::PATCH, &format!("{path}&force=true"), media, applied).await, 6);
}

#[tokio::test]
async fn what_no_scale_can_be() {
    let (server, _controllers) = server().await;
    scalable(&server).await;
    create(&server, "a", json!({"spec": {}})).await;
    let answer = server.get(&scale()).await;
    assert_eq!(answer.status, 500);
    assert!(
        answer.text().contains("the spec replicas field \\\".spec.size\\\" does not exist"),
        "{}",
        answer.text()
    );
    let nothing = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(send(&server, Method::PATCH, &scale(), MERGE, nothing).await.status, 400);
    let negative = json!({"spec": {"replicas": -1}});
    let answer = send(&server, Method::PATCH, &scale(), MERGE, negative).await;
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert_eq!(answer.json()["details"]["causes"][0]["field"], ".spec.size");
    let first = json!({"spec": {"replicas": 2}});
    assert_eq!(
        send(&server, Method::PATCH, &scale(), MERGE, first).await.json()["spec"]["replicas"],
        2
    );
    let media = "application/strategic-merge-patch+json";
    assert_eq!(send(&server, Method::PATCH, &scale(), media, json!({})).await.status, 415);
}
