//! Members that do not answer while leaders follow one another: a new leader goes on from the
//! published endpoints.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_controllers::{
    ApiServer, ApiServers, Controllers, ControllersHandle, ControllersOptions,
};
use quorate_store::{MemoryOptions, MemoryStore};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Server, TestClock};

#[derive(Debug, Default)]
struct Members(Mutex<Vec<ApiServer>>);

impl ApiServers for Members {
    fn servers(&self) -> Vec<ApiServer> {
        self.0.lock().clone()
    }
}

impl Members {
    /// Starts a leader with these members: the last number of each one's address, and whether it
    /// answers.
    fn lead(self: &Arc<Self>, server: &Server, members: &[(u8, bool)]) -> ControllersHandle {
        let member = |(last, answers): &(u8, bool)| ApiServer {
            address: SocketAddr::from(([10, 0, 0, *last], 6443)),
            heard: answers.then_some(Duration::ZERO),
        };
        *self.0.lock() = members.iter().map(member).collect();
        let (controllers, handle) = Controllers::new(ControllersOptions {
            cluster: server.api.cluster(),
            root_ca: String::new(),
            event_lifetime: Duration::from_secs(3600),
            signing: None,
            api_port: 6443,
            api_servers: self.clone(),
        });
        tokio::spawn(controllers.run());
        handle
    }
}

fn subsets(members: &[u8]) -> Value {
    let addresses: Vec<Value> =
        members.iter().map(|last| json!({"ip": format!("10.0.0.{last}")})).collect();
    json!([{"addresses": addresses, "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}])
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_judges_members_only_when_it_can() {
    let clock = Arc::<TestClock>::default();
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let (server, members) = (Server::over(store, clock), Arc::<Members>::default());
    let mut events = server.watch("/api/v1/namespaces/default/endpoints?watch=1").await;
    let mut check = async |expect: &[u8]| {
        assert_eq!(events.next().await.unwrap()["object"]["subsets"], subsets(expect));
    };
    let first = members.lead(&server, &[(1, true), (2, true)]);
    check(&[1, 2]).await;
    first.stop();
    let begun = Instant::now();
    let second = members.lead(&server, &[(1, true), (2, false)]);
    check(&[1]).await;
    assert!(begun.elapsed() >= Duration::from_secs(30), "{:?}", begun.elapsed());
    second.stop();
    members.lead(&server, &[(1, true), (2, false), (3, true)]);
    check(&[1, 3]).await;
}
