//! Apply conflicts about very many fields, or with very long names: the answer stays short.

use http::Method;
use serde_json::{Map, Value, json};

use super::{MAP, apply, send};
use crate::harness::Server;

#[tokio::test]
async fn of_very_many_conflicts_the_first_are_listed() {
    let server = Server::with_namespace().await;
    let data = |value: &str| -> Value {
        let entries = (0..1500).map(|at| (format!("k{at:04}"), json!(value)));
        Value::Object(entries.collect::<Map<String, Value>>())
    };
    assert_eq!(apply(&server, "one", data("v")).await.status, 201);
    let refused = apply(&server, "two", data("w")).await;
    assert_eq!(refused.status, 409);
    let body = refused.json();
    assert_eq!(body["details"]["causes"].as_array().unwrap().len(), 1000);
    assert_eq!(body["details"]["causes"][999]["field"], ".data.k0999");
    let message = body["message"].as_str().unwrap();
    assert!(
        message.starts_with(
            "Apply failed with 1500 conflicts: conflicts with \"one\":\n- .data.k0000\n"
        ),
        "{message}"
    );
    assert!(message.ends_with("\n- .data.k0999\nand 500 more"), "{message}");
}

#[tokio::test]
async fn of_very_long_names_the_ends_are_shown() {
    let server = Server::with_namespace().await;
    assert_eq!(apply(&server, "one", json!({"k": "v"})).await.status, 201);
    let long = "n".repeat(100_000);
    let owned = format!("v:\"{long}\"");
    let entry = json!({
        "manager": "three", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:finalizers": {owned: {}}}},
    });
    let body = json!({"metadata": {"name": "m", "managedFields": [entry]}, "data": {"k": "w"}})
        .to_string();
    let claimed =
        server.send(Method::PUT, MAP, &[("content-type", "application/json")], &body).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text());
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "finalizers": [long]}});
    let refused = send(&server, "fieldManager=two", &[], &body.to_string()).await;
    assert_eq!(refused.status, 409);
    assert!(refused.body.len() < 10_000, "{}", refused.body.len());
    let field = refused.json()["details"]["causes"][0]["field"].as_str().unwrap().to_owned();
    assert!(field.starts_with("...nnn") && field.ends_with("n\"]"), "{field}");
}
