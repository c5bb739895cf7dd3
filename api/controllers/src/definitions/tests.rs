//! The controller of definitions on a store in memory.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Value};
use quorate_registry::error::Error;
use quorate_registry::keys::Key;
use quorate_registry::write::{DeleteOptions, Target, Writer};
use quorate_registry::{
    CurrentCatalogue, DEFINITIONS, LiveMarker, ObjectTypes, Part, Removal, Resource, Strategy,
    stored_codec,
};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use serde_json::{Value as Json, json};

use super::*;
use crate::work_meter::{NoControllerMetrics, WorkMeter};

const GROUP: &str = "x.example";

/// A kind with a status and no rules.
#[derive(Debug)]
struct WithStatus;

impl Strategy for WithStatus {
    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    /// A kind that was not accepted is empty.
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }
}

/// A resource like a served one, with other names; `kind` is a kind of the schema.
fn resource(catalogue: &CurrentCatalogue, kind: &str, group: &str, plural: &str) -> Resource {
    let catalogue = catalogue.load();
    let graph = catalogue.graph().clone();
    let kind = graph.kinds().iter().find(|own| own.kind == kind).unwrap();
    let strategy: Arc<dyn Strategy> = Arc::new(WithStatus);
    let key = Key::LiveDefinition { name: &format!("{plural}.{group}") }.encode();
    Resource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        api_version: format!("{group}/v1"),
        kind: kind.kind.to_string(),
        list_kind: format!("{}List", kind.kind),
        plural: plural.to_owned(),
        singular: String::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        stored: true,
        served: true,
        verbs: vec!["create".to_owned(), "delete".to_owned()],
        subresources: Vec::new(),
        selectable_fields: Vec::new(),
        types: ObjectTypes::Known(graph.clone(), kind.ty),
        columns: Vec::new(),
        delete_returns_object: false,
        storage_group: group.to_owned(),
        deprecation: None,
        storage_version: "v1".to_owned(),
        stored_form: None,
        reader: None,
        remote: None,
        conversions: Vec::new(),
        versions: Arc::default(),
        strategy,
        prefix: Resource::storage_prefix(group, plural),
        live: Some(LiveMarker { key, uid: Bytes::new() }),
        removal: Some(Removal::default()),
    }
}

struct Cluster {
    context: Context,
    definitions: Arc<Resource>,
    widgets: Arc<Resource>,
}

impl Cluster {
    /// A cluster with the namespace `n`, that serves definitions and `widgets`.
    async fn new() -> Self {
        let names = Naming::Svc.names();
        let env = SystemEnv::env();
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        let catalogue = CurrentCatalogue::new(builtin::catalogue_of(names));
        let own = names.group(EXTENSIONS);
        let definitions = catalogue.load().find(&own, "v1", DEFINITIONS).unwrap().clone();
        let widgets = Arc::new(resource(&catalogue, "ConfigMap", GROUP, "widgets"));
        catalogue.publish(&[], std::slice::from_ref(&widgets));
        let key = Key::Live { namespace: "n" }.encode();
        let operations = vec![Operation::Put { key, value: Bytes::new() }];
        store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
        let writer = Writer::new(names, store.clone(), env.clone());
        let work = WorkMeter::new(NAME, Arc::new(NoControllerMetrics));
        let context = Context {
            names,
            catalogue,
            custom_resources: None,
            store,
            env,
            writer,
            manager: NAME,
            work,
        };
        Self { context, definitions, widgets }
    }

    fn definition<'a>(&'a self, name: &'a str) -> Target<'a> {
        Target { resource: &self.definitions, namespace: None, name }
    }

    fn widget<'a>(&'a self, name: &'a str) -> Target<'a> {
        Target { resource: &self.widgets, namespace: Some("n"), name }
    }

    async fn create(&self, target: Target<'_>, fields: Json) -> Result<(), Error> {
        let mut object = Value::from(fields);
        object.set_at(&["metadata", "name"], target.name);
        object.set_at(&["apiVersion"], target.resource.api_version.as_str());
        object.set_at(&["kind"], target.resource.kind.as_str());
        self.context.writer.create(target, object, self.context.options()).await.map(drop)
    }

    async fn define(&self, plural: &str, kind: &str) {
        self.define_in(GROUP, plural, kind, json!({"strategy": "None"})).await;
    }

    async fn define_in(&self, group: &str, plural: &str, kind: &str, conversion: Json) {
        let names = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        let versions = json!([{"name": "v1", "served": true, "storage": true, "schema": schema}]);
        let spec = json!({"group": group, "scope": "Namespaced", "names": names, "versions": versions, "conversion": conversion});
        let finalizer = self.context.names.finalizer_custom_resources;
        let annotations = json!({self.context.names.annotation_api_approved: "unapproved, a test"});
        let metadata = json!({"finalizers": [finalizer], "annotations": annotations});
        let fields = json!({"metadata": metadata, "spec": spec});
        let name = format!("{plural}.{group}");
        self.create(self.definition(&name), fields).await.unwrap();
    }

