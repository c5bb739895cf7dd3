//! Tests of allocation: addresses and node ports of Services, of which no two get the same under
//! concurrent writes.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;
use quorate_env::SystemEnv;
use quorate_meta::{Naming, Value};
use quorate_schema::Graph;
use quorate_store::{MemoryOptions, MemoryStore, Operation, Store, Txn};
use quorate_wire::stored::StoredRef;
use serde_json::{Value as Json, json};

use quorate_kinds::builtin;
use quorate_registry::allocation::Allocation;
use quorate_registry::keys::Key;
use quorate_registry::write::{
    Answer, DeleteOptions, GivenOptions, Target, UpdateOptions, WriteOptions, Writer,
};
use quorate_registry::{Catalogue, Error, Part, Resource, stored_codec};

use crate::awkward_store::Awkward;

struct Cluster {
    writer: Writer,
    graph: Arc<Graph>,
    catalogue: Catalogue,
    store: Arc<Awkward>,
}

const OPTIONS: WriteOptions<'_> =
    WriteOptions { dry_run: false, manager: "test", given: GivenOptions::NONE };

/// A cluster whose Services get six addresses, and a writer that other tasks interrupt at every
/// step.
async fn cluster() -> Cluster {
    let cluster = founding().await;
    cluster.range("r", "10.0.0.0/29", false).await;
    cluster
}

/// A cluster without a range of addresses.
async fn founding() -> Cluster {
    let graph = Arc::new(Graph::builtin(Naming::Svc.names()));
    let catalogue = builtin::catalogue(&graph);
    let env = SystemEnv::env();
    let store = MemoryStore::new(MemoryOptions::new(env.clock.clone()));
    let operations =
        vec![Operation::Put { key: Key::Live { namespace: "n" }.encode(), value: Bytes::new() }];
    store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    let store = Arc::new(Awkward::new(store));
    Cluster { writer: Writer::new(graph.names(), store.clone(), env), graph, catalogue, store }
}

impl Cluster {
    fn resource(&self, plural: &str) -> &Resource {
        self.catalogue.find("", "v1", plural).unwrap()
    }

    /// Creates a range, or replaces it.
    async fn range(&self, name: &str, cidr: &str, going: bool) {
        let ranges = self.catalogue.find("networking.svc.io", "v1", "servicecidrs").unwrap();
        let mut range =
            Value::from(json!({"metadata": {"name": name, "uid": "u"}, "spec": {"cidrs": [cidr]}}));
        if going {
            range.set_at(&["metadata", "deletionTimestamp"], "2030-01-01T00:00:00Z");
        }
        let value = stored_codec::encode(ranges, &range).unwrap();
        let operations = vec![Operation::Put { key: ranges.key(None, name), value }];
        self.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    }

    async fn create(&self, name: &str, spec: Json) -> Result<Value, Error> {
        let resource = self.resource("services");
        let target = Target { resource, namespace: Some("n"), name };
        shown(self.writer.create(target, self.service(name, spec), OPTIONS).await)
    }

    /// Changes single fields of a Service's spec.
    async fn change(&self, name: &str, fields: Json) -> Result<Value, Error> {
        let edit = |object: &mut Value| {
            for (field, value) in fields.as_object().unwrap() {
                object.set_at(&["spec", field], Value::from(value.clone()));
            }
        };
        self.edit(name, edit).await
    }

