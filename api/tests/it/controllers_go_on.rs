//! Progress of controllers: they come to rest, and one bad object holds up no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use quorate_store::{
    Error, Layer, MemoryOptions, MemoryStore, NotApplied, Operation, Outcome, Store, Txn,
};
use serde_json::json;

use crate::controllers::{run, send, start, until, until_body};
use crate::harness::{Server, TestClock};

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_certificate_cannot_be_kept_holds_up_no_other() {
    let (server, _controllers) = start();
    server.namespace("a").await;
    let map =
        |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps/svc-root-ca.crt");
    until(&server, &map("a"), 200).await;
    let fixed = json!({"metadata": {"name": "svc-root-ca.crt"}, "immutable": true, "data": {"ca.crt": "other"}});
    assert_eq!(send(&server, Method::PUT, &map("a"), fixed).await, 200);
    server.namespace("b").await;
    until(&server, &map("b"), 200).await;
    assert_eq!(server.get(&map("a")).await.json()["data"]["ca.crt"], "other");
    assert_eq!(send(&server, Method::DELETE, &map("a"), json!({})).await, 200);
    until_body(&server, &map("a"), |_, body| body["data"]["ca.crt"] == "PEM").await;
}

#[tokio::test(start_paused = true)]
async fn roles_that_aggregate_each_other_come_to_rest() {
    let (server, _controllers) = start();
    let roles = "/apis/rbac.authorization.svc.io/v1/clusterroles";
    let make = async |name: &str, gathers: Option<&str>, verbs: &[&str]| {
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]);
        let mut role = json!({"metadata": {"name": name, "labels": {"of": name}}, "rules": rules});
        if let Some(other) = gathers {
            role["aggregationRule"] =
                json!({"clusterRoleSelectors": [{"matchLabels": {"of": other}}]});
        }
        assert_eq!(send(&server, Method::POST, roles, role).await, 201);
    };
    make("b", Some("a"), &["list"]).await;
    make("a", Some("b"), &["get"]).await;
    let path = |name: &str| format!("{roles}/{name}");
    for name in ["a", "b"] {
        until_body(&server, &path(name), |_, body| {
            body["rules"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
    }
    let versions = async || {
        let [a, b] = [server.get(&path("a")).await, server.get(&path("b")).await];
        [a, b].map(|role| role.json()["metadata"]["resourceVersion"].clone())
    };
    let before = versions().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(versions().await, before);
}

/// A store that can be full: nothing is put any more.
struct Filling {
    inner: MemoryStore,
    is_full: AtomicBool,
}

#[async_trait]
impl Layer for Filling {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let puts =
            txn.operations.iter().any(|operation| matches!(operation, Operation::Put { .. }));
        match puts && self.is_full.load(Ordering::Relaxed) {
            true => Err(Error::NotApplied(NotApplied::OutOfSpace { used: 1, limit: 1 })),
            false => self.inner.txn(txn).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_too_full_for_the_first_objects_loses_its_old_events() {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Filling { inner, is_full: AtomicBool::new(false) });
    let server = Server::over(store.clone(), clock);
    server.namespace("a").await;
    let events = "/api/v1/namespaces/a/events";
    for (name, finalizers) in [("b-held", json!(["example.com/held"])), ("c-old", json!([]))] {
        let about = json!({"kind": "Pod", "namespace": "a", "name": "p"});
        let event =
            json!({"metadata": {"name": name, "finalizers": finalizers}, "involvedObject": about});
        assert_eq!(send(&server, Method::POST, events, event).await, 201);
    }
    store.is_full.store(true, Ordering::Relaxed);
    let _controllers = run(&server);
    until(&server, &format!("{events}/c-old"), 404).await;
    let held = server.get(&format!("{events}/b-held")).await.json();
    assert_eq!(held["metadata"]["deletionTimestamp"], serde_json::Value::Null);
    assert_eq!(server.get("/api/v1/namespaces/default").await.status, 404);
    store.is_full.store(false, Ordering::Relaxed);
    until(&server, "/api/v1/namespaces/default", 200).await;
    until_body(&server, &format!("{events}/b-held"), |_, body| {
        body["metadata"]["deletionTimestamp"].is_string()
    })
    .await;
}