    async fn change(&self, target: Target<'_>, change: impl Fn(&mut Value) + Send + Sync) {
        let options = self.context.update_options(Part::Main);
        let change = |current: Option<&Value>| {
            let mut object = current.cloned().unwrap();
            change(&mut object);
            Ok(object)
        };
        self.context.writer.update(target, options, change).await.unwrap();
    }

    async fn delete(&self, target: Target<'_>) {
        self.context.writer.delete(target, &DeleteOptions::default()).await.unwrap();
    }

    fn get(&self, target: Target<'_>) -> Option<Value> {
        let snapshot = self.context.store.snapshot();
        Some(stored_codec::decode(target.resource, snapshot.get(&target.key())?).unwrap())
    }

    fn is_open(&self, name: &str) -> bool {
        let key = Key::LiveDefinition { name }.encode();
        self.context.store.snapshot().get(&key).is_some()
    }

    /// `TYPE=STATUS:REASON` of each condition.
    fn conditions(&self, name: &str) -> Vec<String> {
        let object = self.get(self.definition(name)).unwrap_or_default();
        let list = object.at(&["status", "conditions"]).and_then(Value::as_list);
        let text = |condition: &Value, field: &str| {
            condition.str_at(&[field]).unwrap_or_default().to_owned()
        };
        let shown = list.unwrap_or_default().iter().map(|condition| {
            let [kind, status, reason] =
                ["type", "status", "reason"].map(|field| text(condition, field));
            format!("{kind}={status}:{reason}")
        });
        shown.collect()
    }

    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        for _ in 0..2_000 {
            if holds() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what}");
    }

    /// Runs a test beside the controller.
    async fn with_controller(&self, test: impl Future<Output = ()>) {
        tokio::select! {
            ended = run(&self.context) => panic!("{ended:?}"),
            () = test => {}
        }
    }
}

const FINE: [&str; 2] = ["NamesAccepted=True:NoConflicts", "Established=True:InitialNamesAccepted"];

#[tokio::test(start_paused = true)]
async fn a_definition_is_established_in_one_write() {
    let cluster = Cluster::new().await;
    let name = "widgets.x.example";
    cluster.create(cluster.widget("a"), json!({})).await.unwrap_err();
    cluster
        .with_controller(async {
            cluster.define("widgets", "Widget").await;
            cluster.until("it is established", || cluster.is_open(name)).await;
            assert_eq!(cluster.conditions(name), FINE);
            tokio::time::sleep(Duration::from_secs(30)).await;
            let snapshot = cluster.context.store.snapshot();
            let created = snapshot.get(&cluster.definition(name).key()).unwrap().created;
            assert_eq!(snapshot.revision().get(), created.get() + 1);
            cluster.create(cluster.widget("a"), json!({})).await.unwrap();
        })
        .await;
    let object = cluster.get(cluster.definition(name)).unwrap();
    let accepted = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    assert_eq!(object.at(&["status", "acceptedNames"]), Some(&accepted.into()));
}

