//! A server that has lost its quorum: what it answers by what it knows, and what it cannot say.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use quorate_api::authentication::User;
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Revision, Store};
use serde_json::{Value, json};
use tokio::time::advance;

use crate::harness::{Server, TestClock};

const RBAC: &str = "/apis/rbac.authorization.svc.io/v1";
const SELF_ACCESS: &str = "/apis/authorization.svc.io/v1/selfsubjectaccessreviews";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";

/// A store that can lose its quorum.
struct Losing {
    inner: MemoryStore,
    is_alone: AtomicBool,
}

#[async_trait]
impl Layer for Losing {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    async fn read_index(&self) -> Result<Revision, Error> {
        if self.is_alone.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        self.inner.read_index().await
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_and_impersonated_reads_are_answered_and_nothing_is_changed() {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Losing { inner, is_alone: AtomicBool::new(false) });
    let server = Server::over(store.clone(), clock);
    server.namespace("a").await;
    let role = json!({"metadata": {"name": "r"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "create"]},
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
        {"apiGroups": ["authorization.svc.io"], "resources": ["selfsubjectaccessreviews"], "verbs": ["create"]}]});
    let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "joe"}, {"kind": "User", "name": "ann"}]});
    for (plural, body) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let made = server.send(Method::POST, &format!("{RBAC}/{plural}"), &[], body.to_string()).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let joe = server.by(Some(User::new("joe", [])));
    assert_eq!(joe.get(MAPS).await.status, 200);
    store.is_alone.store(true, Ordering::Relaxed);
    advance(Duration::from_secs(1)).await;

    let review = async |verb: &str| {
        let action = json!({"verb": verb, "resource": "configmaps", "namespace": "a"});
        let question = json!({"spec": {"resourceAttributes": action}});
        let answer = joe.send(Method::POST, SELF_ACCESS, &[], question.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["status"].clone()
    };
    assert_eq!(review("list").await["allowed"], true);
    let unknown = review("create").await;
    assert_eq!(unknown["allowed"], false);
    assert_eq!(unknown["evaluationError"], "it cannot be said who may do this: no quorum answers");
    let unconfirmed = format!("{MAPS}?resourceVersion=0");
    let as_ann = [("impersonate-user", "ann")];
    assert_eq!(joe.send(Method::GET, &unconfirmed, &as_ann, "").await.status, 200);
    let map = json!({"metadata": {"name": "m"}}).to_string();
    for headers in [&as_ann[..], &[]] {
        let refused = joe.send(Method::POST, MAPS, headers, map.clone()).await;
        assert_eq!(refused.status, 503, "{}", refused.text());
    }
    store.is_alone.store(false, Ordering::Relaxed);
    assert_eq!(review("create").await, json!({"allowed": true, "reason": reason()}));
}

fn reason() -> Value {
    r#"RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "joe""#.into()
}
