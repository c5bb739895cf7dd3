//! Changes of the membership while clients write.

use std::path::Path;
use std::process::Command;

use http::Method;
use serde_json::Value;

use crate::load::{Load, collection, make_namespace};
use crate::support::{Cluster, eventually, quorate};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_joins_is_promoted_and_another_is_removed_under_load() {
    let mut cluster = Cluster::start(3, &["--snapshot-every=100", "--log-keep=50"]);
    for namespace in ["load", "more"] {
        make_namespace(&mut cluster.client(1), namespace).await;
    }
    let load = Load::start(&cluster, &[1, 2], "load");
    eventually("every node has cut its log", async || {
        (1..=3).all(|node| log_purged(&cluster, node) > 100).then_some(())
    })
    .await;

    let folder = cluster.spare("node-4");
    join(&cluster, 1, &folder);
    cluster.serve(&folder);
    let fourth = cluster.client(4);
    cluster.ready(4).await;
    let log = std::fs::read_to_string(folder.join("node.log")).unwrap();
    assert!(log.contains("installed a snapshot"), "it did not come by snapshot:\n{log}");
    assert_eq!(role(&cluster, 4), "learner");
    eventually("the learner has caught up and votes", async || {
        quorate(&["member", "promote", "4", "--data-dir"])
            .arg(cluster.node(1))
            .output()
            .unwrap()
            .status
            .success()
            .then_some(())
    })
    .await;
    assert_eq!(role(&cluster, 4), "voter");
    let load_on_the_new_node = Load::start(&cluster, &[4], "more");

    Cluster::run(&["leader", "transfer", "--to", "2"], &cluster.node(1));
    assert_eq!(cluster.leader(1).await, 2);
    Cluster::run(&["member", "remove", "3"], &cluster.node(1));
    let members = status(&cluster)["members"].as_array().unwrap().len();
    assert_eq!(members, 3);
    let log = cluster.node(3).join("node.log");
    eventually("the removed node stops and says why", async || {
        let log = std::fs::read_to_string(&log).unwrap();
        log.lines()
            .any(|line| line.starts_with("quorate: node 3 was removed from cluster"))
            .then_some(())
    })
    .await;
    load.goes_on(50).await;
    load_on_the_new_node.goes_on(50).await;

    let mut fourth = fourth;
    let more = load_on_the_new_node.finish().await;
    let written = load.finish().await;
    for (written, namespace) in [(&more, "more"), (&written, "load")] {
        println!(
            "{namespace}: {} writes acknowledged, {} unknown",
            written.revisions.len(),
            written.unknown
        );
        assert_eq!((written.unknown, &written.refused[..]), (0, &[][..]), "requests failed");
        written.check_is_there(&mut fourth, namespace).await;
    }
    let watched = fourth
        .send(Method::GET, &format!("{}?limit=1", collection("load")), None)
        .await
        .unwrap()
        .expect(200);
    assert!(watched.revision() >= written.last());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_valid_token_lets_a_node_in() {
    let cluster = Cluster::start(1, &[]);
    let (token, hash) = token(&cluster, 1);
    let refuse = |token: &str, hash: &str, expect: &str| {
        let folder = cluster.spare("refused");
        let output = join_command(&cluster, 1, &folder, (token, hash)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(text.contains(expect) && text.trim_end().lines().count() == 1, "{text}");
        assert!(!folder.join("node.json").exists());
    };
    let (id, secret) = token.split_once('.').unwrap();
    refuse(&format!("{id}.{}", "0".repeat(secret.len())), &hash, "token");
    refuse("nonsense", &hash, "a join token looks like");
    refuse(&token, &format!("sha256:{}", "0".repeat(64)), "");
    Cluster::run(&["token", "revoke", id], &cluster.node(1));
    refuse(&token, &hash, "token");
    let list = Cluster::run(&["token", "list"], &cluster.node(1));
    assert!(!list.contains(id), "{list}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_can_read_the_folder_of_a_member_needs_no_token() {
    let mut cluster = Cluster::start(1, &[]);
    let folder = cluster.spare("node-2");
    let join = || {
        let mut command = quorate(&["join", &cluster.peer_address(1), "--if-needed"]);
        command.arg("--member-data-dir").arg(cluster.node(1)).arg("--data-dir").arg(&folder);
        command.args(["--bind", &cluster.address(2), "--peer-bind", &cluster.peer_address(2)]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(join().starts_with("node 2 of cluster "));
    assert!(join().ends_with("is set up already\n"));
    cluster.serve(&folder);
    cluster.ready(2).await;
    assert_eq!(role(&cluster, 2), "learner");
}

/// Sets a folder up for a fourth node.
pub(crate) fn join(cluster: &Cluster, through: u64, folder: &Path) {
    join_at(cluster, through, 4, folder);
}

/// The same with the addresses of a number.
pub(crate) fn join_at(cluster: &Cluster, through: u64, number: u64, folder: &Path) {
    let (token, hash) = token(cluster, through);
    let mut command = join_command_at(cluster, (through, number), folder, (&token, &hash));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn join_command(
    cluster: &Cluster,
    through: u64,
    folder: &Path,
    credentials: (&str, &str),
) -> Command {
    join_command_at(cluster, (through, 4), folder, credentials)
}

fn join_command_at(
    cluster: &Cluster,
    (through, number): (u64, u64),
    folder: &Path,
    (token, hash): (&str, &str),
) -> Command {
    let mut command =
        quorate(&["join", &cluster.peer_address(through), "--token", token, "--ca-hash", hash]);
    let (bind, peer_bind) = (cluster.address(number), cluster.peer_address(number));
    command.args(["--bind", &bind, "--peer-bind", &peer_bind, "--data-dir"]).arg(folder);
    command
}

fn token(cluster: &Cluster, through: u64) -> (String, String) {
    let text = Cluster::run(&["token", "create", "-o", "json"], &cluster.node(through));
    let answer: Value = serde_json::from_str(&text).unwrap();
    (answer["token"].as_str().unwrap().to_owned(), answer["caHash"].as_str().unwrap().to_owned())
}

fn status(cluster: &Cluster) -> Value {
    cluster.status(&cluster.node(1)).unwrap()
}

fn log_purged(cluster: &Cluster, node: u64) -> u64 {
    cluster.status(&cluster.node(node)).map_or(0, |status| status["logPurged"].as_u64().unwrap())
}

fn role(cluster: &Cluster, node: u64) -> String {
    let status = status(cluster);
    let member = status["members"].as_array().unwrap().iter().find(|member| member["node"] == node);
    let role = member.unwrap_or_else(|| panic!("{status:#}"))["role"].as_str().unwrap();
    if role == "leader" { "voter".to_owned() } else { role.to_owned() }
}
