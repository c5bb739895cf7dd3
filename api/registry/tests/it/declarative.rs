//! Declarative validation of writes: both results are compared, and the gates say which counts.

use std::sync::Arc;

use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Cause, Naming, Value};
use quorate_registry::features::Gates;
use quorate_registry::write::*;
use quorate_registry::{Catalogue, Error, Part, Resource, stored_codec};
use quorate_schema::{Graph, apply_defaults, declarative, idl};
use quorate_store::{MemoryOptions, MemoryStore, Store};
use serde_json::json;

use crate::random::Random;

const WRITE: WriteOptions<'_> =
    WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };
const DRY: WriteOptions<'_> =
    WriteOptions { dry_run: true, manager: "test", given: GivenOptions::NONE };
const REPLACE: UpdateOptions<'_> =
    UpdateOptions { write: WRITE, part: Part::Main, if_match: None, replaces: true, named: None };
const CONTROLLERS: &str = "/v1/replicationcontrollers";

/// The kinds whose rules are run.
const KINDS: [&str; 8] = [
    CONTROLLERS,
    "certificates.svc.io/v1/certificatesigningrequests",
    "rbac.authorization.svc.io/v1/clusterroles",
    "rbac.authorization.svc.io/v1/rolebindings",
    "resource.svc.io/v1/deviceclasses",
    "resource.svc.io/v1/resourceclaims",
    "resource.svc.io/v1/resourceslices",
    "storage.svc.io/v1/storageclasses",
];
/// Random objects of each kind.
const SEEDS: u64 = 400;

struct Cluster {
    writer: Writer,
    catalogue: Catalogue,
    graph: Arc<Graph>,
    store: Arc<dyn Store>,
}

impl Cluster {
    async fn with(graph: Graph, gates: &str) -> Self {
        let env = SystemEnv::env();
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        Self::over(store, graph, gates).await
    }

    async fn over(store: Arc<dyn Store>, graph: Graph, gates: &str) -> Self {
        let graph = Arc::new(graph);
        let gates: Gates = gates.parse().unwrap();
        let writer = Writer::new(graph.names(), store.clone(), SystemEnv::env()).gated_by(gates);
        let cluster = Self { writer, catalogue: builtin::catalogue(&graph), graph, store };
        let namespace = cluster.object("/v1/namespaces", json!({"metadata": {"name": "n"}}));
        // It may be there from another cluster over this store.
        let _ = cluster.writer.create(cluster.target("/v1/namespaces", ""), namespace, WRITE).await;
        cluster
    }

    fn resource(&self, path: &str) -> &Arc<Resource> {
        let [group, version, plural] = path.split('/').collect::<Vec<_>>()[..] else {
            panic!("{path}")
        };
        self.catalogue.find(group, version, plural).unwrap()
    }

    fn target<'a>(&'a self, path: &str, name: &'a str) -> Target<'a> {
        let resource = self.resource(path);
        Target { resource, namespace: resource.namespaced.then_some("n"), name }
    }

    fn object(&self, path: &str, object: impl Into<Value>) -> Value {
        let (resource, mut object) = (self.resource(path), object.into());
        object.set_at(&["apiVersion"], resource.api_version.as_str());
        object.set_at(&["kind"], resource.kind.as_str());
        quorate_schema::decode(&self.graph, resource.ty(), &mut object).unwrap();
        apply_defaults(&self.graph, resource.ty(), &mut object);
        resource.strategy.default(self.graph.names(), &mut object);
        object
    }

    async fn create(&self, replicas: i64, options: WriteOptions<'_>) -> Result<Answer, Error> {
        let object = self.object(CONTROLLERS, controller(replicas));
        self.writer.create(self.target(CONTROLLERS, ""), object, options).await
    }

    async fn replace(&self, replicas: i64) -> Result<Answer, Error> {
        let object = self.object(CONTROLLERS, controller(replicas));
        let target = self.target(CONTROLLERS, "a");
        self.writer.update(target, REPLACE, |_| Ok(object.clone())).await
    }

    fn mismatches(&self) -> u64 {
        self.writer.declarative_counts().mismatches()
    }
}

