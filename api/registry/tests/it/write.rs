//! Tests of writes over a store in memory, through every phase of the writer.

mod particular;

use std::sync::Arc;

use quorate_env::SystemEnv;
use quorate_meta::{Naming, Value};
use quorate_schema::{Graph, apply_defaults};
use quorate_store::{MemoryOptions, MemoryStore, Revision, Store};
use serde_json::json;

use quorate_kinds::builtin;
use quorate_registry::keys::Key;
use quorate_registry::write::*;
use quorate_registry::{Catalogue, Error, Part, Resource, Strategy, stored_codec};

use crate::awkward_store::{Awkward, anybody};

const WRITE: WriteOptions<'_> =
    WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };
const DRY: WriteOptions<'_> =
    WriteOptions { dry_run: true, manager: "test", given: GivenOptions::NONE };
const REPLACE: UpdateOptions<'_> =
    UpdateOptions { write: WRITE, part: Part::Main, if_match: None, replaces: true, named: None };

/// A cluster with the namespace `n`.
struct Cluster {
    writer: Writer,
    catalogue: Catalogue,
    graph: Arc<Graph>,
    store: Arc<dyn Store>,
}

impl Cluster {
    async fn new() -> Self {
        Self::over(|store| Arc::new(store)).await
    }

    /// A cluster whose node is behind and whose writers run concurrently.
    async fn awkward() -> Self {
        Self::over(|store| Arc::new(Awkward::new(store))).await
    }

