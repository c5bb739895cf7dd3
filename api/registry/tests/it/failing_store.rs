//! Tests of a writer over a store that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use quorate_env::{Env, SystemEnv};
use quorate_meta::{Naming, Value};
use quorate_schema::Graph;
use quorate_store::{
    Condition, Error, Layer, Limits, MemoryOptions, MemoryStore, NotApplied, Operation, Outcome,
    Revision, Store, Txn,
};
use serde_json::json;

use quorate_kinds::builtin;
use quorate_registry::Catalogue;
use quorate_registry::keys::Key;
use quorate_registry::write::*;

/// A store that has one object, answers every transaction with the same error, and counts them.
struct Failing {
    store: MemoryStore,
    error: Error,
    proposed: AtomicUsize,
}

#[async_trait]
impl Layer for Failing {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    async fn txn(&self, _: Txn) -> Result<Outcome, Error> {
        self.proposed.fetch_add(1, Ordering::Relaxed);
        Err(self.error.clone())
    }
}

fn parts() -> (Arc<Graph>, Catalogue, Env) {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let catalogue = builtin::catalogue(&graph);
    (graph, catalogue, SystemEnv::env())
}

/// Creates, updates and deletes; each must fail with this code after exactly one transaction.
async fn check(error: Error, code: u16) {
    let (graph, catalogue, env) = parts();
    let resource = catalogue.find("", "v1", "configmaps").unwrap();
    let target = Target { resource, namespace: Some("n"), name: "a" };
    let store = MemoryStore::new(MemoryOptions::new(env.clock.clone()));
    let object = Value::from(json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"}}));
    let value = quorate_registry::stored_codec::encode(resource, &object).unwrap();
    let operations = vec![Operation::Put { key: target.key(), value }];
    store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    let store = Arc::new(Failing { store, error, proposed: AtomicUsize::new(0) });
    let writer = Writer::new(graph.names(), store.clone(), env);
    let options = WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };
    let update = UpdateOptions {
        write: options,
        part: quorate_registry::Part::Main,
        if_match: None,
        replaces: true,
        named: None,
    };
    let changed = || Ok(Value::from(json!({"metadata": {"name": "a"}, "data": {"k": "v"}})));
    let failures = [
        writer.create(target, Value::from(json!({"metadata": {"name": "b"}})), options).await,
        writer
            .create(target, Value::from(json!({"metadata": {"generateName": "b-"}})), options)
            .await,
        writer.update(target, update, |_| changed()).await,
        writer.delete(target, &DeleteOptions::default()).await,
    ];
    for (index, failure) in failures.into_iter().enumerate() {
        assert_eq!(failure.expect_err("a failure").into_status().code, code, "{index}");
    }
    assert_eq!(store.proposed.load(Ordering::Relaxed), 4, "nothing is tried again");
}

#[tokio::test]
async fn an_unknown_outcome_is_told_and_never_tried_again() {
    check(Error::Unknown("the connection was lost".into()), 504).await;
}

#[tokio::test]
async fn what_is_not_applied_says_why() {
    check(NotApplied::NoLeader.into(), 503).await;
    check(NotApplied::Overloaded.into(), 429).await;
    check(NotApplied::OutOfSpace { used: 2, limit: 1 }.into(), 507).await;
    check(NotApplied::TooLarge { size: 2, limit: 1 }.into(), 413).await;
}

/// An object of the largest size is too large with its `deletionTimestamp`.
#[tokio::test]
async fn a_deletion_that_does_not_fit_is_refused_in_a_dry_run_too() {
    let (graph, catalogue, env) = parts();
    let resource = catalogue.find("", "v1", "configmaps").unwrap();
    let target = Target { resource, namespace: Some("n"), name: "a" };
    let object = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "finalizers": ["example.com/a"]}});
    let value = quorate_registry::stored_codec::encode(resource, &Value::from(object)).unwrap();
    let put = |revision| Txn {
        conditions: vec![Condition::Modified { key: target.key(), revision }],
        operations: vec![Operation::Put { key: target.key(), value: value.clone() }],
        ..Txn::default()
    };
    let limits = Limits { txn_bytes: put(Revision::ZERO).footprint(), ..Limits::default() };
    let store = MemoryStore::new(MemoryOptions { limits, ..MemoryOptions::new(env.clock.clone()) });
    store.txn(put(Revision::ZERO)).await.unwrap();
    let revision = store.snapshot().get(&target.key()).unwrap().modified;
    store.txn(put(revision)).await.unwrap();
    let before = store.snapshot().revision();
    let store = Arc::new(store);
    let writer = Writer::new(graph.names(), store.clone(), env);
    let refusal = async |dry_run| {
        let answer =
            writer.delete(target, &DeleteOptions { dry_run, ..DeleteOptions::default() }).await;
        let status = answer.expect_err("a refusal").into_status();
        (status.code, status.message)
    };
    let (code, why) = refusal(false).await;
    assert!(code == 413 && why.contains(&limits.txn_bytes.to_string()), "{code} {why}");
    assert_eq!(refusal(true).await, (code, why));
    assert_eq!(store.snapshot().revision(), before);
}

