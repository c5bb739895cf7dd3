//! Tables by the printer columns of a definition.

use serde_json::{Value, json};

use super::{WIDGETS, create, server, widgets};
use crate::harness::Server;

const TABLE: &str = "application/json;as=Table;g=meta.svc.io;v=v1";

async fn table(server: &Server, path: &str) -> Value {
    let answer = server.get_as(path, TABLE).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn columns_and_cells() {
    let (server, _controllers) = server().await;
    let ready = r#".status.conditions[?(@.type=="Ready")].status"#;
    let columns = json!([
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Ready", "type": "string", "jsonPath": ready, "description": "Whether it is."},
        {"name": "Tags", "type": "string", "jsonPath": ".spec.tags"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    widgets(&server, json!({"additionalPrinterColumns": columns})).await;
    let conditions = json!([{"type": "Ready", "status": "True"}]);
    create(
        &server,
        "a",
        json!({"spec": {"size": 3, "tags": ["x"]}, "status": {"conditions": conditions}}),
    )
    .await;
    create(&server, "b", json!({"spec": {"size": "3"}})).await;
    let list = table(&server, WIDGETS).await;
    let headings: Vec<&str> = list["columnDefinitions"]
        .as_array()
        .expect("columns")
        .iter()
        .map(|column| column["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(headings, ["Name", "Size", "Ready", "Tags", "Age"]);
    assert_eq!(list["columnDefinitions"][1]["priority"], 1);
    assert_eq!(list["columnDefinitions"][2]["description"], "Whether it is.");
    assert_eq!(list["rows"][0]["cells"], json!(["a", 3, "True", "[\"x\"]", "0s"]));
    assert_eq!(list["rows"][1]["cells"], json!(["b", null, null, null, "0s"]));
    assert_eq!(list["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let one = table(&server, &format!("{WIDGETS}/a?includeObject=Object")).await;
    assert_eq!(one["rows"][0]["object"]["spec"]["size"], 3);
    let none = table(&server, &format!("{WIDGETS}/a?includeObject=None")).await;
    assert_eq!(none["rows"][0]["object"], Value::Null);
    let mut watch = server.watch_as(&format!("{WIDGETS}?watch=1"), TABLE).await;
    let event = watch.next().await.expect("an event");
    assert_eq!(event["object"]["rows"][0]["cells"][1], 3);
}

#[tokio::test]
async fn the_age_is_the_column_of_definitions_without_columns() {
    let (server, _controllers) = server().await;
    widgets(&server, json!({})).await;
    create(&server, "a", json!({})).await;
    let list = table(&server, WIDGETS).await;
    assert_eq!(list["columnDefinitions"][1]["name"], "Age");
    assert_eq!(list["rows"][0]["cells"], json!(["a", "0s"]));
}
