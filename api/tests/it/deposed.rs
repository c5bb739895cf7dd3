//! Controllers of a deposed leader: an object that another leader changed since the controller read
//! it stays as it is until the controller reads it again; and a lease that was renewed since it was
//! found expired is not revoked, as a leader of etcd did whose disk had stood still (etcd#15247).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use parking_lot::Mutex;
use quorate_controllers::{ApiServer, ApiServers, Controllers, ControllersOptions};
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Operation, Outcome, Store, Txn};
use serde_json::{Value, json};

use crate::harness::{Server, TestClock};

const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints";
const KEY: &[u8] = b"o/core/endpoints/default/svc";

/// A store behind which another leader writes first, once.
struct Contested {
    store: Arc<MemoryStore>,
    members: Arc<Members>,
    /// The server through which the other leader writes.
    other: Server,
    /// The member that the other one knows of, until it has written that.
    known: Mutex<Option<u8>>,
}

/// The last number of the address of the one member.
#[derive(Debug)]
struct Members(Mutex<u8>);

impl ApiServers for Members {
    fn servers(&self) -> Vec<ApiServer> {
        let address = SocketAddr::from(([10, 0, 0, *self.0.lock()], 6443));
        vec![ApiServer { address, heard: Some(Duration::ZERO) }]
    }
}

fn subsets(member: u8) -> Value {
    let port = json!({"name": "https", "port": 6443, "protocol": "TCP"});
    json!([{"addresses": [{"ip": format!("10.0.0.{member}")}], "ports": [port]}])
}

#[async_trait]
impl Layer for Contested {
    fn below(&self) -> &dyn Store {
        &*self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let puts = txn
            .operations
            .iter()
            .any(|one| matches!(one, Operation::Put { key, .. } if key == KEY));
        let replaces = puts && self.store.snapshot().get(KEY).is_some();
        let member = if replaces { self.known.lock().take() } else { None };
        if let Some(member) = member {
            let body = json!({"metadata": {"name": "svc"}, "subsets": subsets(member)}).to_string();
            let path = format!("{ENDPOINTS}/svc");
            assert_eq!(self.other.send(Method::PUT, &path, &[], body).await.status, 200);
            *self.members.0.lock() = member;
        }
        self.store.txn(txn).await
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_leader_published_stays() {
    let clock = Arc::<TestClock>::default();
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let members = Arc::new(Members(Mutex::new(1)));
    let other = Server::over(store.clone(), clock.clone());
    let contested =
        Contested { store, members: members.clone(), other, known: Mutex::new(Some(3)) };
    let server = Server::over(Arc::new(contested), clock);
    let (controllers, _handle) = Controllers::new(ControllersOptions {
        cluster: server.api.cluster(),
        root_ca: String::new(),
        event_lifetime: Duration::from_secs(3600),
        signing: None,
        api_port: 6443,
        api_servers: members.clone(),
    });
    tokio::spawn(controllers.run());
    let mut events = server.watch(&format!("{ENDPOINTS}?watch=1")).await;
    assert_eq!(events.next().await.unwrap()["object"]["subsets"], subsets(1));
    // The controller hears of another member, and the other leader of a third one.
    *members.0.lock() = 2;
    assert_eq!(events.next().await.unwrap()["object"]["subsets"], subsets(3));
    *members.0.lock() = 4;
    assert_eq!(events.next().await.unwrap()["object"]["subsets"], subsets(4), "2 was overtaken");
}

const LEASES: &str = "/apis/coordination.svc.io/v1/namespaces/svc-system/leases";
const LEASE_KEY: &[u8] = b"o/coordination.svc.io/leases/svc-system/apiserver-slept";

/// A store behind which a lease is renewed just before it is removed, once.
struct Renewed {
    store: Arc<MemoryStore>,
    /// The server through which its holder renews it.
    other: Server,
    removals: Mutex<u32>,
}

fn lease(renewed: &str) -> Value {
    json!({
        "metadata": {"name": "apiserver-slept", "labels": {"apiserver.svc.io/identity": "kube-apiserver"}},
        "spec": {"holderIdentity": "h", "leaseDurationSeconds": 3600, "renewTime": renewed},
    })
}

#[async_trait]
impl Layer for Renewed {
    fn below(&self) -> &dyn Store {
        &*self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let removes =
            |one: &Operation| matches!(one, Operation::Delete { key } if key == LEASE_KEY);
        if txn.operations.iter().any(removes) {
            *self.removals.lock() += 1;
            let path = format!("{LEASES}/apiserver-slept");
            let body = json!({"spec": {"renewTime": "2029-12-31T23:59:59.000000Z"}}).to_string();
            let merge = [("content-type", "application/merge-patch+json")];
            assert_eq!(self.other.send(Method::PATCH, &path, &merge, body).await.status, 200);
        }
        self.store.txn(txn).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_renewed_elsewhere_is_not_revoked() {
    let clock = Arc::<TestClock>::default();
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let other = Server::over(store.clone(), clock.clone());
    other.namespace("svc-system").await;
    let expired = lease("2029-12-31T22:59:59.000000Z").to_string();
    let made = other.send(Method::POST, LEASES, &[], expired).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let renewed = Arc::new(Renewed { store, other, removals: Mutex::default() });
    let server = Server::over(renewed.clone(), clock);
    let _controllers = server.defaults().await;
    while *renewed.removals.lock() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Long enough for another look.
    tokio::time::sleep(Duration::from_secs(2 * 3600)).await;
    let left = server.get(&format!("{LEASES}/apiserver-slept")).await;
    assert_eq!(left.status, 200, "{}", left.text());
    assert_eq!(left.json()["spec"]["renewTime"], "2029-12-31T23:59:59.000000Z");
    assert_eq!(*renewed.removals.lock(), 1, "it is no longer expired");
}
