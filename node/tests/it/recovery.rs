//! Recovery from a lost quorum: one node goes on with its data, and refuses the members of the old
//! cluster.

use std::path::Path;
use std::process::Output;
use std::time::Instant;

use http::Method;
use serde_json::Value;

use crate::load::{Load, collection, make_namespace};
use crate::membership::join;
use crate::support::{Cluster, eventually, quorate};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_node_goes_on_when_the_others_are_lost() {
    let mut cluster = Cluster::start(3, &[]);
    make_namespace(&mut cluster.client(1), "load").await;
    let load = Load::start(&cluster, &[1, 2, 3], "load");
    load.goes_on(300).await;
    refused(&recover(&cluster.node(1), &["--yes"]), "is served by another process already");
    let old = cluster.status(&cluster.node(1)).unwrap()["cluster"].as_str().unwrap().to_owned();
    (1..=3).for_each(|node| cluster.kill(node));
    let written = load.finish().await;

    // Whatever was acknowledged is in the longest log of all.
    let survivor = (1..=3).max_by_key(|node| log_end(&cluster, *node)).unwrap();
    let [lost, returns] = [survivor % 3 + 1, (survivor + 1) % 3 + 1];
    std::fs::remove_dir_all(cluster.node(lost)).unwrap();
    let output = recover(&cluster.node(survivor), &["--yes"]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains(&format!("given up  node {lost}, a voter")), "{told}");
    let started = Instant::now();
    let folder = cluster.node(survivor);
    cluster.serve(&folder);
    cluster.ready(survivor).await;
    println!("ready {:.2} s after the start", started.elapsed().as_secs_f64());

    Cluster::run(&["status", "--ready"], &folder);
    let mut client = cluster.client(survivor);
    written.check_is_there(&mut client, "load").await;
    let exact = format!(
        "{}?resourceVersionMatch=Exact&resourceVersion={}",
        collection("load"),
        written.last()
    );
    client.send(Method::GET, &exact, None).await.unwrap().expect(410);
    let next = make_namespace(&mut client, "after").await;
    assert!(next > written.last() + 1_000_000_000, "revision {next} may have been used before");
    let status = cluster.status(&folder).unwrap();
    let new = status["cluster"].as_str().unwrap();
    assert_ne!(new, old);
    assert_eq!(status["members"].as_array().unwrap().len(), 1);

    let output = quorate(&["serve", "--data-dir"]).arg(cluster.node(returns)).output().unwrap();
    refused(
        &output,
        &format!("cluster {old} had lost its quorum and was given up for cluster {new}"),
    );

    let fresh = cluster.spare("node-4");
    join(&cluster, survivor, &fresh);
    cluster.serve(&fresh);
    cluster.ready(4).await;
    let number = config(&fresh)["node"].to_string();
    assert_eq!(number, "4", "the numbers of lost nodes do not come back");
    Cluster::run(&["member", "promote", &number], &folder);
    written.check_is_there(&mut cluster.client(4), "load").await;
    assert!(make_namespace(&mut cluster.client(4), "later").await > next);
    eventually("two voters", async || {
        let status = cluster.status(&fresh)?;
        let members = status["members"].as_array()?;
        (members.len() == 2 && members.iter().all(|member| member["role"] != "learner"))
            .then_some(())
    })
    .await;
}

fn recover(folder: &Path, arguments: &[&str]) -> Output {
    quorate(&["recover", "--data-dir"]).arg(folder).args(arguments).output().unwrap()
}

/// Fails with one line that says this.
fn refused(output: &Output, expect: &str) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("quorate: ")).collect();
    assert!(!output.status.success() && lines.len() == 1 && lines[0].contains(expect), "{text}");
}

/// The term and the entry that a node's log ends with, as the command tells when it changes
/// nothing.
fn log_end(cluster: &Cluster, node: u64) -> (u64, u64) {
    let before = config(&cluster.node(node));
    let output = recover(&cluster.node(node), &[]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("Nothing was changed"), "{told}");
    assert_eq!(config(&cluster.node(node)), before);
    let line = told
        .lines()
        .find_map(|line| line.trim().strip_prefix("log       ends with entry "))
        .unwrap();
    let (index, term) = line.split_once(" of term ").unwrap();
    (term.parse().unwrap(), index.parse().unwrap())
}

fn config(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("node.json")).unwrap()).unwrap()
}
