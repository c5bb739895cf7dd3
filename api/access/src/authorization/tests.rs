//! The authorizer on a node that lags behind: its state stands still until it asks the quorum for
//! the newest.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_store::{
    Error as StoreError, HistoryError, Limits, MemoryOptions, MemoryStore, Outcome, Past, Revision,
    Snapshot, Status, Store, Txn, Watch,
};
use serde_json::json;
use tokio::time::{Duration, Instant, advance, timeout};

use super::*;
use crate::authentication::User;
use quorate_kinds::builtin;
use quorate_registry::Catalogue;
use quorate_registry::derived::{Informer, InformerOptions};
use quorate_registry::write::{GivenOptions, Put, Target, WriteOptions, Writer};

const PATIENCE: Duration = Duration::from_secs(60);

/// A node that applies nothing until it asks the quorum.
struct Behind {
    store: Arc<MemoryStore>,
    seen: Mutex<Snapshot>,
    has_quorum: Mutex<bool>,
}

#[async_trait]
impl Store for Behind {
    async fn read_index(&self) -> Result<Revision, StoreError> {
        if !*self.has_quorum.lock() {
            std::future::pending::<()>().await;
        }
        let revision = self.store.read_index().await?;
        *self.seen.lock() = self.store.snapshot();
        Ok(revision)
    }

    fn snapshot(&self) -> Snapshot {
        self.seen.lock().clone()
    }

    fn snapshot_at(&self, at: Revision) -> Result<Snapshot, HistoryError> {
        self.store.snapshot_at(at)
    }

    async fn applied(&self, at: Revision) {
        self.store.applied(at).await;
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, StoreError> {
        self.store.txn(txn).await
    }

    fn limits(&self) -> Limits {
        self.store.limits()
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        self.store.watch(prefix, after)
    }

    fn past(&self) -> Option<Arc<dyn Past>> {
        self.store.past()
    }

    fn status(&self) -> Status {
        self.store.status()
    }
}

/// The informer of what an authorizer decides by.
pub(super) fn informer(authorizer: &Authorizer) -> Informer {
    Informer::new(InformerOptions { states: authorizer.derived_states() }).0
}

struct Cluster {
    catalogue: Catalogue,
    /// Writes through another node.
    writer: Writer,
    node: Arc<Behind>,
    authorizer: Authorizer,
}

impl Cluster {
    async fn new() -> Self {
        let names = Naming::Svc.names();
        let graph = Arc::new(Graph::builtin(names));
        let catalogue = builtin::catalogue(&graph);
        let env = SystemEnv::env();
        let store = Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        let writer = Writer::new(names, store.clone(), env);
        let node = Arc::new(Behind {
            seen: Mutex::new(store.snapshot()),
            store,
            has_quorum: Mutex::new(true),
        });
        let options = AuthorizerOptions {
            names,
            catalogue: &catalogue,
            store: node.clone(),
            modes: &[ModeOptions::Rules],
        };
        let authorizer = Authorizer::new(options);
        let cluster = Self { catalogue, writer, node, authorizer };
        let rules = json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "create", "watch"]},
            {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
        ]);
        cluster.put("clusterroles", "r", json!({"rules": rules})).await;
        // The informer only reads the first state: what comes later is found by asking.
        tokio::select! {
            () = informer(&cluster.authorizer).run() => unreachable!("it runs until stopped"),
            () = cluster.synced() => {}
        }
        cluster
    }

    async fn synced(&self) {
        let rules = self.authorizer.rules().unwrap();
        let synced = async {
            while !rules.is_synced() {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, synced).await.unwrap();
    }

    fn target<'a>(&'a self, plural: &str, name: &'a str) -> Target<'a> {
        let resource = self.catalogue.find("rbac.authorization.svc.io", "v1", plural).unwrap();
        Target { resource, namespace: None, name }
    }

    async fn put(&self, plural: &str, name: &str, mut object: serde_json::Value) {
        object["metadata"] = json!({"name": name});
        let put = Put { target: self.target(plural, name), replaces: None, object: object.into() };
        let options = WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };
        self.writer.put_all(vec![put], options).await.unwrap().unwrap();
    }

    async fn bind(&self, user: &str) {
        let reference =
            json!({"apiGroup": "rbac.authorization.svc.io", "kind": "ClusterRole", "name": "r"});
        let subject =
            json!({"apiGroup": "rbac.authorization.svc.io", "kind": "User", "name": user});
        self.put("clusterrolebindings", user, json!({"roleRef": reference, "subjects": [subject]}))
            .await;
    }

    async fn unbind(&self, user: &str) {
        self.writer
            .delete(self.target("clusterrolebindings", user), &Default::default())
            .await
            .unwrap();
    }

    async fn may(&self, user: &str) -> bool {
        self.may_do("get", user).await
    }

    async fn may_do(&self, verb: &str, user: &str) -> bool {
        self.authorizer.decide(&User::new(user, []), &action(verb)).await.is_allowed()
    }
}

fn action(verb: &str) -> Action<'_> {
    Action::Resource(ResourceAction { verb, resource: "pods", ..ResourceAction::default() })
}

#[tokio::test]
async fn no_user_is_refused_because_the_node_lags_behind() {
    let cluster = Cluster::new().await;
    assert!(!cluster.may("joe").await);
    cluster.bind("joe").await;
    assert!(cluster.may("joe").await);
}

