//! Tests of the admission pipeline: which phases ask admission for each operation, with which
//! attributes.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Status, Value};
use quorate_registry::keys::Key;
use quorate_registry::write::{
    DeleteOptions, GivenOptions, Outcome, Phase, Put, SubresourceRequest, Target, UpdateOptions,
    WriteOptions, Writer,
};
use quorate_registry::{
    Admission, AdmissionOperation, Attributes, Catalogue, Error, Part, Terms, stored_codec,
};
use quorate_schema::Graph;
use quorate_store::{Condition, MemoryOptions, MemoryStore, Operation, Revision, Store, Txn};
use serde_json::json;

const WRITE: WriteOptions<'_> =
    WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };
const REPLACE: UpdateOptions<'_> =
    UpdateOptions { write: WRITE, part: Part::Main, if_match: None, replaces: true, named: None };

/// An admission that records its calls.
#[derive(Debug, Default)]
struct Recorder {
    asked: Mutex<Vec<String>>,
    /// The message of a refusal by the validate phase.
    refusal: Mutex<Option<&'static str>>,
    /// Conditions of the next terms.
    conditions: Mutex<Vec<Condition>>,
    /// Where a policy is written while the next write is validated; from then on it refuses.
    policy_in: Mutex<Option<Arc<MemoryStore>>>,
    /// The field that mutation sets in the object, as a patch from outside would.
    patch: Mutex<Option<(&'static [&'static str], Value)>>,
}

impl Recorder {
    fn record(&self, phase: &str, attributes: &Attributes<'_>) {
        let Attributes { operation, target, subresource, old, new, .. } = attributes;
        let parts =
            [(old, "old"), (new, "new")].map(|(part, name)| if part.is_some() { name } else { "" });
        let mut line =
            format!("{phase} {operation:?} {}/{} {}", target.name, subresource, parts.join(" "));
        line.truncate(line.trim_end().len());
        self.asked.lock().push(line);
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock())
    }
}

#[async_trait]
impl Admission for Recorder {
    async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Error> {
        self.record("mutate", attributes);
        let Some((path, value)) = self.patch.lock().clone() else {
            return Ok(());
        };
        let before = object.clone();
        object.set_at(path, value);
        object.remove_at(&["type"]);
        attributes.settle(Naming::Svc.names(), "the recorder", &before, object)
    }

    async fn validate(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        self.record("validate", attributes);
        if let Some(why) = *self.refusal.lock() {
            return Err(Status::forbidden(
                &attributes.target.resource.group_resource(),
                attributes.target.name,
                why,
            )
            .into());
        }
        let policy_in = self.policy_in.lock().take();
        if let Some(store) = policy_in {
            let operations = vec![rules_change()];
            store.txn(Txn { operations, ..Txn::default() }).await?;
            *self.refusal.lock() = Some("a new policy");
        }
        let conditions = std::mem::take(&mut *self.conditions.lock());
        Ok(Terms { conditions, warnings: vec!["careful".to_owned()], ..Terms::default() })
    }

    fn is_counted(&self, attributes: &Attributes<'_>) -> bool {
        attributes.operation == AdmissionOperation::Create
    }

    async fn charge(&self, attributes: &Attributes<'_>) -> Result<Terms, Error> {
        self.record("charge", attributes);
        Ok(Terms::default())
    }
}

/// What every write of a policy does besides.
fn rules_change() -> Operation {
    Operation::Put { key: Key::AdmissionRules.encode(), value: Bytes::new() }
}

struct Cluster {
    writer: Writer,
    catalogue: Catalogue,
    store: Arc<MemoryStore>,
    recorder: Arc<Recorder>,
}