    async fn edit(
        &self,
        name: &str,
        edit: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<Value, Error> {
        let target = Target { resource: self.resource("services"), namespace: Some("n"), name };
        let options = UpdateOptions {
            write: OPTIONS,
            part: Part::Main,
            if_match: None,
            replaces: false,
            named: None,
        };
        let change = |current: Option<&Value>| {
            let mut object = current.cloned().unwrap();
            edit(&mut object);
            self.complete(&mut object);
            Ok(object)
        };
        shown(self.writer.update(target, options, change).await)
    }

    fn service(&self, name: &str, spec: Json) -> Value {
        let mut object = Value::from(json!({"metadata": {"name": name}, "spec": spec}));
        self.complete(&mut object);
        object
    }

    /// Sets the defaults of a Service.
    fn complete(&self, object: &mut Value) {
        let resource = self.resource("services");
        quorate_schema::decode(&self.graph, resource.ty(), object).unwrap();
        quorate_schema::apply_defaults(&self.graph, resource.ty(), object);
        resource.strategy.default(self.graph.names(), object);
    }

    async fn delete(&self, name: &str) {
        let resource = self.resource("services");
        let target = Target { resource, namespace: Some("n"), name };
        self.writer.delete(target, &DeleteOptions::default()).await.unwrap();
    }

    async fn exists(&self, key: Bytes) -> bool {
        self.store.read_index().await.unwrap();
        self.store.snapshot().get(&key).is_some()
    }
}

fn shown(answer: Result<Answer, Error>) -> Result<Value, Error> {
    Ok(StoredRef::parse(&answer?.value).unwrap().to_value("v1", "Service", 0).unwrap())
}

fn address(service: &Value) -> String {
    service.str_at(&["spec", "clusterIP"]).unwrap().to_owned()
}

fn plain() -> Json {
    json!({"ports": [{"port": 80}]})
}

#[tokio::test]
async fn writers_that_meet_never_get_the_same() {
    let cluster = cluster().await;
    let names: Vec<String> = (0..6).map(|number| format!("s{number}")).collect();
    let node = json!({"type": "NodePort", "ports": [{"port": 80}]});
    let made = join_all(names.iter().map(|name| cluster.create(name, node.clone()))).await;
    let made: Vec<Value> = made.into_iter().map(Result::unwrap).collect();
    let addresses: HashSet<String> = made.iter().map(address).collect();
    assert_eq!(addresses.len(), 6, "{addresses:?}");
    let port = |service: &Value| {
        service.at(&["spec", "ports"]).and_then(Value::as_list).unwrap()[0].get("nodePort").cloned()
    };
    let ports: HashSet<String> =
        made.iter().map(|service| format!("{:?}", port(service))).collect();
    assert_eq!(ports.len(), 6);
    assert_eq!(cluster.create("more", plain()).await.unwrap_err().into_status().code, 500);
}

#[tokio::test]
async fn what_is_given_up_can_be_had_again() {
    let cluster = cluster().await;
    let named = || json!({"clusterIP": "10.0.0.3", "ports": [{"port": 80}]});
    let (claim, shadow) = (
        Key::Allocation { class: "address", name: "10.0.0.3" }.encode(),
        cluster
            .catalogue
            .find("networking.svc.io", "v1", "ipaddresses")
            .unwrap()
            .key(None, "10.0.0.3"),
    );
    assert_eq!(address(&cluster.create("a", named()).await.unwrap()), "10.0.0.3");
    assert!(cluster.exists(claim.clone()).await && cluster.exists(shadow.clone()).await);
    let refused = cluster.create("b", named()).await.unwrap_err().into_status();
    assert_eq!(refused.code, 422, "{refused:?}");
    cluster.delete("a").await;
    assert!(!cluster.exists(claim).await && !cluster.exists(shadow).await);
    assert_eq!(address(&cluster.create("b", named()).await.unwrap()), "10.0.0.3");
}

#[tokio::test]
async fn an_unreadable_service_gives_up_its_own_only() {
    let cluster = cluster().await;
    let service =
        |address: &str| json!({"type": "NodePort", "clusterIP": address, "ports": [{"port": 80}]});
    let damaged = cluster.create("a", service("10.0.0.3")).await.unwrap();
    let other = cluster.create("aa", service("10.0.0.4")).await.unwrap();
    let keys = |service: &Value| {
        let held = cluster
            .resource("services")
            .strategy
            .allocator()
            .unwrap()
            .allocations(cluster.graph.names(), service);
        let shadows = held
            .iter()
            .filter_map(|held| Some(held.shadow.as_ref()?.key.clone()))
            .collect::<Vec<_>>();
        [held.iter().map(Allocation::key).collect(), shadows].concat()
    };
    let target = Target { resource: cluster.resource("services"), namespace: Some("n"), name: "a" };
    let operations = vec![Operation::Put { key: target.key(), value: Bytes::from_static(b"\xff") }];
    cluster.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    cluster.writer.delete_unreadable(target).await.unwrap();
    for (service, stays) in [(damaged, false), (other, true)] {
        assert_eq!(keys(&service).len(), 3, "an address, its object and a port");
        for key in keys(&service) {
            assert_eq!(cluster.exists(key.clone()).await, stays, "{key:?}");
        }
    }
}

#[tokio::test]
async fn what_nobody_can_have_is_refused() {
    let cluster = cluster().await;
    let check = async |spec: Json, code: u16| {
        let answer = cluster.create("a", spec).await;
        assert_eq!(answer.map_or_else(|error| error.into_status().code, |_| 201), code);
    };
    check(json!({"clusterIP": "192.0.2.1", "ports": [{"port": 80}]}), 422).await;
    check(json!({"ipFamilies": ["IPv6"], "ports": [{"port": 80}]}), 422).await;
    check(json!({"ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]}), 422).await;
    check(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}), 422).await;
    check(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_080}]}), 201).await;
    let taken = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_080}]});
    assert_eq!(cluster.create("b", taken).await.unwrap_err().into_status().code, 422);
}

