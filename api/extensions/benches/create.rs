//! The creation of an object without HTTP and without a commit: a custom resource of some size, with and
//! without rules in CEL, beside a ConfigMap of as many bytes.
//!
//! `cargo bench -p quorate-extensions --bench create`. `decode` is the body's way to an object with its
//! defaults, `check` the schema and the rules of the definition alone, `write` all phases of a creation, in a
//! dry run with the store in memory.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;
use std::sync::Arc;

use async_trait::async_trait;
use criterion::{Criterion, criterion_group, criterion_main};
use quorate_env::SystemEnv;
use quorate_extensions::crd::conversion::Webhooks;
use quorate_extensions::crd::definition::Definition;
use quorate_extensions::crd::resource::{Removals, ResourceBase, resources};
use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};
use quorate_registry::keys::Key;
use quorate_registry::write::{Target, WriteOptions, Writer};
use quorate_registry::{Catalogue, Resource};
use quorate_schema::apply_defaults;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use quorate_webhook::{Clients, Outside, ServiceResolver};
use quorate_wire::{json, yaml};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

const NAMING: Naming = Naming::Kubernetes;
const NAMESPACE: &str = "bench";
/// The word of schemas that rules stand under.
const RULES: &str = "x-kubernetes-validations";

/// What is created, over and over.
struct Subject {
    name: &'static str,
    resource: Arc<Resource>,
    body: Vec<u8>,
}

impl Subject {
    /// An object of the definition.
    fn custom(name: &'static str, base: &ResourceBase, definition: &Value) -> Self {
        let definition = Definition::read(definition).unwrap();
        let resource = resources(base, &definition, &Removals::new()).remove(0);
        let (object, _) = yaml::parse(include_bytes!("certificate.yaml")).unwrap();
        Self { name, resource, body: json::to_vec(&object) }
    }

    /// A ConfigMap of so many bytes.
    fn config_map(catalogue: &Catalogue, bytes: usize) -> Self {
        let body = |text: &str| {
            let metadata = json!({"name": "shop-example-org", "namespace": NAMESPACE, "labels": {"a": "1", "b": "2"}});
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"payload": text}});
            serde_json::to_vec(&object).unwrap()
        };
        let body = body(&"x".repeat(bytes - body("").len()));
        let resource = catalogue.find("", "v1", "configmaps").unwrap().clone();
        Self { name: "ConfigMap", resource, body }
    }

    fn decode(&self) -> Value {
        let (mut object, _) = json::parse(&self.body).unwrap();
        let (graph, ty) = (self.resource.graph(), self.resource.ty());
        let unknown = quorate_schema::decode(graph, ty, &mut object).unwrap();
        assert!(unknown.paths.is_empty(), "{unknown:?}");
        apply_defaults(graph, ty, &mut object);
        object
    }

    fn check(&self, object: &Value) {
        let strategy = &self.resource.strategy;
        let mut causes = strategy.validate(NAMING.names(), object);
        causes.extend(strategy.validate_create(NAMING.names(), object));
        causes.extend(strategy.evaluate_rules(None, object, &causes).causes);
        assert!(causes.is_empty(), "{causes:?}");
    }

    async fn write(&self, writer: &Writer, object: Value) {
        let target = Target { resource: &self.resource, namespace: Some(NAMESPACE), name: "" };
        let options = WriteOptions { dry_run: true, manager: "bench" };
        black_box(writer.create(target, object, options).await.unwrap());
    }
}

/// The definition, established.
fn definition() -> Value {
    let (mut definition, _) = yaml::parse(include_bytes!("certificates.yaml")).unwrap();
    let names = definition.at(&["spec", "names"]).unwrap().clone();
    let mut status =
        Value::from(json!({"conditions": [{"type": "Established", "status": "True"}]}));
    status.as_map_mut().unwrap().insert("acceptedNames", names);
    definition.as_map_mut().unwrap().insert("status", status);
    definition
}

/// Removes the rules of a schema, and of all that is in it.
fn drop_rules(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.remove(RULES);
            map.values_mut().for_each(drop_rules);
        }
        Value::List(items) => items.iter_mut().for_each(drop_rules),
        _ => {}
    }
}

/// Knows no Service.
#[derive(Debug)]
struct NoServices;

#[async_trait]
impl ServiceResolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<String, String> {
        Err(format!("service {name:?} not found"))
    }
}

fn webhooks() -> Webhooks {
    let env = SystemEnv::env();
    let services = Arc::new(NoServices);
    let outside = Outside { network: env.network, clock: env.clock, services, roots: Vec::new() };
    Webhooks { clients: Arc::new(Clients::new(outside)), entropy: env.entropy }
}

fn subjects() -> Vec<Subject> {
    let catalogue = builtin::catalogue_of(NAMING.names());
    let base = ResourceBase::of(&catalogue, webhooks());
    let with_rules = definition();
    let mut without = with_rules.clone();
    drop_rules(&mut without);
    let custom = Subject::custom("Certificate", &base, &with_rules);
    let plain = Subject::custom("Certificate without rules", &base, &without);
    vec![Subject::config_map(&catalogue, custom.body.len()), plain, custom]
}

/// A writer to a store that has the markers of the namespace and the definition.
async fn writer(subjects: &[Subject]) -> Writer {
    let env = SystemEnv::env();
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
    let namespace = Operation::Put {
        key: Key::Live { namespace: NAMESPACE }.encode(),
        value: bytes::Bytes::new(),
    };
    let live = subjects.last().and_then(|subject| subject.resource.live.as_ref()).unwrap();
    let definition = Operation::Put { key: live.key.clone(), value: live.uid.clone() };
    store
        .txn(Txn { conditions: Vec::new(), operations: vec![namespace, definition] })
        .await
        .unwrap();
    Writer::new(NAMING.names(), store, env)
}

fn create(criterion: &mut Criterion) {
    let runtime: Runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let subjects = subjects();
    let writer = runtime.block_on(writer(&subjects));
    for step in ["decode", "check", "write"] {
        let mut group = criterion.benchmark_group(step);
        for subject in &subjects {
            let object = subject.decode();
            group.bench_function(subject.name, |bencher| match step {
                "decode" => bencher.iter(|| black_box(subject.decode())),
                "check" => bencher.iter(|| subject.check(black_box(&object))),
                _ => bencher.iter(|| runtime.block_on(subject.write(&writer, object.clone()))),
            });
        }
        group.finish();
    }
}

criterion_group!(benches, create);
criterion_main!(benches);