impl Cluster {
    /// A cluster with the namespace `n`, and these feature gates.
    async fn new(gates: &str) -> Self {
        let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
        let env = SystemEnv::env();
        let store = Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        let recorder = Arc::new(Recorder::default());
        let writer =
            Writer::new(graph.names(), store.clone(), env).gated_by(gates.parse().unwrap());
        let writer = writer.admitted_by(recorder.clone());
        let cluster = Self { writer, catalogue: builtin::catalogue(&graph), store, recorder };
        let namespace = json!({"metadata": {"name": "n"}}).into();
        cluster
            .writer
            .create(cluster.target("", "namespaces", ""), namespace, WRITE)
            .await
            .unwrap();
        cluster.recorder.taken();
        cluster
    }

    fn target<'a>(&'a self, group: &str, plural: &str, name: &'a str) -> Target<'a> {
        let group = if group.is_empty() { String::new() } else { Naming::Svc.names().group(group) };
        let resource = self.catalogue.find(&group, "v1", plural).unwrap();
        Target { resource, namespace: resource.namespaced.then_some("n"), name }
    }

    fn secret(&self) -> Target<'_> {
        self.target("", "secrets", "s")
    }

    async fn create(&self) -> Outcome {
        let object = json!({"metadata": {"name": "s"}, "type": "Opaque"}).into();
        let answer = self.writer.create(self.secret(), object, WRITE).await.unwrap();
        assert_eq!(answer.warnings, ["careful"]);
        assert!(
            !answer.times.of(Phase::Commit).is_zero()
                && answer.times.of(Phase::Quota) > std::time::Duration::ZERO
        );
        answer.outcome
    }

    async fn update(&self, part: Part) -> Outcome {
        let change = |old: Option<&Value>| {
            let mut new = old.unwrap().clone();
            new.set_at(&["metadata", "labels", "part"], part.subresource());
            Ok(new)
        };
        self.writer
            .update(self.secret(), UpdateOptions { part, ..REPLACE }, change)
            .await
            .unwrap()
            .outcome
    }

    async fn delete(&self) -> Result<Outcome, u16> {
        let deleted = self.writer.delete(self.secret(), &DeleteOptions::default()).await;
        deleted.map(|answer| answer.outcome).map_err(|error| error.into_status().code)
    }

    fn stored(&self, target: Target<'_>) -> Option<Value> {
        let entry = self.store.snapshot().get(&target.key()).cloned()?;
        Some(stored_codec::decode(target.resource, &entry).unwrap())
    }
}

#[tokio::test]
async fn every_operation_passes_admission() {
    let cluster = Cluster::new("").await;
    let check = |expect: &[&str]| assert_eq!(cluster.recorder.taken(), expect);
    assert_eq!(cluster.create().await, Outcome::Created);
    check(&["mutate Create s/", "validate Create s/  new", "charge Create s/  new"]);
    assert_eq!(cluster.update(Part::Main).await, Outcome::Updated);
    check(&["mutate Update s/ old", "validate Update s/ old new"]);
    assert_eq!(cluster.update(Part::Status).await, Outcome::Updated);
    check(&["mutate Update s/status old", "validate Update s/status old new"]);
    let entry = cluster.store.snapshot().get(&cluster.secret().key()).cloned();
    let object = json!({"metadata": {"name": "s"}, "type": "Opaque"}).into();
    let put = Put { target: cluster.secret(), replaces: entry, object };
    assert!(cluster.writer.put_all(vec![put], WRITE).await.unwrap().is_some());
    check(&["mutate Update s/ old", "validate Update s/ old new"]);
    assert_eq!(cluster.delete().await, Ok(Outcome::Removed));
    check(&["mutate Delete s/ old", "validate Delete s/ old"]);
    let resource = cluster.secret().resource;
    let request = SubresourceRequest {
        operation: AdmissionOperation::Connect,
        target: cluster.secret(),
        subresource: "proxy",
        options: WRITE,
        graph: &resource.graph(),
        ty: resource.ty(),
    };
    assert_eq!(
        cluster.writer.admit_request(request, &mut Value::default()).await.unwrap(),
        ["careful"]
    );
    check(&["mutate Connect s/proxy", "validate Connect s/proxy  new"]);
}

