//! Custom objects that are selected by labels and fields, while their definition changes, goes, and
//! comes again.

use std::sync::Arc;

use http::Method;
use quorate_store::{MemoryOptions, MemoryStore};
use serde_json::{Value, json};

use super::{ALWAYS, NEVER, count};
use crate::controllers::until_body;
use crate::custom_resources::{DEFINITION, MERGE, WIDGETS, define, version, widget};
use crate::harness::{Server, TestClock};

const SELECTORS: [&str; 7] = [
    "fieldSelector=spec.a%3D1",
    "fieldSelector=spec.b%3D1",
    "fieldSelector=spec.a!%3D1",
    "labelSelector=x%3D1",
    "labelSelector=x+in+(0,2),x!%3D0",
    "labelSelector=x%3D1&fieldSelector=spec.b%3D1",
    "labelSelector=!x&fieldSelector=spec.a%3D1",
];

/// Two nodes of a cluster, of which the second one scans.
struct Nodes {
    indexed: Server,
    scanning: Server,
}

impl Nodes {
    async fn send(&self, method: Method, path: &str, body: String) {
        let headers: &[_] = if method == Method::PATCH { &MERGE } else { &[] };
        let answer = self.indexed.send(method, path, headers, body).await;
        assert!(answer.status.is_success(), "{}", answer.text());
    }

    /// Waits until both nodes answer so to a selector of a field.
    async fn settle(&self, field: &str, status: u16) {
        let path = format!("{WIDGETS}?fieldSelector=spec.{field}%3D1");
        for node in [&self.indexed, &self.scanning] {
            until_body(node, &path, |found, _| found == status).await;
        }
    }

    /// Defines the fields that can be selected anew.
    async fn redefine(&self, fields: &[&str]) {
        let patch = json!({"spec": {"versions": [selectable(fields)]}});
        self.send(Method::PATCH, DEFINITION, patch.to_string()).await;
    }

    /// The names that each selector gives; what cannot be selected is left out.
    async fn compare(&self) -> usize {
        let mut found = 0;
        // Scanned, made, looked up.
        for (query, limit) in
            SELECTORS.iter().flat_map(|query| [(query, 0), (query, 0), (query, 3)])
        {
            let path = format!("{WIDGETS}?{query}&limit={limit}");
            let (looked_up, scanned) =
                (self.indexed.get(&path).await, self.scanning.get(&path).await);
            assert_eq!(looked_up.json(), scanned.json(), "{query}");
            if scanned.status == 200 {
                found += scanned.names().len();
            } else {
                assert_eq!(scanned.status, 400, "{query}: {}", scanned.text());
            }
        }
        found
    }

    async fn write(&self, number: usize) {
        let body = widget(
            &format!("w{number:02}"),
            json!({"a": format!("{}", number % 3), "b": format!("{}", number % 4)}),
        );
        let mut body: Value = serde_json::from_str(&body).unwrap();
        if !number.is_multiple_of(5) {
            body["metadata"]["labels"] = json!({"x": format!("{}", number % 3)});
        }
        self.send(Method::POST, WIDGETS, body.to_string()).await;
    }
}

fn selectable(fields: &[&str]) -> Value {
    let text = json!({"type": "string"});
    let mut version = version("v1", true, json!({"a": text, "b": text}));
    version["selectableFields"] =
        fields.iter().map(|field| json!({"jsonPath": format!(".spec.{field}")})).collect();
    version
}

#[tokio::test]
async fn a_definition_that_changes_and_comes_again() {
    let clock = Arc::<TestClock>::default();
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let nodes = Nodes {
        indexed: Server::with_indexes(store.clone(), clock.clone(), ALWAYS),
        scanning: Server::with_indexes(store, clock, NEVER),
    };
    nodes.indexed.namespace("a").await;
    let _controllers = nodes.indexed.defaults().await;
    for (before, after) in [("a", "b"), ("b", "a")] {
        define(&nodes.indexed, &[selectable(&[before])]).await;
        nodes.settle(before, 200).await;
        let used = count(&nodes.indexed, "used").await;
        for number in 0..12 {
            nodes.write(number).await;
        }
        assert!(nodes.compare().await > 25);
        // The headers of what is there lack the field, which is selectable from now on.
        nodes.redefine(&[before, after]).await;
        nodes.settle(after, 200).await;
        nodes.compare().await;
        for (name, spec) in [("w01", json!({"b": "0"})), ("w02", json!({"a": "1", "b": "1"}))] {
            let patch = json!({"spec": spec}).to_string();
            nodes.send(Method::PATCH, &format!("{WIDGETS}/{name}"), patch).await;
        }
        nodes.send(Method::DELETE, &format!("{WIDGETS}/w04"), String::new()).await;
        assert!(nodes.compare().await > 50);
        nodes.redefine(&[after]).await;
        nodes.settle(before, 400).await;
        nodes.write(13).await;
        assert!(nodes.compare().await > 25);
        assert!(count(&nodes.indexed, "used").await > used + 10);
        nodes.send(Method::DELETE, DEFINITION, String::new()).await;
        until_body(&nodes.indexed, DEFINITION, |status, _| status == 404).await;
        until_body(&nodes.scanning, WIDGETS, |status, _| status == 404).await;
    }
}
