//! Learners (k3s#2329, k3s#2306): one that joined and never came keeps all others from joining, one
//! that was away for long never votes, and what was removed cannot come back.

use std::path::Path;

use serde_json::Value;

use crate::load::{Load, make_namespace};
use crate::membership::join_at;
use crate::support::{Cluster, eventually, quorate};

fn members(cluster: &Cluster) -> Vec<Value> {
    cluster.status(&cluster.node(1)).unwrap()["members"].as_array().unwrap().clone()
}

/// Promotes a member as soon as it has caught up.
async fn promote(cluster: &Cluster, member: u64) {
    let member = member.to_string();
    eventually("the learner has caught up and votes", async || {
        let mut command = quorate(&["member", "promote", &member, "--data-dir"]);
        command.arg(cluster.node(1)).output().unwrap().status.success().then_some(())
    })
    .await;
}

fn snapshots_in(folder: &Path) -> usize {
    let log = std::fs::read_to_string(folder.join("node.log")).unwrap();
    log.matches("installed a snapshot").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_learner_that_never_comes_or_was_long_away_stops_nobody() {
    let mut cluster = Cluster::start(1, &["--snapshot-every=50", "--log-keep=0"]);
    make_namespace(&mut cluster.client(1), "load").await;
    // Member 2 is set up and never started.
    join_at(&cluster, 1, 2, &cluster.spare("absent"));
    let folder = cluster.spare("node-3");
    join_at(&cluster, 1, 3, &folder);
    cluster.serve(&folder);
    cluster.ready(3).await;

    // Member 3 is away while the log is cut behind it.
    stop(&folder);
    let load = Load::start(&cluster, &[1], "load");
    let last = cluster.status(&cluster.node(1)).unwrap()["logLast"].as_u64().unwrap();
    eventually("the log is cut", async || {
        let status = cluster.status(&cluster.node(1))?;
        (status["logPurged"].as_u64()? > last + 50).then_some(())
    })
    .await;
    let before = snapshots_in(&folder);
    cluster.serve(&folder);
    promote(&cluster, 3).await;
    assert!(snapshots_in(&folder) > before, "it came by the log");
    load.goes_on(20).await;

    // The absent one goes, and member 3 comes back with an empty folder.
    Cluster::run(&["member", "remove", "2"], &cluster.node(1));
    Cluster::run(&["member", "remove", "3"], &cluster.node(1));
    eventually("the removed node stops", async || {
        let log = std::fs::read_to_string(folder.join("node.log")).unwrap();
        log.lines().any(|line| line.starts_with("quorate: node 3 was removed")).then_some(())
    })
    .await;
    std::fs::remove_dir_all(&folder).unwrap();
    join_at(&cluster, 1, 3, &folder);
    cluster.serve(&folder);
    promote(&cluster, 4).await;
    let roles: Vec<_> = members(&cluster)
        .iter()
        .map(|member| member["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["leader", "voter"]);
    load.goes_on(20).await;
    let written = load.finish().await;
    assert_eq!((written.unknown, &written.refused[..]), (0, &[][..]));
    cluster.ready(3).await;
    written.check_is_there(&mut cluster.client(3), "load").await;
}

/// Kills the node of a folder, and waits for its end.
fn stop(folder: &Path) {
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
    std::process::Command::new("kill").args(["-s", "KILL", &pid]).status().unwrap();
}