    async fn over(wrap: impl FnOnce(MemoryStore) -> Arc<dyn Store>) -> Self {
        let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
        let env = SystemEnv::env();
        let store = wrap(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        let writer = Writer::new(graph.names(), store.clone(), env);
        let cluster = Self { writer, catalogue: builtin::catalogue(&graph), graph, store };
        cluster.create("namespaces", json!({"metadata": {"name": "n"}}), WRITE).await.unwrap();
        cluster
    }

    fn target<'a>(&'a self, plural: &str, name: &'a str) -> Target<'a> {
        let resource = self.catalogue.find("", "v1", plural).unwrap();
        Target { resource, namespace: resource.namespaced.then_some("n"), name }
    }

    /// An object as a handler passes it.
    fn decoded(&self, plural: &str, object: serde_json::Value) -> Value {
        let resource = self.target(plural, "").resource;
        let mut object = Value::from(object);
        object.set_at(&["apiVersion"], resource.api_version.as_str());
        object.set_at(&["kind"], resource.kind.as_str());
        quorate_schema::decode(&self.graph, resource.ty(), &mut object).unwrap();
        apply_defaults(&self.graph, resource.ty(), &mut object);
        resource.strategy.default(self.graph.names(), &mut object);
        object
    }

    async fn create(
        &self,
        plural: &str,
        object: serde_json::Value,
        options: WriteOptions<'_>,
    ) -> Result<Answer, Error> {
        self.writer.create(self.target(plural, ""), self.decoded(plural, object), options).await
    }

    async fn put(
        &self,
        plural: &str,
        name: &str,
        object: serde_json::Value,
        options: UpdateOptions<'_>,
    ) -> Result<Answer, Error> {
        let object = self.decoded(plural, object);
        self.writer.update(self.target(plural, name), options, |_| Ok(object.clone())).await
    }

    async fn delete(&self, plural: &str, name: &str) -> Result<Answer, Error> {
        self.writer.delete(self.target(plural, name), &DeleteOptions::default()).await
    }

    /// The stored object; null when there is none.
    fn get(&self, plural: &str, name: &str) -> serde_json::Value {
        let target = self.target(plural, name);
        let snapshot = self.store.snapshot();
        let entry = snapshot.get(&target.key());
        entry.map_or_else(
            || json!(null),
            |entry| {
                serde_json::to_value(stored_codec::decode(target.resource, entry).unwrap()).unwrap()
            },
        )
    }

    fn is_live(&self, namespace: &str) -> bool {
        self.store.snapshot().get(&Key::Live { namespace }.encode()).is_some()
    }
}

#[track_caller]
fn refused(answer: Result<Answer, Error>) -> (u16, String) {
    let status = answer.expect_err("a refusal").into_status();
    (status.code, status.reason.as_str().to_owned())
}

fn refusal(code: u16, reason: &str) -> (u16, String) {
    (code, reason.to_owned())
}

#[tokio::test]
async fn a_created_object_is_stored_with_its_identity_and_owners() {
    let cluster = Cluster::new().await;
    let answer = cluster
        .create("configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "v"}}), WRITE)
        .await
        .unwrap();
    assert_eq!(answer.outcome, Outcome::Created);
    let stored = cluster.get("configmaps", "a");
    assert_eq!(stored["metadata"]["resourceVersion"], json!(answer.revision.to_string()));
    assert_eq!(stored["metadata"]["namespace"], "n");
    assert_eq!(stored["metadata"]["uid"].as_str().map(str::len), Some(36));
    let owner = &stored["metadata"]["managedFields"][0];
    assert_eq!((&owner["manager"], &owner["operation"]), (&json!("test"), &json!("Update")));
    assert_eq!(owner["fieldsV1"], json!({"f:data": {".": {}, "f:k": {}}}));
    let again = cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await;
    assert_eq!(refused(again), refusal(409, "AlreadyExists"));
}

#[tokio::test]
async fn names_are_generated_and_checked() {
    let cluster = Cluster::new().await;
    for _ in 0..3 {
        cluster
            .create("configmaps", json!({"metadata": {"generateName": "g-"}}), WRITE)
            .await
            .unwrap();
    }
    let resource = cluster.target("configmaps", "").resource;
    assert_eq!(cluster.store.snapshot().count(&resource.prefix(Some("n")), None), 3);
    let bad = cluster.create("configmaps", json!({"metadata": {"name": "Bad_Name"}}), WRITE).await;
    assert_eq!(refused(bad), refusal(422, "Invalid"));
    let versioned = cluster
        .create("configmaps", json!({"metadata": {"name": "a", "resourceVersion": "7"}}), WRITE)
        .await;
    assert_eq!(refused(versioned), refusal(500, ""));
}

#[tokio::test]
async fn a_namespace_takes_objects_only_while_it_is_live() {
    let cluster = Cluster::new().await;
    let maps = cluster.target("configmaps", "").resource;
    let elsewhere = Target { resource: maps, namespace: Some("nowhere"), name: "" };
    for name in ["a", "Bad_Name"] {
        let object = cluster.decoded("configmaps", json!({"metadata": {"name": name}}));
        assert_eq!(
            refused(cluster.writer.create(elsewhere, object.clone(), WRITE).await),
            refusal(404, "NotFound")
        );
        assert_eq!(
            refused(cluster.writer.create(elsewhere, object, DRY).await),
            refusal(404, "NotFound")
        );
    }
    assert!(cluster.is_live("n"));
    assert_eq!(cluster.delete("namespaces", "n").await.unwrap().outcome, Outcome::Terminating);
    assert!(!cluster.is_live("n"));
    assert_eq!(cluster.get("namespaces", "n")["status"]["phase"], "Terminating");
    let late = cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await;
    assert_eq!(refused(late), refusal(403, "Forbidden"));
    let again = cluster.create("namespaces", json!({"metadata": {"name": "n"}}), WRITE).await;
    assert_eq!(refused(again), refusal(409, "AlreadyExists"));
}

#[tokio::test]
async fn a_namespace_goes_when_it_is_finalized() {
    let cluster = Cluster::new().await;
    cluster.delete("namespaces", "n").await.unwrap();
    let plain = cluster
        .put("namespaces", "n", json!({"metadata": {"name": "n"}, "spec": {}}), REPLACE)
        .await
        .unwrap();
    assert_ne!(plain.outcome, Outcome::Removed, "only the subresource finalizes");
    let finalize = UpdateOptions { part: Part::Finalize, ..REPLACE };
    let done = cluster
        .put("namespaces", "n", json!({"metadata": {"name": "n"}, "spec": {}}), finalize)
        .await
        .unwrap();
    assert_eq!(done.outcome, Outcome::Removed);
    assert_eq!(cluster.get("namespaces", "n"), json!(null));
    cluster.create("namespaces", json!({"metadata": {"name": "n"}}), WRITE).await.unwrap();
    assert!(cluster.is_live("n"));
}

#[tokio::test]
async fn some_namespaces_are_never_deleted() {
    let cluster = Cluster::new().await;
    cluster.create("namespaces", json!({"metadata": {"name": "svc-system"}}), WRITE).await.unwrap();
    assert_eq!(
        refused(cluster.delete("namespaces", "svc-system").await),
        refusal(403, "Forbidden")
    );
}

#[tokio::test]
async fn an_update_replaces_what_it_has_seen() {
    let cluster = Cluster::new().await;
    let first = cluster
        .create("configmaps", json!({"metadata": {"name": "a"}, "data": {"k": "1"}}), WRITE)
        .await
        .unwrap();
    let object = |data: &str, version: String| json!({"metadata": {"name": "a", "resourceVersion": version}, "data": {"k": data}});
    let second = cluster
        .put("configmaps", "a", object("2", first.revision.to_string()), REPLACE)
        .await
        .unwrap();
    assert_eq!(second.outcome, Outcome::Updated);
    let stale =
        cluster.put("configmaps", "a", object("3", first.revision.to_string()), REPLACE).await;
    assert_eq!(refused(stale), refusal(409, "Conflict"));
    for anything in ["", "0"] {
        cluster.put("configmaps", "a", object(anything, anything.into()), REPLACE).await.unwrap();
    }
    let other = json!({"metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}});
    assert_eq!(
        refused(cluster.put("configmaps", "a", other, REPLACE).await),
        refusal(409, "Conflict")
    );
    assert_eq!(
        refused(cluster.put("configmaps", "b", object("1", String::new()), REPLACE).await),
        refusal(404, "NotFound")
    );
}

#[tokio::test]
async fn if_match_binds_an_update() {
    let cluster = Cluster::new().await;
    let first =
        cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await.unwrap();
    let version = first.revision.to_string();
    let put = |data: &'static str, tag: String| {
        let cluster = &cluster;
        async move {
            let options = UpdateOptions { if_match: Some(&tag), ..REPLACE };
            cluster
                .put(
                    "configmaps",
                    "a",
                    json!({"metadata": {"name": "a"}, "data": {"k": data}}),
                    options,
                )
                .await
        }
    };
    assert_eq!(put("1", format!("\"{version}\"")).await.unwrap().outcome, Outcome::Updated);
    assert_eq!(refused(put("2", version).await), refusal(409, "Conflict"));
    assert_eq!(put("3", "*".into()).await.unwrap().outcome, Outcome::Updated);
}

#[tokio::test]
async fn an_update_without_a_change_writes_nothing() {
    let cluster = Cluster::new().await;
    let object = || json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "1"}});
    let created = cluster.create("configmaps", object(), WRITE).await.unwrap();
    let same = cluster.put("configmaps", "a", object(), REPLACE).await.unwrap();
    assert_eq!((same.outcome, same.revision), (Outcome::Unchanged, created.revision));
    assert_eq!(cluster.store.snapshot().revision(), created.revision);
}