#[tokio::test(start_paused = true)]
async fn a_name_goes_to_the_next_when_the_first_is_gone() {
    let cluster = Cluster::new().await;
    let (first, second) = ("zs.x.example", "as.x.example");
    // The order of their creation counts, not that of their names.
    cluster.define("zs", "Same").await;
    cluster.define("as", "Same").await;
    let conflict = ["NamesAccepted=False:ListKindConflict", "Established=False:NotAccepted"];
    cluster
        .with_controller(async {
            cluster.until("both are judged", || !cluster.conditions(second).is_empty()).await;
            assert_eq!(
                (cluster.conditions(first), cluster.is_open(first)),
                (FINE.map(Into::into).to_vec(), true)
            );
            assert_eq!(
                (cluster.conditions(second), cluster.is_open(second)),
                (conflict.map(Into::into).to_vec(), false)
            );
            cluster.delete(cluster.definition(first)).await;
            cluster
                .until("the first is gone", || cluster.get(cluster.definition(first)).is_none())
                .await;
            cluster.until("the second gets the names", || cluster.is_open(second)).await;
            assert_eq!(cluster.conditions(second), FINE);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn objects_go_before_their_definition() {
    let cluster = Cluster::new().await;
    let name = "widgets.x.example";
    cluster.define("widgets", "Widget").await;
    cluster
        .with_controller(async {
            cluster.until("it is established", || cluster.is_open(name)).await;
            for count in 0..1_100 {
                cluster.create(cluster.widget(&format!("w{count}")), json!({})).await.unwrap();
            }
            let held = json!({"metadata": {"finalizers": ["x.example/held"]}});
            cluster.create(cluster.widget("held"), held).await.unwrap();
            cluster.delete(cluster.definition(name)).await;
            let count = || cluster.context.store.snapshot().count(&cluster.widgets.prefix, None);
            cluster.until("one is left", || count() == 1).await;
        })
        .await;
    assert!(!cluster.is_open(name));
    cluster.create(cluster.widget("late"), json!({})).await.unwrap_err();
    let progress = "Terminating=True:InstanceDeletionInProgress";
    assert_eq!(cluster.conditions(name)[2..], [progress]);
    // The next leader goes on.
    cluster
        .with_controller(async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(cluster.conditions(name)[2..], [progress]);
            let release = |object: &mut Value| drop(object.remove_at(&["metadata", "finalizers"]));
            cluster.change(cluster.widget("held"), release).await;
            cluster.until("it is gone", || cluster.get(cluster.definition(name)).is_none()).await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn another_finalizer_shows_the_end_of_the_cleanup() {
    let cluster = Cluster::new().await;
    let name = "as.x.example";
    cluster.define("as", "A").await;
    let other = "x.example/other";
    let own = cluster.context.names.finalizer_custom_resources;
    let hold = |object: &mut Value| {
        object.set_at(&["metadata", "finalizers"], Value::from(json!([own, other])));
    };
    cluster.change(cluster.definition(name), hold).await;
    cluster
        .with_controller(async {
            cluster.until("it is established", || cluster.is_open(name)).await;
            cluster.delete(cluster.definition(name)).await;
            let finalizers = || {
                let object = cluster.get(cluster.definition(name)).unwrap();
                object.at(&["metadata", "finalizers"]).cloned()
            };
            let left = Some(Value::from(json!([other])));
            cluster.until("its own finalizer is removed", || finalizers() == left).await;
        })
        .await;
    assert_eq!(cluster.conditions(name)[2..], ["Terminating=False:InstanceDeletionCompleted"]);
}

#[tokio::test(start_paused = true)]
async fn a_definition_waits_for_a_webhook_that_can_be_trusted() {
    let cluster = Cluster::new().await;
    let name = "as.x.example";
    let bundle = ["spec", "conversion", "webhook", "clientConfig", "caBundle"];
    let webhook = json!({
        "clientConfig": {"url": "https://x.example", "caBundle": "Cg=="},
        "conversionReviewVersions": ["v1"],
    });
    let conversion = json!({"strategy": "Webhook", "webhook": webhook});
    cluster.define_in(GROUP, "as", "A", conversion).await;
    cluster
        .with_controller(async {
            cluster.until("it is judged", || !cluster.conditions(name).is_empty()).await;
            let invalid = ["NamesAccepted=True:NoConflicts", "Established=False:InvalidCABundle"];
            assert_eq!(
                (cluster.conditions(name), cluster.is_open(name)),
                (invalid.map(Into::into).to_vec(), false)
            );
            cluster
                .change(cluster.definition(name), |object| drop(object.remove_at(&bundle)))
                .await;
            cluster.until("it is established", || cluster.is_open(name)).await;
            assert_eq!(cluster.conditions(name), FINE);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_built_in_resource_outlive_a_definition_of_its_name() {
    let cluster = Cluster::new().await;
    let leases = cluster.context.find("coordination.svc.io", "v1", "leases").unwrap();
    let lease = Target { resource: &leases, namespace: Some("n"), name: "l" };
    cluster.create(lease, json!({"spec": {}})).await.unwrap();
    let name = format!("leases.{}", leases.storage_group);
    let none = json!({"strategy": "None"});
    cluster.define_in(&leases.storage_group, "leases", "Lease", none).await;
    let hold = |object: &mut Value| {
        let finalizers =
            json!([cluster.context.names.finalizer_custom_resources, "x.example/other"]);
        object.set_at(&["metadata", "finalizers"], Value::from(finalizers));
    };
    cluster.change(cluster.definition(&name), hold).await;
    cluster
        .with_controller(async {
            cluster.until("it is judged", || !cluster.conditions(&name).is_empty()).await;
            cluster.delete(cluster.definition(&name)).await;
            let finalizers = || {
                let object = cluster.get(cluster.definition(&name)).unwrap();
                object.at(&["metadata", "finalizers"]).cloned()
            };
            let left = Some(Value::from(json!(["x.example/other"])));
            cluster.until("its own finalizer is removed", || finalizers() == left).await;
        })
        .await;
    let terminating = "Terminating=True:OverlappingBuiltInResource".to_owned();
    assert!(cluster.conditions(&name).contains(&terminating), "{:?}", cluster.conditions(&name));
    assert!(cluster.get(lease).is_some());
}