#[tokio::test]
async fn what_is_read_from_the_newest_state_is_allowed_by_the_newest_rules() {
    let cluster = Cluster::new().await;
    cluster.bind("joe").await;
    assert!(cluster.may("joe").await);
    let user = User::new("joe", []);
    let epoch = cluster.authorizer.epoch();
    assert_eq!(cluster.authorizer.recheck(epoch, &user, &action("get")).await, Ok(None));
    cluster.unbind("joe").await;
    assert!(cluster.may("joe").await, "the node has not seen it");
    cluster.node.read_index().await.unwrap();
    let decision = cluster.authorizer.recheck(epoch, &user, &action("get")).await.unwrap();
    assert!(decision.is_some_and(|decision| !decision.is_allowed()));
    assert!(!cluster.may("joe").await);
}

#[tokio::test]
async fn a_read_of_the_newest_state_is_impersonated_by_the_newest_rules() {
    let cluster = Cluster::new().await;
    cluster.bind("ann").await;
    assert!(cluster.may("ann").await);
    let (ann, headers) = (
        User::new("ann", []),
        HeaderMap::from_iter([(
            HeaderName::from_static("impersonate-user"),
            HeaderValue::from_static("joe"),
        )]),
    );
    let impersonated =
        async || impersonate(&cluster.authorizer, &ann, &headers, &action("get")).await;
    let epoch = cluster.authorizer.epoch();
    cluster.unbind("ann").await;
    assert_eq!(impersonated().await.unwrap().unwrap().name, "joe", "the node has not seen it");
    assert_eq!(cluster.authorizer.has_changed(epoch).await, Ok(false));
    cluster.node.read_index().await.unwrap();
    assert_eq!(cluster.authorizer.has_changed(epoch).await, Ok(true));
    assert_eq!(impersonated().await.unwrap_err().into_status().code, 403);
}

#[tokio::test(start_paused = true)]
async fn without_a_quorum_a_node_refuses_by_what_it_knows() {
    let cluster = Cluster::new().await;
    cluster.bind("ann").await;
    assert!(cluster.may("ann").await);
    *cluster.node.has_quorum.lock() = false;
    cluster.bind("joe").await;
    assert!(!cluster.may("joe").await && cluster.may("ann").await);
    *cluster.node.has_quorum.lock() = true;
    assert!(cluster.may("joe").await);
}

#[tokio::test(start_paused = true)]
async fn a_right_that_was_taken_away_is_gone_for_changes_and_watches_within_a_second() {
    let cluster = Cluster::new().await;
    for verb in ["create", "watch"] {
        cluster.bind("joe").await;
        assert!(cluster.may_do(verb, "joe").await);
        cluster.unbind("joe").await;
        assert!(cluster.may("joe").await, "the node has not seen it");
        advance(Duration::from_secs(1)).await;
        assert!(!cluster.may_do(verb, "joe").await);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_quorum_nothing_is_changed_and_watches_begin_by_what_the_node_knows() {
    let cluster = Cluster::new().await;
    cluster.bind("ann").await;
    assert!(cluster.may_do("create", "ann").await);
    *cluster.node.has_quorum.lock() = false;
    assert!(cluster.may_do("create", "ann").await, "what was confirmed holds for a second");
    advance(Duration::from_secs(1)).await;
    let decision = cluster.authorizer.decide(&User::new("ann", []), &action("create")).await;
    assert_eq!(decision.verdict, Verdict::NoOpinion);
    assert_eq!(decision.error, "it cannot be said who may do this: no quorum answers");
    let asked = Instant::now();
    assert!(cluster.may("ann").await && asked.elapsed().is_zero());
    assert!(cluster.may_do("watch", "ann").await && asked.elapsed() <= Duration::from_secs(1));
    assert!(!cluster.may_do("watch", "joe").await);
}

#[tokio::test(start_paused = true)]
async fn without_a_quorum_a_user_may_impersonate_to_read_but_not_to_write() {
    let cluster = Cluster::new().await;
    cluster.bind("ann").await;
    assert!(cluster.may("ann").await);
    *cluster.node.has_quorum.lock() = false;
    let ann = User::new("ann", []);
    let act = async |what_for| {
        let act = Action::Resource(ResourceAction {
            verb: "impersonate",
            resource: "users",
            ..Default::default()
        });
        cluster.authorizer.check_for(&action(what_for), &ann, &act).await
    };
    advance(Duration::from_secs(1)).await;
    assert_eq!(act("get").await, Ok(()));
    assert_eq!(act("watch").await, Ok(()));
    assert_eq!(act("create").await.unwrap_err().into_status().code, 503);
}

#[tokio::test(start_paused = true)]
async fn rights_are_listed_incompletely_while_the_rules_cannot_be_read() {
    let cluster = Cluster::new().await;
    cluster.node.read_index().await.unwrap();
    let Cluster { catalogue, node, .. } = &cluster;
    let options = AuthorizerOptions {
        names: Naming::Svc.names(),
        catalogue,
        store: node.clone(),
        modes: &[ModeOptions::Rules],
    };
    // This one has no informer.
    let rights = Authorizer::new(options).rights(&User::new("joe", []), "a").await;
    let [why] = rights.incomplete.as_slice() else { panic!("{rights:?}") };
    assert!(why.ends_with("the rules of roles and bindings have not been read yet"), "{why}");
    assert!(rights.resources.is_empty() && rights.errors.is_empty(), "{rights:?}");
}