#[tokio::test]
async fn a_refused_deletion_leaves_the_object() {
    let cluster = Cluster::new("").await;
    cluster.create().await;
    *cluster.recorder.refusal.lock() = Some("no");
    assert_eq!(cluster.delete().await, Err(403));
    assert!(cluster.stored(cluster.secret()).is_some());
    *cluster.recorder.refusal.lock() = None;
    assert_eq!(cluster.delete().await, Ok(Outcome::Removed));
    assert_eq!(cluster.stored(cluster.secret()), None);
}

#[tokio::test]
async fn a_write_whose_terms_have_changed_passes_the_phases_again() {
    let cluster = Cluster::new("").await;
    cluster.create().await;
    cluster.recorder.taken();
    let other = Condition::Modified {
        key: cluster.target("", "secrets", "other").key(),
        revision: Revision::new(99),
    };
    let expect = |operation: &str| {
        [
            format!("mutate {operation} s/ old"),
            format!(
                "validate {operation} s/ old{}",
                if operation == "Update" { " new" } else { "" }
            ),
        ]
    };
    *cluster.recorder.conditions.lock() = vec![other.clone()];
    assert_eq!(cluster.update(Part::Main).await, Outcome::Updated);
    assert_eq!(cluster.recorder.taken(), [expect("Update"), expect("Update")].concat());
    *cluster.recorder.conditions.lock() = vec![other];
    assert_eq!(cluster.delete().await, Ok(Outcome::Removed));
    assert_eq!(cluster.recorder.taken(), [expect("Delete"), expect("Delete")].concat());
}

#[tokio::test]
async fn a_write_is_judged_again_when_a_policy_was_written_meanwhile() {
    let cluster = Cluster::new("").await;
    let meanwhile = || {
        *cluster.recorder.refusal.lock() = None;
        *cluster.recorder.policy_in.lock() = Some(cluster.store.clone());
    };
    meanwhile();
    let object: Value = json!({"metadata": {"name": "s"}, "type": "Opaque"}).into();
    let created = cluster.writer.create(cluster.secret(), object, WRITE).await;
    assert_eq!(created.unwrap_err().into_status().code, 403);
    assert_eq!(cluster.stored(cluster.secret()), None);

    *cluster.recorder.refusal.lock() = None;
    cluster.create().await;
    let stored = cluster.stored(cluster.secret());
    meanwhile();
    let change = |old: Option<&Value>| {
        let mut new = old.unwrap().clone();
        new.set_at(&["metadata", "labels", "a"], "b");
        Ok(new)
    };
    let updated = cluster.writer.update(cluster.secret(), REPLACE, change).await;
    assert_eq!(updated.unwrap_err().into_status().code, 403);
    assert_eq!(cluster.stored(cluster.secret()), stored);
    meanwhile();
    assert_eq!(cluster.delete().await, Err(403));
    assert_eq!(cluster.stored(cluster.secret()), stored);
}

#[tokio::test]
async fn policies_change_the_rules_and_their_status_does_not() {
    let cluster = Cluster::new("").await;
    let revision = || {
        let snapshot = cluster.store.snapshot();
        snapshot.get(&Key::AdmissionRules.encode()).map(|entry| entry.modified)
    };
    assert_eq!(revision(), None);
    let target = cluster.target("admissionregistration", "validatingadmissionpolicies", "p");
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let object = json!({"metadata": {"name": "p"}, "spec": {
        "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}],
    }});
    cluster.writer.create(target, object.into(), WRITE).await.unwrap();
    let created = revision();
    assert_eq!(created, Some(cluster.store.snapshot().revision()));
    let status = |old: Option<&Value>| {
        let mut new = old.unwrap().clone();
        new.set_at(&["status", "observedGeneration"], 1);
        Ok(new)
    };
    let options = UpdateOptions { part: Part::Status, ..REPLACE };
    cluster.writer.update(target, options, status).await.unwrap();
    assert_eq!(revision(), created);
    let spec = |old: Option<&Value>| {
        let mut new = old.unwrap().clone();
        new.set_at(&["spec", "failurePolicy"], "Ignore");
        Ok(new)
    };
    cluster.writer.update(target, REPLACE, spec).await.unwrap();
    assert!(revision() > created);
    let updated = revision();
    cluster.writer.delete(target, &DeleteOptions::default()).await.unwrap();
    assert!(revision() > updated);
}