#[track_caller]
fn refused(answer: Result<Value, Error>, code: u16, why: &str) {
    let status = answer.unwrap_err().into_status();
    assert!(status.code == code && status.message.contains(why), "{status:?}");
}

#[tokio::test]
async fn without_a_range_nobody_gets_an_address() {
    let cluster = founding().await;
    let key = |name: &str| cluster.resource("services").key(Some("n"), name);
    let none = "no ServiceCIDR with IPv4 addresses is ready";
    let node = || json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_080}]});
    let named = json!({"clusterIP": "10.0.0.3", "ports": [{"port": 80}]});
    let dual = |policy: &str| json!({"ipFamilyPolicy": policy, "ports": [{"port": 80}]});
    refused(cluster.create("a", plain()).await, 500, none);
    refused(cluster.create("a", node()).await, 500, none);
    refused(cluster.create("a", dual("PreferDualStack")).await, 500, none);
    refused(
        cluster.create("a", dual("RequireDualStack")).await,
        422,
        "not configured for dual-stack",
    );
    refused(cluster.create("a", named).await, 422, "no ServiceCIDR is ready");
    assert!(!cluster.exists(key("a")).await);
    cluster.create("bare", json!({"clusterIP": "None", "selector": {"a": "b"}})).await.unwrap();
    cluster
        .create("alias", json!({"type": "ExternalName", "externalName": "x.example.com"}))
        .await
        .unwrap();
    let becomes = || json!({"type": "ClusterIP", "externalName": null, "ports": [{"port": 80}]});
    refused(cluster.change("alias", becomes()).await, 500, none);
    cluster.range("r", "10.0.0.0/29", false).await;
    assert!(
        address(&cluster.create("a", node()).await.unwrap()).starts_with("10.0.0."),
        "its port is free"
    );
    assert!(address(&cluster.change("alias", becomes()).await.unwrap()).starts_with("10.0.0."));
}

#[tokio::test]
async fn services_keep_their_addresses_when_the_ranges_go() {
    let cluster = cluster().await;
    cluster.range("six", "fd00::/112", false).await;
    let dual = json!({"ipFamilyPolicy": "RequireDualStack", "ports": [{"port": 80}]});
    let of_six = json!({"ipFamilies": ["IPv6"], "ipFamilyPolicy": "PreferDualStack", "ports": [{"port": 80}]});
    let made = [
        ("dual", cluster.create("dual", dual).await.unwrap()),
        ("prefers", cluster.create("prefers", of_six).await.unwrap()),
        ("plain", cluster.create("plain", plain()).await.unwrap()),
    ];
    for (name, cidr) in [("r", "10.0.0.0/29"), ("six", "fd00::/112")] {
        cluster.range(name, cidr, true).await;
    }
    refused(cluster.create("more", plain()).await, 500, "no ServiceCIDR");
    for (name, service) in made {
        let changed = cluster.change(name, json!({"selector": {"a": "b"}})).await.unwrap();
        assert_eq!(
            changed.at(&["spec", "clusterIPs"]),
            service.at(&["spec", "clusterIPs"]),
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_goes_needs_no_address() {
    let cluster = founding().await;
    let target = Target { resource: cluster.resource("services"), namespace: Some("n"), name: "a" };
    let mut service = cluster.service("a", plain());
    let metadata = json!({"name": "a", "namespace": "n", "uid": "u", "deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["example.com/a"]});
    service.set_at(&["metadata"], Value::from(metadata));
    let value = stored_codec::encode(target.resource, &service).unwrap();
    let operations = vec![Operation::Put { key: target.key(), value }];
    cluster.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    refused(cluster.change("a", json!({"selector": {"a": "b"}})).await, 500, "no ServiceCIDR");
    cluster
        .edit("a", |service| drop(service.remove_at(&["metadata", "finalizers"])))
        .await
        .unwrap();
    assert!(!cluster.exists(target.key()).await);
}

#[tokio::test]
async fn services_without_addresses_hold_nothing() {
    let cluster = cluster().await;
    let bare = cluster.create("a", json!({"clusterIP": "None"})).await.unwrap();
    let versions = json!(["IPv4", "IPv6"]).into();
    assert_eq!(
        (address(&bare).as_str(), bare.at(&["spec", "ipFamilies"])),
        ("None", Some(&versions))
    );
    let named = cluster
        .create("b", json!({"type": "ExternalName", "externalName": "x.example.com"}))
        .await
        .unwrap();
    assert_eq!(named.at(&["spec", "clusterIPs"]), None);
}