#[tokio::test]
async fn a_change_is_made_again_when_it_is_overtaken() {
    let cluster = Cluster::awkward().await;
    cluster
        .create("configmaps", json!({"metadata": {"name": "a"}, "data": {}}), WRITE)
        .await
        .unwrap();
    let add = |key: &'static str| {
        let cluster = &cluster;
        async move {
            let change = |current: Option<&Value>| {
                let mut object = current.cloned().expect("the object exists");
                object.set_at(&["data", key], "x");
                Ok(object)
            };
            let options = UpdateOptions { replaces: false, ..REPLACE };
            // The change has the version that it was made from, like a patch that does not touch
            // it.
            cluster.writer.update(cluster.target("configmaps", "a"), options, change).await
        }
    };
    let (a, b, c) = tokio::join!(add("a"), add("b"), add("c"));
    assert!([a, b, c].iter().all(Result::is_ok));
    cluster.store.read_index().await.unwrap();
    assert_eq!(cluster.get("configmaps", "a")["data"], json!({"a": "x", "b": "x", "c": "x"}));
}

#[tokio::test]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let cluster = Cluster::new().await;
    let object = |finalizers: &[&str]| json!({"metadata": {"name": "a", "finalizers": finalizers}});
    cluster.create("configmaps", object(&["example.com/a", "example.com/b"]), WRITE).await.unwrap();
    let begun = cluster.delete("configmaps", "a").await.unwrap();
    assert_eq!(begun.outcome, Outcome::Terminating);
    let stored = cluster.get("configmaps", "a");
    assert_eq!(stored["metadata"]["deletionGracePeriodSeconds"], 0);
    let again = cluster.delete("configmaps", "a").await.unwrap();
    assert_eq!((again.outcome, again.revision), (Outcome::Unchanged, begun.revision));
    let added =
        cluster.put("configmaps", "a", object(&["example.com/a", "example.com/c"]), REPLACE).await;
    assert_eq!(refused(added), refusal(422, "Invalid"));
    let one = cluster.put("configmaps", "a", object(&["example.com/b"]), REPLACE).await.unwrap();
    assert_eq!(one.outcome, Outcome::Updated);
    assert_eq!(
        cluster.get("configmaps", "a")["metadata"]["deletionTimestamp"],
        stored["metadata"]["deletionTimestamp"]
    );
    let none = cluster.put("configmaps", "a", object(&[]), REPLACE).await.unwrap();
    assert_eq!(none.outcome, Outcome::Removed);
    assert_eq!(cluster.get("configmaps", "a"), json!(null));
}