#[tokio::test]
async fn a_patched_object_is_pruned_and_gets_its_defaults_again() {
    let cluster = Cluster::new("").await;
    *cluster.recorder.patch.lock() = Some((&["unknown"], Value::from("x")));
    cluster.create().await;
    let stored = cluster.stored(cluster.secret()).unwrap();
    assert_eq!((stored.get("unknown"), stored.str_at(&["type"])), (None, Some("Opaque")));
    *cluster.recorder.patch.lock() = Some((&["immutable"], Value::from(json!({}))));
    let object = json!({"metadata": {"name": "t"}, "type": "Opaque"}).into();
    let refused = cluster.writer.create(cluster.secret(), object, WRITE).await;
    assert_eq!(refused.unwrap_err().into_status().code, 500);
}

#[tokio::test]
async fn a_patch_makes_no_other_object() {
    let refused = async |path: &'static [&'static str], value: &str| {
        let cluster = Cluster::new("").await;
        *cluster.recorder.patch.lock() = Some((path, Value::from(value)));
        let object = json!({"metadata": {"name": "s"}, "type": "Opaque"}).into();
        let refused = cluster.writer.create(cluster.secret(), object, WRITE).await;
        refused.map_err(|error| error.into_status().message)
    };
    for field in [["metadata", "name"], ["metadata", "namespace"], ["metadata", "uid"]] {
        let field: &'static [&'static str] = Box::leak(Box::new(field));
        let message = refused(field, "other").await.unwrap_err();
        let expect = format!(
            "metadata.{}: Invalid value: \"other\": field is immutable, and the recorder has changed it",
            field[1]
        );
        assert!(message.contains(&expect), "{message}");
    }
    for (field, value) in [
        ("creationTimestamp", "2001-01-01T00:00:00Z"),
        ("resourceVersion", "other"),
        ("selfLink", "other"),
    ] {
        let path: &'static [&'static str] = Box::leak(Box::new(["metadata", field]));
        refused(path, value).await.unwrap();
    }
}

#[tokio::test]
async fn gated_fields_are_dropped_while_their_feature_is_off() {
    let check = async |gates: &str, expect: Option<&str>| {
        let cluster = Cluster::new(gates).await;
        let object = |name: &str| -> Value {
            json!({"metadata": {"name": name}, "spec": {"strategy": "OldestEmulationVersion"}})
                .into()
        };
        let lease = |name| cluster.target("coordination", "leases", name);
        cluster.writer.create(lease(""), object("one"), WRITE).await.unwrap();
        let put = Put { target: lease("two"), replaces: None, object: object("two") };
        assert!(cluster.writer.put_all(vec![put], WRITE).await.unwrap().is_some());
        for name in ["one", "two"] {
            let stored = cluster.stored(lease(name)).unwrap();
            assert_eq!(stored.str_at(&["spec", "strategy"]), expect, "{gates} {name}");
        }
    };
    check("", None).await;
    check("CoordinatedLeaderElection=true", Some("OldestEmulationVersion")).await;
}

#[tokio::test]
async fn terms_that_hold_take_one_attempt() {
    let cluster = Cluster::new("").await;
    let key = cluster.target("", "secrets", "marker").key();
    let txn = Txn {
        operations: vec![Operation::Put { key: key.clone(), value: key.clone() }],
        ..Txn::default()
    };
    cluster.store.txn(txn).await.unwrap();
    let held = cluster.store.snapshot().get(&key).map(|entry| entry.modified).unwrap();
    *cluster.recorder.conditions.lock() = vec![Condition::Modified { key, revision: held }];
    cluster.create().await;
    assert_eq!(cluster.recorder.taken().len(), 3);
}
