//! `quorate bench`: that measurements run and count, and one outlives a server.

use std::path::Path;
use std::process::Stdio;
use std::str;

use serde_json::Value;

use crate::support::{Cluster, eventually, free_port, quorate};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_measurement_outlives_the_loss_of_a_server() {
    let mut cluster = Cluster::start(3, &[]);
    // The first server is asked to make the objects and to remove them.
    let leader = cluster.leader(1).await;
    let lost = if leader == 3 { 2 } else { 3 };
    let root = cluster.root();
    let bounds = ["--clients", "3", "--objects", "9", "--duration", "6s", "--output", "json"];
    let measuring = quorate(&["bench", "get", "--data-dir", root.to_str().unwrap()])
        .args(bounds)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the lost server is measured", async || {
        let metrics = cluster.client(lost).get("/metrics").await.body;
        let gets = metrics.as_str()?.lines().filter(|line| {
            let labels = [r#"resource="configmaps""#, r#"verb="GET""#, r#"code="200""#];
            line.starts_with("apiserver_request_total{")
                && labels.iter().all(|label| line.contains(label))
        });
        let count =
            gets.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>();
        (count > 20.0).then_some(())
    })
    .await;
    cluster.kill(lost);
    let output = measuring.wait_with_output().unwrap();
    assert!(output.status.success());
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |what: &str| reports[0][what].as_u64().unwrap();
    // The client of the lost server meets it once, and goes on with the next.
    assert!((1..=3).contains(&count("errors")), "{reports}");
    assert!(count("operations") > 100, "{reports}");
}

#[tokio::test]
async fn definitions_are_measured_and_removed() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let root = cluster.root();
    // The folder has one definition among other files.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/custom_resources");
    let root = root.to_str().unwrap();
    let arguments = ["bench", "definitions", "--data-dir", root, "--definitions", folder];
    let bounds = ["--count", "12", "--clients", "3", "--rest", "0s", "--output", "json"];
    let output = quorate(&[&arguments[..], &bounds].concat()).output().unwrap();
    let (told, wrong) = (str::from_utf8(&output.stdout).unwrap(), &output.stderr);
    assert!(output.status.success(), "{told} {}", wrong.escape_ascii());
    let reports: Value = serde_json::from_str(told).unwrap();
    let report = &reports[0];
    assert_eq!((&report["operations"], &report["errors"]), (&12.into(), &0.into()), "{report}");
    let figures = &report["definitions"];
    let seconds = |phase: &str| figures["phases"][phase].as_f64().unwrap();
    let phases = ["appliedSeconds", "discoveredSeconds", "describedSeconds"].map(seconds);
    assert!(phases[0] > 0.0 && phases.is_sorted(), "{figures}");
    assert!(figures["among_many"]["visible_ms"]["p50"].as_f64() > Some(0.0), "{figures}");
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let left = cluster.client(1).get(path).await.expect(200);
    assert_eq!(left.body["items"], Value::Array(Vec::new()));
}

/// What `quorate bench` tells in JSON.
fn told(root: &Path, workload: &str, arguments: &str) -> Value {
    let root = root.to_str().unwrap();
    let line = format!("bench {workload} --data-dir {root} --output json {arguments}");
    let output = quorate(&line.split_whitespace().collect::<Vec<_>>()).output().unwrap();
    let wrong = output.stderr.escape_ascii();
    assert!(output.status.success(), "{workload}: {wrong}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn a_fan_out_loses_nothing() {
    let cluster = Cluster::start(1, &[]);
    let check = |share: &str, watchers_of_a_write: u64| {
        let arguments = format!("--watchers 20 --connections 4 --share {share} --objects 40");
        let bounds = "--clients 4 --rate 200 --duration 1s";
        let reports = told(&cluster.root(), "fanout", &format!("{arguments} {bounds}"));
        let (report, figures) = (&reports[0], &reports[0]["fanout"]);
        let writes = figures["writes"].as_u64().unwrap();
        assert!(writes > 20, "{report}");
        let expect = Value::from(writes * watchers_of_a_write);
        assert_eq!((&report["operations"], &report["errors"]), (&expect, &0.into()), "{report}");
        assert_eq!(figures["expected"], expect);
    };
    check("all", 20);
    check("1/4", 5);
}

#[tokio::test]
async fn a_herd_comes_back_with_all_objects() {
    let cluster = Cluster::start(1, &[]);
    for form in ["json", "protobuf"] {
        let arguments = "--watchers 30 --connections 3 --objects 300 --duration 0s";
        let arguments = format!("{arguments} --encoding {form}");
        let reports = told(&cluster.root(), "herd", &arguments);
        let report = &reports[0];
        assert_eq!((&report["operations"], &report["errors"]), (&30.into(), &0.into()), "{report}");
        // The controllers put one into each namespace.
        assert_eq!(report["herd"]["objects"], 301);
    }
}

#[tokio::test]
async fn initial_events_are_measured_beside_lists() {
    let cluster = Cluster::start(1, &[]);
    for form in ["json", "protobuf"] {
        let arguments = format!("--objects 300 --clients 2 --duration 1200ms --encoding {form}");
        let reports = told(&cluster.root(), "watch-list", &arguments);
        let report = &reports[0];
        let objects = report["operations"].as_u64().unwrap();
        // The controllers put one into each namespace.
        assert!(objects >= 301 && objects.is_multiple_of(301), "{report}");
        assert_eq!(report["errors"], 0, "{report}");
        assert!(report["watchList"]["objects_per_second_of_list"].as_f64() > Some(0.0), "{report}");
    }
}

#[test]
fn a_curve_makes_a_cluster_and_starts_it_again() {
    let folder = tempfile::TempDir::new().unwrap();
    let root = folder.path().join("curve");
    let node = format!("--node-options=--bind=127.0.0.1:{},--archive=off", free_port());
    let bounds =
        "--objects 50,200 --clients 4 --watchers 3 --duration 200ms --rest 0s --share 1/10";
    let table = told(&root, "curve", &format!("{node} {bounds}"));
    let sizes = table["sizes"].as_array().unwrap();
    assert_eq!(sizes.iter().map(|size| &size["objects"]).collect::<Vec<_>>(), [50, 200]);
    for size in sizes {
        assert!(size["ready_seconds"].as_f64() > Some(0.0), "{size}");
        let rows = size["rows"].as_array().unwrap();
        let failed: Vec<_> = rows.iter().filter(|row| row["report"]["errors"] != 0).collect();
        assert!(rows.len() == 9 && failed.is_empty(), "{failed:?}");
    }
}
