//! A stop by SIGTERM: not ready first, the leadership handed over, running requests finished, exit
//! code 0 in time.

use std::process::Stdio;
use std::time::{Duration, Instant};

use http::Method;

use crate::load::{Load, make_namespace};
use crate::support::{Cluster, eventually, quorate};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_stops_without_failing_a_request() {
    let mut cluster = Cluster::start(3, &[]);
    make_namespace(&mut cluster.client(1), "load").await;
    let leader = cluster.leader(1).await;
    cluster.kill(leader);
    let folder = cluster.node(leader);
    let mut node = quorate(&["serve", "--shutdown-delay-duration", "2s", "--data-dir"])
        .arg(&folder)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    cluster.ready(leader).await;
    Cluster::run(&["leader", "transfer", "--to", &leader.to_string()], &folder);
    let others: Vec<u64> = (1..=3).filter(|node| *node != leader).collect();
    let load = Load::start(&cluster, &others, "load");
    let mut client = cluster.client(leader);
    client.get("/readyz").await.expect(200);

    let stopping = Instant::now();
    let pid = node.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success()
    );
    eventually("not ready", async || (client.get("/readyz").await.status == 500).then_some(()))
        .await;
    client.send(Method::GET, "/api/v1/namespaces/load", None).await.unwrap().expect(200);
    let status = node.wait().unwrap();
    let took = stopping.elapsed();
    assert!(status.success(), "{status}");
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(12), "{took:?}");
    let successor = cluster.leader(others[0]).await;
    assert_ne!(successor, leader);

    let written = load.finish().await;
    assert_eq!((written.unknown, &written.refused[..]), (0, &[][..]), "requests failed");
    written.check_is_there(&mut cluster.client(others[0]), "load").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_to_read_its_files_again_while_it_starts_goes_on() {
    let mut cluster = Cluster::start(1, &[]);
    cluster.kill(1);
    let folder = cluster.node(1);
    let log = folder.join("started.log");
    let mut node = quorate(&["serve", "--data-dir"])
        .arg(&folder)
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(&log).unwrap();
    let pid = node.id().to_string();
    let begun = Instant::now();
    while !said().contains("listening") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", said());
        // Its first line is there: from then on it takes signals.
        if said().contains("starting") {
            assert!(
                std::process::Command::new("kill")
                    .args(["-s", "HUP", &pid])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        assert_eq!(node.try_wait().unwrap(), None, "{}", said());
    }
    cluster.ready(1).await;
    assert!(
        std::process::Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success()
    );
    assert!(node.wait().unwrap().success());
}
