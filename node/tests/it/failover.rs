//! Failover: the leader is killed again and again while clients write and watch.

use std::time::{Duration, Instant};

use crate::load::{Load, collection, make_namespace};
use crate::support::{Cluster, Watcher};

/// How often the leader is killed.
const KILLS: usize = 10;
/// How long writes may stand still after a kill, on a machine that runs other tests as well. The
/// goal is 2 s.
const LONGEST_OUTAGE: Duration = Duration::from_secs(8);
/// Writes that are acknowledged between a node's return and the next kill.
const CALM: u64 = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_leaders_are_killed() {
    let mut cluster = Cluster::start(3, &[]);
    let begin = make_namespace(&mut cluster.client(1), "load").await;
    let clients =
        |first: u64| (0..3).map(|step| cluster.client((first + step - 1) % 3 + 1)).collect();
    let mut watchers =
        [1, 2, 3].map(|node| Watcher::start(clients(node), &collection("load"), begin));
    let load = Load::start(&cluster, &[1, 2, 3], "load");
    let mut kills = Vec::new();
    for _ in 0..KILLS {
        load.goes_on(CALM).await;
        let leader = cluster.leader(kills.last().map_or(1, |(node, _, _)| *node)).await;
        let killed = Instant::now();
        cluster.kill(leader);
        let survivor = leader % 3 + 1;
        let successor = next_leader(&cluster, survivor, leader).await;
        let folder = cluster.node(leader);
        cluster.serve(&folder);
        cluster.ready(leader).await;
        kills.push((leader, killed, successor));
    }
    load.goes_on(CALM).await;
    let end = Instant::now();
    let written = load.finish().await;
    for (turn, (leader, killed, successor)) in kills.iter().enumerate() {
        let until = kills.get(turn + 1).map_or(end, |next| next.1);
        let outage = written.longest_outage(*killed, until);
        println!(
            "kill {}: leader {leader}, then {successor}; longest write outage {:.2} s",
            turn + 1,
            outage.as_secs_f64()
        );
        assert!(outage < LONGEST_OUTAGE, "writes stood still for {outage:?}");
    }
    println!("{} writes acknowledged, {} unknown", written.revisions.len(), written.unknown);
    assert_eq!(written.refused, []);
    for node in 1..=3 {
        written.check_is_there(&mut cluster.client(node), "load").await;
    }
    for watcher in &mut watchers {
        written.check_was_seen(&watcher.until(written.last()).await);
    }
}

async fn next_leader(cluster: &Cluster, asked: u64, dead: u64) -> u64 {
    crate::support::eventually("another leader", async || {
        cluster.status(&cluster.node(asked))?["leader"].as_u64().filter(|leader| *leader != dead)
    })
    .await
}
