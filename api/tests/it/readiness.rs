//! Readiness of a node that has not read the roles and bindings yet: it is not ready, and decides
//! no request by them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use quorate_access::authentication::User;
use quorate_api::health::Probes;
use quorate_store::{HistoryError, Layer, MemoryOptions, MemoryStore, Revision, Store, Watch};
use serde_json::{Value, json};

use crate::harness::{Server, TestClock};

const CHECK: &str = "poststarthook/rbac/bootstrap-roles";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const ROLES: &str = "/apis/rbac.authorization.svc.io/v1/namespaces/a";
const ACCESS: &str = "/apis/authorization.svc.io/v1/subjectaccessreviews";
/// The prefix of the keys of roles and bindings.
const KEYS: &[u8] = b"o/rbac.authorization.svc.io/";
const UNREAD: &str = "the rules of roles and bindings have not been read yet";

/// A store whose roles and bindings cannot be followed until it is opened.
struct Closed {
    inner: Arc<MemoryStore>,
    is_open: AtomicBool,
}

#[async_trait]
impl Layer for Closed {
    fn below(&self) -> &dyn Store {
        &*self.inner
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        match prefix.starts_with(KEYS) && !self.is_open.load(Ordering::Relaxed) {
            true => Err(HistoryError::Unreadable),
            false => self.inner.watch(prefix, after),
        }
    }
}

/// Lets readiness depend on the authorizer, as a node does.
fn wired(server: &Server) {
    let authorizer = server.api.authorizer.clone();
    let probes = Probes::of(move || authorizer.is_ready()).while_alive(|| true);
    server.api.health.add(CHECK, probes).unwrap();
}

/// Whether the server calls itself ready; when it does not, that must be for want of the roles
/// alone. It lives in any case.
async fn is_ready(server: &Server) -> bool {
    assert_eq!(server.get("/livez").await.status, 200);
    let answer = server.get("/readyz").await;
    let failed: Vec<String> =
        answer.text().lines().filter(|line| line.starts_with("[-]")).map(str::to_owned).collect();
    match answer.status.as_u16() {
        200 => true,
        500 => {
            assert_eq!(failed, [format!("[-]{CHECK} failed: reason withheld")]);
            assert_eq!(server.get(&format!("/readyz/{CHECK}")).await.status, 500);
            false
        }
        other => panic!("{other}: {}", answer.text()),
    }
}

fn ends_with(text: &Value, end: &str) -> bool {
    text.as_str().is_some_and(|text| text.ends_with(end))
}

/// In a namespace `a`, joe may list and create ConfigMaps.
async fn grant(server: &Server) {
    server.namespace("a").await;
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "create"]});
    let role = json!({"metadata": {"name": "maps"}, "rules": [rule]});
    let binding = json!({"metadata": {"name": "maps"}, "roleRef": {"kind": "Role", "name": "maps"},
        "subjects": [{"kind": "User", "name": "joe"}]});
    for (plural, body) in [("roles", role), ("rolebindings", binding)] {
        let made =
            server.send(Method::POST, &format!("{ROLES}/{plural}"), &[], body.to_string()).await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
}

#[tokio::test(start_paused = true)]
async fn until_the_roles_are_read_a_node_is_not_ready_and_decides_nothing() {
    let clock = Arc::<TestClock>::default();
    let inner = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let other = Server::over(inner.clone(), clock.clone());
    other.defaults().await.stop();
    grant(&other).await;

    let store = Arc::new(Closed { inner, is_open: AtomicBool::new(false) });
    let server = Server::over(store.clone(), clock);
    wired(&server);
    let [joe, eve] = ["joe", "eve"].map(|name| server.by(Some(User::new(name, []))));
    assert!(!is_ready(&server).await);
    let map = json!({"metadata": {"name": "m"}}).to_string();
    for by in [&joe, &eve] {
        // Joe may and eve may not: the server cannot say so now.
        for refused in [by.get(MAPS).await, by.send(Method::POST, MAPS, &[], map.clone()).await] {
            assert_eq!(
                (refused.status.as_u16(), refused.header("retry-after")),
                (503, "1"),
                "{}",
                refused.text()
            );
            assert!(ends_with(&refused.json()["message"], UNREAD), "{}", refused.text());
        }
    }
    let on = json!({"verb": "list", "resource": "configmaps", "namespace": "a"});
    let review = json!({"spec": {"user": "joe", "resourceAttributes": on}}).to_string();
    let asked = server.send(Method::POST, ACCESS, &[], review).await.json()["status"].clone();
    assert!(asked["allowed"] == false && ends_with(&asked["evaluationError"], UNREAD), "{asked}");
    assert_eq!(asked["denied"], Value::Null);
    assert_eq!(server.get(MAPS).await.names().len(), 0, "administrators need no roles");
    assert!(!is_ready(&server).await);

    // A client that asks just before the roles are read waits for that, no longer.
    let (answer, ()) =
        tokio::join!(joe.get(MAPS), async { store.is_open.store(true, Ordering::Relaxed) });
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(is_ready(&server).await);
    assert_eq!(eve.get(MAPS).await.status, 403);
    assert_eq!(joe.send(Method::POST, MAPS, &[], map).await.status, 201);
}

#[tokio::test]
async fn a_new_cluster_is_ready_once_it_has_the_default_roles() {
    let server = Server::new();
    wired(&server);
    grant(&server).await;
    assert!(!is_ready(&server).await);
    let joe = server.by(Some(User::new("joe", [])));
    assert_eq!(joe.get(MAPS).await.status, 200, "what is there is in force before");
    assert!(!is_ready(&server).await);
    let _controllers = server.defaults().await;
    assert!(is_ready(&server).await);
}
