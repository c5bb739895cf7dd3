//! A leader whose process stands still and wakes up (etcd#15247, etcd#12528, kubernetes#48610): no
//! connection of it is closed, and yet clients of others have to go on at once; when it wakes it
//! still takes itself for the leader, and must neither answer from the past nor revoke anything.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;

use crate::load::{Load, make_namespace};
use crate::support::{Client, Cluster, eventually};

/// How long writes may stand still, on a machine that runs other tests as well. The goal is 2 s.
const LONGEST_OUTAGE: Duration = Duration::from_secs(8);
/// Much longer than elections take.
const STANDSTILL: Duration = Duration::from_secs(4);
const LEASE: &str = "/apis/coordination.svc.io/v1/namespaces/load/leases/leader";

async fn renew(client: &mut Client, second: usize) -> u64 {
    let spec = json!({ "renewTime": format!("2026-01-01T00:00:{second:02}.000000Z") });
    let body = json!({ "spec": spec });
    client.send(Method::PATCH, LEASE, Some(&body)).await.unwrap().expect(200).revision()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stood_still_is_replaced_and_does_no_harm_when_it_wakes() {
    let cluster = Cluster::start(3, &[]);
    let leader = cluster.leader(1).await;
    let [one, two] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    let mut client = cluster.client(one);
    make_namespace(&mut client, "load").await;
    let lease = json!({ "metadata": { "name": "leader" }, "spec": {
        "holderIdentity": "one", "leaseDurationSeconds": 1, "renewTime": "2026-01-01T00:00:00.000000Z",
    } });
    let leases = LEASE.trim_end_matches("/leader");
    client.post(leases, &lease).await.expect(201);
    let load = Load::start(&cluster, &[one, two], "load");
    load.goes_on(20).await;

    cluster.signal(leader, "STOP");
    let stopped = Instant::now();
    let successor = eventually("another leader", async || {
        cluster.status(&cluster.node(one))?["leader"].as_u64().filter(|next| *next != leader)
    })
    .await;
    load.goes_on(20).await;
    tokio::time::sleep(STANDSTILL.saturating_sub(stopped.elapsed())).await;
    let renewed = renew(&mut client, 30).await;
    let term = |node: u64| cluster.status(&cluster.node(node)).map(|status| status["term"].clone());
    let in_term = term(one);
    cluster.signal(leader, "CONT");
    // The first answers of the one that wakes: it has to ask whether it still leads.
    let mut woken = cluster.client(leader);
    for _ in 0..5 {
        if let Ok(found) = woken.send(Method::GET, LEASE, None).await
            && found.status == 200
        {
            assert!(found.revision() >= renewed, "an answer from the past: {}", found.body);
        }
    }
    eventually("the old leader follows", async || {
        (cluster.status(&cluster.node(leader))?["leader"].as_u64() == Some(successor)).then_some(())
    })
    .await;
    load.goes_on(50).await;
    assert_eq!((term(one), term(leader)), (in_term.clone(), in_term), "it disturbs nobody");
    let end = Instant::now();
    let written = load.finish().await;
    let outage = written.longest_outage(stopped, end);
    println!("writes stood still for {outage:?}, {} of unknown outcome", written.unknown);
    assert!(outage < LONGEST_OUTAGE, "writes stood still for {outage:?}");
    assert_eq!(written.refused, []);
    for node in [leader, one, two] {
        written.check_is_there(&mut cluster.client(node), "load").await;
        let lease = cluster.client(node).get(LEASE).await.expect(200);
        assert_eq!(lease.body["spec"]["renewTime"], "2026-01-01T00:00:30.000000Z");
    }
}