fn controller(replicas: i64) -> serde_json::Value {
    json!({"metadata": {"name": "a"}, "spec": {"replicas": replicas, "selector": {"a": "b"},
        "template": {"metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn builtin_graph() -> Graph {
    Graph::builtin(Naming::Svc.names())
}

/// The schema with another least number of replicas.
fn planted(minimum: &str) -> Graph {
    let plant = |(name, text): (&'static str, &'static str)| {
        const RULE: &str = "rules=optional;minimum:0 -- How many pods should run";
        let planted = text.replace(RULE, &RULE.replace("minimum:0", minimum));
        assert_eq!(planted == text, name != "core_v1.idl", "{name}");
        (name, &*Box::leak(planted.into_boxed_str()))
    };
    let files: Vec<(&str, &'static str)> = idl::FILES.into_iter().map(plant).collect();
    Graph::load(Naming::Svc.names(), &files).unwrap()
}

fn fields(answer: Result<Answer, Error>) -> Vec<String> {
    let status = answer.expect_err("a refusal").into_status();
    let causes = status.details.map(|details| details.causes).unwrap_or_default();
    causes.into_iter().map(|cause| cause.field).collect()
}

#[tokio::test]
async fn random_objects_have_no_mismatch() {
    let cluster = Cluster::with(builtin_graph(), "").await;
    for path in KINDS {
        let resource = cluster.resource(path);
        assert!(resource.strategy.has_declared_rules(), "{path}");
        let (mut refused, mut before, mut found) = (0, cluster.mismatches(), Vec::new());
        for seed in 0..SEEDS {
            let mut object = Random::new(&cluster.graph, seed).object(resource.ty());
            object.set_at(&["metadata"], Value::from(json!({"name": format!("o{seed}")})));
            let object = cluster.object(path, object);
            let shown = object.clone();
            let target = cluster.target(path, "");
            let by_rules = declarative::check(&cluster.graph, resource.ty(), None, &shown);
            let answer = cluster.writer.create(target, object, DRY).await;
            refused += u64::from(answer.is_err());
            if cluster.mismatches() > before {
                before = cluster.mismatches();
                let by_hand = answer.err().map(|error| error.into_status().details);
                found.push(format!("{path}, seed {seed}: {by_rules:?}, by hand {by_hand:?}"));
            }
        }
        assert_eq!(found, [] as [String; 0]);
        assert!(refused > 0 || path.contains("clusterroles"), "{path}: nothing was wrong");
    }
}

#[tokio::test]
async fn a_planted_mismatch_is_found() {
    for (minimum, replicas, by_hand) in [("minimum:2", 1, true), ("minimum:-5", -1, false)] {
        let both = Cluster::with(planted(minimum), "").await;
        assert_eq!(both.create(replicas, DRY).await.is_ok(), by_hand, "{minimum}");
        assert_eq!(both.mismatches(), 1, "{minimum}");
        both.create(7, DRY).await.unwrap();
        assert_eq!(both.mismatches(), 1, "{minimum}");

        let takeover = Cluster::with(planted(minimum), "DeclarativeValidationTakeover=true").await;
        assert_eq!(takeover.create(replicas, DRY).await.is_ok(), !by_hand, "{minimum}");
        assert_eq!(takeover.mismatches(), 1, "{minimum}");

        let off = Cluster::with(planted(minimum), "DeclarativeValidation=false").await;
        assert_eq!(off.create(replicas, DRY).await.is_ok(), by_hand, "{minimum}");
        assert_eq!(off.mismatches(), 0, "{minimum}");
    }
}

#[tokio::test]
async fn the_rules_of_a_scale_are_compared_too() {
    let cluster = Cluster::with(builtin_graph(), "").await;
    let form = cluster.resource(CONTROLLERS).subresource("scale").unwrap().body.clone().unwrap();
    let check = |replicas: i64, by_hand: Vec<Cause>, expect: &[&str], mismatches: u64| {
        let scale = json!({"metadata": {"name": "a"}, "spec": {"replicas": replicas}}).into();
        let before = cluster.mismatches();
        let answer = cluster.writer.check_body(&form, "a", None, &scale, by_hand);
        let found = answer.err().map(Error::into_status).and_then(|status| status.details);
        let found = found.map(|details| details.causes).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!((&found[..], cluster.mismatches() - before), (expect, mismatches), "{replicas}");
    };
    let negative = || Cause::invalid("spec.replicas", -1, "must be greater than or equal to 0");
    check(3, vec![], &[], 0);
    check(-1, vec![negative()], &["spec.replicas"], 0);
    check(-1, vec![], &[], 1);
    check(3, vec![negative()], &["spec.replicas"], 1);
}

#[tokio::test]
async fn takeover_answers_what_the_rules_say() {
    let cluster = Cluster::with(builtin_graph(), "DeclarativeValidationTakeover=true").await;
    assert_eq!(fields(cluster.create(-1, DRY).await), ["spec.replicas"]);
    let mut other = controller(-1);
    other["spec"]["template"]["metadata"]["labels"] = json!({"a": "c"});
    let object = cluster.object(CONTROLLERS, other);
    let answer = cluster.writer.create(cluster.target(CONTROLLERS, ""), object, DRY).await;
    // What no rule is about comes first and still counts.
    assert_eq!(fields(answer), ["spec.template.metadata.labels", "spec.replicas"]);
}

#[tokio::test]
async fn a_rollback_reads_what_takeover_let_in_and_names_what_to_correct() {
    let takeover = Cluster::with(planted("minimum:-5"), "DeclarativeValidationTakeover=true").await;
    takeover.create(-1, WRITE).await.unwrap();
    let gates = "DeclarativeValidation=false,DeclarativeValidationTakeover=false";
    let back = Cluster::over(takeover.store.clone(), builtin_graph(), gates).await;
    let target = back.target(CONTROLLERS, "a");
    let snapshot = back.store.snapshot();
    let entry = snapshot.get(&target.key()).unwrap();
    let stored = stored_codec::decode(target.resource, entry).unwrap();
    assert_eq!(stored.at(&["spec", "replicas"]).and_then(Value::as_i64), Some(-1));
    assert_eq!(fields(back.replace(-1).await), ["spec.replicas"]);
    back.replace(3).await.unwrap();
}
