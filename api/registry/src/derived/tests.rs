//! Tests of derived states, over a store in memory: what they hold, when they change, and when they
//! are refused.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use quorate_env::SystemEnv;
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_store::{Layer, MemoryOptions, MemoryStore, Operation, Txn};
use quorate_wire::stored;
use serde_json::json;

use super::*;
use crate::{ObjectTypes, Strategy};

/// The value of each object's `text`, by namespace and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Texts {
    by_name: BTreeMap<String, String>,
    /// All of them, as of the last [`Derived::finish`].
    joined: String,
}

impl Derived for Texts {
    fn update(&mut self, change: ObjectChange<'_>) {
        let text = |object: Option<&Value>| {
            object.and_then(|object| Some(object.str_at(&["text"])?.to_owned()))
        };
        let name = format!("{} {}/{}", change.plural, change.namespace, change.name);
        let old = match text(change.new) {
            Some(text) => self.by_name.insert(name, text),
            None => self.by_name.remove(&name),
        };
        assert_eq!(text(change.old), old, "the object before is the one that was taken in");
    }

    fn finish(&mut self) {
        self.joined = self.by_name.values().cloned().collect::<Vec<_>>().join(" ");
    }
}

#[derive(Debug)]
struct Plain;

impl Strategy for Plain {}