/// A store whose namespace is gone at the moment of the first transaction, and exists again before
/// the response to that.
struct Renewed {
    store: MemoryStore,
    proposed: AtomicUsize,
}

impl Renewed {
    async fn set_live(&self, live: bool) {
        let key = Key::Live { namespace: "n" }.encode();
        let operation = if live {
            Operation::Put { key, value: Bytes::new() }
        } else {
            Operation::Delete { key }
        };
        self.store.txn(Txn { operations: vec![operation], ..Txn::default() }).await.unwrap();
    }
}

#[async_trait]
impl Layer for Renewed {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        self.set_live(self.proposed.fetch_add(1, Ordering::Relaxed) > 0).await;
        let outcome = self.store.txn(txn).await;
        self.set_live(true).await;
        outcome
    }
}

/// Found by `cargo run --profile simulation -p quorate-simulation -- --workload api --seed 5`, when
/// the response was a 409.
#[tokio::test]
async fn an_object_is_created_in_a_namespace_that_is_replaced_meanwhile() {
    let (graph, catalogue, env) = parts();
    let resource = catalogue.find("", "v1", "configmaps").unwrap();
    let store = MemoryStore::new(MemoryOptions::new(env.clock.clone()));
    let store = Arc::new(Renewed { store, proposed: AtomicUsize::default() });
    store.set_live(true).await;
    let writer = Writer::new(graph.names(), store.clone(), env);
    for metadata in [json!({"name": "a"}), json!({"generateName": "b-"})] {
        store.proposed.store(0, Ordering::Relaxed);
        let target = Target { resource, namespace: Some("n"), name: "" };
        let object = Value::from(json!({"metadata": metadata}));
        writer
            .create(
                target,
                object,
                WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE },
            )
            .await
            .unwrap();
        assert_eq!(store.proposed.load(Ordering::Relaxed), 2);
    }
}

/// A store whose one object another client writes again before every transaction; these are
/// counted.
struct Contested {
    store: MemoryStore,
    key: Bytes,
    value: Bytes,
    proposed: AtomicUsize,
}

impl Contested {
    async fn write_again(&self) {
        let operations = vec![Operation::Put { key: self.key.clone(), value: self.value.clone() }];
        self.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    }
}

#[async_trait]
impl Layer for Contested {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        self.proposed.fetch_add(1, Ordering::Relaxed);
        self.write_again().await;
        self.store.txn(txn).await
    }
}

#[tokio::test]
async fn a_change_that_is_always_overtaken_is_given_up() {
    let (graph, catalogue, env) = parts();
    let resource = catalogue.find("", "v1", "configmaps").unwrap();
    let target = Target { resource, namespace: Some("n"), name: "a" };
    let object = Value::from(json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"}}));
    let value = quorate_registry::stored_codec::encode(resource, &object).unwrap();
    let store = MemoryStore::new(MemoryOptions::new(env.clock.clone()));
    let store =
        Arc::new(Contested { store, key: target.key(), value, proposed: AtomicUsize::new(0) });
    store.write_again().await;
    let writer = Writer::new(graph.names(), store.clone(), env);
    let write = WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };
    let part = quorate_registry::Part::Main;
    let options = UpdateOptions { write, part, if_match: None, replaces: false, named: None };
    // The object of a patch that does not change `resourceVersion`.
    let change = |current: Option<&Value>| {
        let mut object = current.cloned().expect("the object exists");
        object.set_at(&["data", "k"], "v");
        Ok(object)
    };
    let refused = writer.update(target, options, change).await.expect_err("a conflict");
    assert_eq!((refused.into_status().code, store.proposed.load(Ordering::Relaxed)), (409, 32));
}
