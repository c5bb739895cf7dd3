//! Tests of writes over a store in memory, through every phase of the writer.

mod create;
mod delete;
mod namespace;
mod particular;
mod update;

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