#[tokio::test]
async fn preconditions_bind_a_deletion() {
    let cluster = Cluster::new().await;
    cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await.unwrap();
    let stored = cluster.get("configmaps", "a");
    let text = |field: &str| stored["metadata"][field].as_str().unwrap().to_owned();
    let delete = |uid: Option<String>, resource_version: Option<String>| {
        let cluster = &cluster;
        async move {
            let preconditions = Preconditions { uid, resource_version };
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            cluster.writer.delete(cluster.target("configmaps", "a"), &options).await
        }
    };
    assert_eq!(refused(delete(Some("other".into()), None).await), refusal(409, "Conflict"));
    assert_eq!(
        refused(delete(Some(text("uid")), Some("1".into())).await),
        refusal(409, "Conflict")
    );
    let done = delete(Some(text("uid")), Some(text("resourceVersion"))).await.unwrap();
    assert_eq!(done.outcome, Outcome::Removed);
    assert_eq!(refused(delete(None, None).await), refusal(404, "NotFound"));
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_writes_nothing() {
    let cluster = Cluster::new().await;
    let object = |data: &str| json!({"metadata": {"name": "a", "finalizers": ["example.com/a"]}, "data": {"k": data}});
    let dry = cluster.create("configmaps", object("1"), DRY).await.unwrap();
    assert_eq!((dry.outcome, dry.revision), (Outcome::Created, Revision::ZERO));
    assert_eq!(cluster.get("configmaps", "a"), json!(null));
    let real = cluster.create("configmaps", object("1"), WRITE).await.unwrap();
    assert_eq!(
        refused(cluster.create("configmaps", object("1"), DRY).await),
        refusal(409, "AlreadyExists")
    );
    let put = UpdateOptions { write: DRY, ..REPLACE };
    assert_eq!(
        cluster.put("configmaps", "a", object("2"), put).await.unwrap().revision,
        real.revision
    );
    let options = DeleteOptions { dry_run: true, ..DeleteOptions::default() };
    let dry = cluster.writer.delete(cluster.target("configmaps", "a"), &options).await.unwrap();
    assert_eq!(dry.outcome, Outcome::Terminating);
    assert_eq!(cluster.store.snapshot().revision(), real.revision);
}

#[tokio::test]
async fn a_namespace_belongs_to_its_writers_only_in_part() {
    let cluster = Cluster::new().await;
    let fields = cluster.get("namespaces", "n")["metadata"]["managedFields"][0]["fieldsV1"].clone();
    assert_eq!(
        fields,
        json!({"f:metadata": {"f:labels": {".": {}, "f:svc.io/metadata.name": {}}}})
    );
}

#[tokio::test]
async fn nothing_is_refused_because_this_node_is_behind() {
    let cluster = Cluster::awkward().await;
    let first =
        cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE).await.unwrap();
    let object = json!({"metadata": {"name": "a", "resourceVersion": first.revision.to_string()}, "data": {"k": "1"}});
    assert_eq!(cluster.get("configmaps", "a"), json!(null), "the node has not seen it");
    let second = cluster.put("configmaps", "a", object.clone(), REPLACE).await.unwrap();
    assert_eq!(second.outcome, Outcome::Updated);
    assert_eq!(
        refused(cluster.put("configmaps", "a", object, REPLACE).await),
        refusal(409, "Conflict")
    );
    // A change that equals the old state of this node is a change all the same.
    let back = json!({"metadata": {"name": "a"}});
    assert_eq!(
        cluster.put("configmaps", "a", back, REPLACE).await.unwrap().outcome,
        Outcome::Updated
    );
    assert_eq!(cluster.delete("configmaps", "a").await.unwrap().outcome, Outcome::Removed);
    cluster.create("configmaps", json!({"metadata": {"name": "b"}}), WRITE).await.unwrap();
    assert_eq!(cluster.delete("configmaps", "b").await.unwrap().outcome, Outcome::Removed);
}

#[tokio::test]
async fn of_two_creations_one_wins() {
    let cluster = Cluster::awkward().await;
    let create = || cluster.create("configmaps", json!({"metadata": {"name": "a"}}), WRITE);
    let (one, two) = tokio::join!(create(), create());
    assert_eq!([&one, &two].iter().filter(|answer| answer.is_ok()).count(), 1);
    assert_eq!(cluster.delete("namespaces", "n").await.unwrap().outcome, Outcome::Terminating);
    assert!(cluster.is_live("n"), "the node has not seen it");
    let late = cluster.create("configmaps", json!({"metadata": {"name": "b"}}), WRITE).await;
    assert_eq!(refused(late), refusal(403, "Forbidden"));
}
