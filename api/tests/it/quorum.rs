//! Requests to a server that has lost its quorum, or that is behind: which it answers from what it
//! knows, and which it refuses.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use parking_lot::Mutex;
use quorate_access::authentication::User;
use quorate_access::authentication::token::KeySet;
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Revision, Snapshot, Store};
use serde_json::{Value, json};
use tokio::time::advance;

use crate::harness::{Answer, Server, TestClock};

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
        let made =
            server.send(Method::POST, &format!("{RBAC}/{plural}"), &[], body.to_string()).await;
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

const ACCOUNT: &str = "/api/v1/namespaces/a/serviceaccounts/robot";
const SECRET: &str = "/api/v1/namespaces/a/secrets/it";

/// A store of which this node sees an old state until it asks the quorum for the newest.
struct Behind {
    newest: Arc<MemoryStore>,
    seen: Mutex<Snapshot>,
    is_alone: AtomicBool,
}

impl Behind {
    fn catch_up(&self) {
        *self.seen.lock() = self.newest.snapshot();
    }
}

#[async_trait]
impl Layer for Behind {
    fn below(&self) -> &dyn Store {
        &*self.newest
    }

    async fn read_index(&self) -> Result<Revision, Error> {
        if self.is_alone.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        let revision = self.newest.read_index().await?;
        self.catch_up();
        Ok(revision)
    }

    fn snapshot(&self) -> Snapshot {
        self.seen.lock().clone()
    }
}

/// Two nodes, of which one is behind. Both know the secret `it` and the account `robot`,
/// which may ask for the version.
struct Cluster {
    ahead: Server,
    store: Arc<Behind>,
    behind: Server,
}

impl Cluster {
    async fn new() -> Self {
        let clock = Arc::<TestClock>::default();
        let newest = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
        let ahead = Server::over(newest.clone(), clock.clone());
        ahead.namespace("a").await;
        let role = json!({"metadata": {"name": "r"}, "rules": [{"nonResourceURLs": ["/version"], "verbs": ["get"]}]});
        let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "a", "name": "robot"}]});
        for (path, body) in [
            (
                "/api/v1/namespaces/a/serviceaccounts".to_owned(),
                json!({"metadata": {"name": "robot"}}),
            ),
            ("/api/v1/namespaces/a/secrets".to_owned(), json!({"metadata": {"name": "it"}})),
            (format!("{RBAC}/clusterroles"), role),
            (format!("{RBAC}/clusterrolebindings"), binding),
        ] {
            let made = ahead.send(Method::POST, &path, &[], body.to_string()).await;
            assert_eq!(made.status, 201, "{}", made.text());
        }
        let seen = Mutex::new(newest.snapshot());
        let store = Arc::new(Behind { newest, seen, is_alone: AtomicBool::new(false) });
        let behind = Server::over(store.clone(), clock);
        let keys = KeySet::new(std::slice::from_ref(&ahead.key)).unwrap();
        behind.api.authentication.service_accounts.set_keys(keys);
        Self { ahead, store, behind }
    }

    /// A token of the account.
    async fn token(&self, spec: &Value) -> String {
        let body = json!({"spec": spec}).to_string();
        let answer = self.ahead.send(Method::POST, &format!("{ACCOUNT}/token"), &[], body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["status"]["token"].as_str().unwrap().to_owned()
    }

    /// Deletes what a token depends on, on the node that is ahead.
    async fn revoke(&self, path: &str) {
        assert_eq!(self.ahead.send(Method::DELETE, path, &[], "").await.status, 200);
    }

    /// The answer of the node that is behind to a client with this token.
    async fn ask(&self, token: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        self.behind
            .by(None)
            .send(Method::GET, "/version", &[("authorization", bearer.as_str())], "")
            .await
    }
}

/// Objects to delete, each with the TokenRequest whose token its deletion revokes.
fn dependences() -> [(&'static str, Value); 2] {
    let secret = json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "it"}});
    [(ACCOUNT, json!({})), (SECRET, secret)]
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_revoked_on_another_node_is_refused_within_a_second() {
    for (path, spec) in dependences() {
        let cluster = Cluster::new().await;
        let token = cluster.token(&spec).await;
        assert_eq!(cluster.ask(&token).await.status, 200);
        cluster.revoke(path).await;
        advance(Duration::from_millis(999)).await;
        assert_eq!(cluster.ask(&token).await.status, 200, "the node has not seen it");
        advance(Duration::from_millis(1)).await;
        assert_eq!(cluster.ask(&token).await.status, 401, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_revoked_before_a_node_heard_of_it_is_refused_at_once() {
    for (path, spec) in dependences() {
        let cluster = Cluster::new().await;
        let token = cluster.token(&spec).await;
        cluster.revoke(path).await;
        assert_eq!(cluster.ask(&token).await.status, 401, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_quorum_no_token_is_good_for_longer_than_a_second() {
    for (path, spec) in dependences() {
        let cluster = Cluster::new().await;
        let token = cluster.token(&spec).await;
        assert_eq!(cluster.ask(&token).await.status, 200);
        cluster.store.is_alone.store(true, Ordering::Relaxed);
        cluster.revoke(path).await;
        assert_eq!(cluster.ask(&token).await.status, 200, "what was confirmed holds for a second");
        advance(Duration::from_secs(1)).await;
        let unknown = async || {
            let answer = cluster.ask(&token).await;
            assert_eq!(
                (answer.status.as_u16(), answer.header("retry-after")),
                (503, "1"),
                "{}",
                answer.text()
            );
            assert_eq!(answer.json()["message"], "tokens cannot be checked: no quorum answers");
        };
        unknown().await;
        // What this node has seen may be older than another object of that name.
        cluster.store.catch_up();
        unknown().await;
        assert_eq!(
            cluster.ask("a.b.c").await.status,
            401,
            "this one is wrong whatever the others know"
        );
        cluster.store.is_alone.store(false, Ordering::Relaxed);
        assert_eq!(cluster.ask(&token).await.status, 401, "{path}");
    }
}