fn resource(plural: &str) -> Arc<Resource> {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    Arc::new(Resource {
        group: "g".to_owned(),
        version: "v1".to_owned(),
        api_version: "g/v1".to_owned(),
        kind: "Thing".to_owned(),
        list_kind: "ThingList".to_owned(),
        plural: plural.to_owned(),
        singular: "thing".to_owned(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        stored: true,
        served: true,
        verbs: Vec::new(),
        subresources: Vec::new(),
        selectable_fields: Vec::new(),
        types: ObjectTypes::Known(graph.clone(), graph.kinds()[0].ty),
        columns: Vec::new(),
        delete_returns_object: false,
        storage_group: "g".to_owned(),
        deprecation: None,
        storage_version: "v1".to_owned(),
        stored_form: None,
        reader: None,
        remote: None,
        conversions: Vec::new(),
        versions: Arc::default(),
        strategy: Arc::new(Plain),
        prefix: Resource::storage_prefix("g", plural),
        live: None,
        removal: None,
    })
}

/// A store that can lose its watches, and whose state can be stopped.
struct Faulty {
    store: MemoryStore,
    refuses_watches: AtomicBool,
    frozen: Mutex<Option<Snapshot>>,
}

#[async_trait]
impl Layer for Faulty {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    fn snapshot(&self) -> Snapshot {
        self.frozen.lock().clone().unwrap_or_else(|| self.store.snapshot())
    }

    async fn applied(&self, at: Revision) {
        while Layer::snapshot(self).revision() < at {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> Result<Watch, HistoryError> {
        if self.refuses_watches.load(Ordering::Relaxed) {
            return Err(HistoryError::Compacted { oldest: Revision::new(u64::MAX) });
        }
        self.store.watch(prefix, after)
    }
}

struct Setting {
    store: Arc<Faulty>,
    resources: Vec<Arc<Resource>>,
    state: Arc<DerivedState<Texts>>,
}

impl Setting {
    fn new() -> Self {
        let store = MemoryStore::new(MemoryOptions::new(SystemEnv::env().clock));
        let store = Arc::new(Faulty {
            store,
            refuses_watches: AtomicBool::new(false),
            frozen: Mutex::new(None),
        });
        let resources = vec![resource("as"), resource("bs")];
        let options = DerivedStateOptions {
            store: store.clone(),
            resources: resources.clone(),
            prefixes: resources.iter().map(|resource| resource.prefix(None)).collect(),
            what: "things",
        };
        Self { store, resources, state: Arc::new(DerivedState::new(options)) }
    }

    fn informer(&self) -> (Informer, InformerHandle) {
        Informer::new(InformerOptions { states: vec![self.state.clone()] })
    }

    fn value(text: &str) -> Bytes {
        let metadata = json!({"name": "n", "namespace": "a", "uid": "u"});
        stored::encode(&json!({"metadata": metadata, "text": text}).into(), &[]).unwrap()
    }

    /// Writes or deletes an object of the resource at this index.
    async fn put(&self, store: &dyn Store, index: usize, name: &str, value: Option<Bytes>) {
        let key = self.resources[index].key(Some("a"), name);
        let operation = match value {
            Some(value) => Operation::Put { key, value },
            None => Operation::Delete { key },
        };
        store.txn(Txn { operations: vec![operation], ..Txn::default() }).await.unwrap();
    }

    async fn set(&self, index: usize, name: &str, text: &str) {
        self.put(&*self.store, index, name, Some(Self::value(text))).await;
    }

    async fn synced(&self) {
        while !self.state.is_synced() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Writes an object of another resource.
async fn put_other(store: &dyn Store) {
    let operations =
        vec![Operation::Put { key: Bytes::from_static(b"o/other/x"), value: Bytes::new() }];
    store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
}

#[tokio::test]
async fn the_value_is_as_new_as_what_is_applied() {
    let setting = Setting::new();
    let check = |expect: &str, epoch: u64| {
        assert_eq!(setting.state.applied().joined, expect);
        assert_eq!(setting.state.epoch(), epoch, "{expect}");
    };
    check("", 0);
    setting.set(0, "x", "one").await;
    check("one", 1);
    setting.set(1, "x", "two").await;
    check("one two", 2);
    setting.set(0, "y", "three").await;
    setting.set(1, "x", "four").await;
    check("one three four", 3);
    setting.put(&*setting.store, 0, "x", None).await;
    assert_eq!(setting.state.cached().joined, "one three four");
    check("three four", 4);
    assert!(setting.state.is_synced());
    assert_eq!(setting.state.current().await.unwrap().joined, "three four");
}

#[tokio::test]
async fn the_value_changes_only_with_its_objects() {
    let setting = Setting::new();
    setting.set(0, "x", "one").await;
    let before = setting.state.applied();
    put_other(&*setting.store).await;
    assert!(Arc::ptr_eq(&before, &setting.state.applied()));
    assert_eq!(setting.state.epoch(), 1);
}

#[tokio::test]
async fn nothing_follows_from_what_cannot_be_read() {
    let setting = Setting::new();
    setting.set(0, "x", "one").await;
    setting.put(&*setting.store, 0, "y", Some(Bytes::from_static(b"?"))).await;
    assert_eq!(setting.state.applied().joined, "one");
    setting.put(&*setting.store, 0, "x", Some(Bytes::from_static(b"?"))).await;
    assert_eq!(setting.state.applied().joined, "");
    setting.set(0, "y", "two").await;
    assert_eq!(setting.state.applied().joined, "two");
}

#[tokio::test(start_paused = true)]
async fn without_an_informer_a_reader_that_waits_is_refused() {
    let setting = Setting::new();
    setting.set(0, "x", "one").await;
    let status = setting.state.current().await.unwrap_err().into_status();
    assert_eq!((status.code, status.message.as_str()), (503, "things have not been read yet"));
    let (informer, handle) = setting.informer();
    let (read, ()) = tokio::join!(
        async {
            let read = setting.state.current().await;
            handle.stop();
            read
        },
        informer.run()
    );
    assert_eq!(read.unwrap().joined, "one");
}

#[tokio::test(start_paused = true)]
async fn the_informer_takes_in_changes_before_a_reader_asks() {
    let setting = Setting::new();
    setting.set(0, "x", "one").await;
    let (informer, handle) = setting.informer();
    let running = tokio::spawn(informer.run());
    setting.synced().await;
    setting.set(1, "x", "two").await;
    while setting.state.cached().joined != "one two" {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    handle.stop();
    running.await.unwrap();
}

#[tokio::test]
async fn a_stopped_informer_does_not_run_and_one_without_states_ends() {
    let (informer, handle) = Setting::new().informer();
    handle.stop();
    informer.run().await;
    Informer::new(InformerOptions { states: Vec::new() }).0.run().await;
}

#[tokio::test(start_paused = true)]
async fn lost_changes_are_made_up_for_by_a_read() {
    let setting = Setting::new();
    setting.set(0, "x", "one").await;
    setting.store.refuses_watches.store(true, Ordering::Relaxed);
    assert_eq!(setting.state.applied().joined, "one", "read for one request");
    setting.set(0, "x", "two").await;
    assert_eq!(setting.state.applied().joined, "two");
    assert!(!setting.state.is_synced());
    let (informer, _) = setting.informer();
    let running = tokio::spawn(informer.run());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!setting.state.is_synced(), "there is no watch");
    setting.store.refuses_watches.store(false, Ordering::Relaxed);
    setting.synced().await;
    assert_eq!(setting.state.current().await.unwrap().joined, "two");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_what_this_node_has_acknowledged() {
    let setting = Setting::new();
    let store = recording_writes(setting.store.clone(), vec![setting.state.clone()]);
    setting.set(0, "x", "one").await;
    setting.state.applied();
    *setting.store.frozen.lock() = Some(Store::snapshot(&*setting.store));
    // A read waits neither for another node's write nor for one of another object.
    setting.set(0, "x", "two").await;
    put_other(&*store).await;
    setting.state.current().await.unwrap();
    setting.put(&*store, 0, "x", Some(Setting::value("three"))).await;
    let refused = setting.state.current().await.unwrap_err().into_status();
    assert_eq!(refused.message, "this node has not caught up with a change of things");
    let thaw = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        *setting.store.frozen.lock() = None;
    };
    let (read, ()) = tokio::join!(setting.state.current(), thaw);
    assert_eq!(read.unwrap().joined, "three");
}
