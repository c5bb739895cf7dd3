//! Writes that race with policies: what is written is decided by the policies that are in force when
//! it is written, however old the ones are that this node knew.

use quorate_registry::write::{
    DeleteOptions, GivenOptions, Outcome, UpdateOptions, WriteOptions, Writer,
};
use quorate_registry::{Part, Resource};
use quorate_schema::Graph;
use quorate_store::{Error as StoreError, Layer, Outcome as Decision};

use super::*;

const WRITE: WriteOptions<'_> =
    WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };

/// Creates objects just before the next transaction, as another node does.
struct Racing {
    store: Arc<dyn Store>,
    writer: Writer,
    before: Mutex<Vec<(Arc<Resource>, Json)>>,
}

#[async_trait]
impl Layer for Racing {
    fn below(&self) -> &dyn Store {
        &*self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Decision, StoreError> {
        let before = std::mem::take(&mut *self.before.lock());
        for (resource, object) in before {
            let target = Target { resource: &resource, namespace: None, name: "" };
            self.writer.create(target, object.into(), WRITE).await.expect("it is created");
        }
        self.store.txn(txn).await
    }
}

struct Race {
    racing: Arc<Racing>,
    writer: Writer,
    catalogue: Arc<Catalogue>,
}

impl Race {
    async fn new() -> Self {
        let names = Naming::Svc.names();
        let graph = Arc::new(Graph::builtin(names));
        let gates = "MutatingAdmissionPolicy=true".parse().unwrap();
        let config = "admissionregistration.svc.io/v1beta1=true".parse().unwrap();
        let catalogue = CurrentCatalogue::new(builtin::catalogue_with(&graph, &gates, &config));
        let env = SystemEnv::env();
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        let other = Writer::new(names, store.clone(), env.clone());
        let racing = Arc::new(Racing { store, writer: other, before: Mutex::default() });
        let store: Arc<dyn Store> = racing.clone();
        let index = PolicyIndex::new(&catalogue.load(), store.clone(), env.clock.clone());
        let index = index.map(Arc::new);
        let loaded = catalogue.load();
        let admission = Admission::new(names, catalogue, store.clone()).with_policies(index);
        let writer = Writer::new(names, store, env).admitted_by(Arc::new(admission));
        let race = Self { racing, writer, catalogue: loaded };
        let namespaces = race.resource("", "v1", "namespaces");
        let target = Target { resource: &namespaces, namespace: None, name: "" };
        let namespace = json!({"metadata": {"name": "n"}}).into();
        race.writer.create(target, namespace, WRITE).await.unwrap();
        race
    }

    fn resource(&self, group: &str, version: &str, plural: &str) -> Arc<Resource> {
        let group = if group.is_empty() { String::new() } else { Naming::Svc.names().group(group) };
        self.catalogue.find(&group, version, plural).unwrap().clone()
    }

    /// A policy and its binding come just before the next transaction.
    fn interpose(&self, version: &str, plurals: [&str; 2], spec: Json, binding: Json) {
        let rule = rule("configmaps", "*");
        let mut policy = json!({"matchConstraints": {"resourceRules": [rule]}});
        let mut bound = json!({"policyName": "p"});
        for (all, fields) in [(&mut policy, spec), (&mut bound, binding)] {
            for (field, value) in fields.as_object().unwrap() {
                all[field] = value.clone();
            }
        }
        let objects = plurals.into_iter().zip([policy, bound]);
        let objects = objects.map(|(plural, spec)| {
            let resource = self.resource("admissionregistration", version, plural);
            (resource, json!({"metadata": {"name": "p"}, "spec": spec}))
        });
        self.racing.before.lock().extend(objects);
    }

    fn deny(&self) {
        let spec = json!({"validations": [{"expression": "false", "message": "not now"}]});
        let binding = json!({"validationActions": ["Deny"]});
        self.interpose("v1", [index::POLICIES, index::BINDINGS], spec, binding);
    }

    async fn create(&self, name: &str) -> Result<Value, String> {
        let resource = self.resource("", "v1", "configmaps");
        let target = Target { resource: &resource, namespace: Some("n"), name: "" };
        match self.writer.create(target, map(name).into(), WRITE).await {
            Ok(_) => Ok(self.stored(name).expect("it is stored")),
            Err(error) => Err(error.into_status().message),
        }
    }

    fn stored(&self, name: &str) -> Option<Value> {
        let resource = self.resource("", "v1", "configmaps");
        let snapshot = self.racing.store.snapshot();
        let entry = snapshot.get(&resource.key(Some("n"), name));
        entry.map(|entry| stored_codec::decode(&resource, entry).unwrap())
    }
}

#[tokio::test]
async fn a_policy_that_is_newer_than_the_decision_refuses() {
    let race = Race::new().await;
    race.deny();
    let told = race.create("a").await.unwrap_err();
    assert!(told.ends_with("with binding 'p' denied request: not now"), "{told}");
    assert_eq!(race.stored("a"), None);
}

#[tokio::test]
async fn changes_and_deletions_are_refused_as_well() {
    let race = Race::new().await;
    race.create("a").await.unwrap();
    let resource = race.resource("", "v1", "configmaps");
    let target = Target { resource: &resource, namespace: Some("n"), name: "a" };
    let before = race.stored("a");
    race.deny();
    let options = UpdateOptions {
        write: WRITE,
        part: Part::Main,
        if_match: None,
        replaces: false,
        named: None,
    };
    let change = |old: Option<&Value>| {
        let mut object = old.cloned().unwrap_or_default();
        object.set_at(&["data", "a"], "1");
        Ok(object)
    };
    let told = race.writer.update(target, options, change).await.unwrap_err();
    assert!(told.into_status().message.ends_with("not now"));
    assert_eq!(race.stored("a"), before);
    let race = Race::new().await;
    race.create("a").await.unwrap();
    race.deny();
    let told = race.writer.delete(target, &DeleteOptions::default()).await.unwrap_err();
    assert!(told.into_status().message.ends_with("not now"));
    assert!(race.stored("a").is_some());
}

#[tokio::test]
async fn a_newer_mutating_policy_changes_the_object() {
    let race = Race::new().await;
    let expression = json!({"expression": "Object{data: {'a': '1'}}"});
    let mutation = json!({"patchType": "ApplyConfiguration", "applyConfiguration": expression});
    let spec = json!({"reinvocationPolicy": "Never", "mutations": [mutation]});
    race.interpose(
        "v1beta1",
        [index::MUTATING_POLICIES, index::MUTATING_BINDINGS],
        spec,
        json!({}),
    );
    let created = race.create("a").await.unwrap();
    assert_eq!(created.str_at(&["data", "a"]), Some("1"));
}

#[tokio::test]
async fn what_no_policy_has_to_say_of_is_written_at_once() {
    let race = Race::new().await;
    let resource = race.resource("", "v1", "configmaps");
    race.racing
        .before
        .lock()
        .push((race.resource("", "v1", "namespaces"), json!({"metadata": {"name": "m"}})));
    let target = Target { resource: &resource, namespace: Some("n"), name: "" };
    let answer = race.writer.create(target, map("a").into(), WRITE).await.unwrap();
    assert_eq!(answer.outcome, Outcome::Created);
}
