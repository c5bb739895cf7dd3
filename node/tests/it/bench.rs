//! `quorate bench`: that a measurement runs and counts, and outlives a server.

use std::process::Stdio;
use std::str;

use serde_json::Value;

use crate::support::{Cluster, eventually, quorate};

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
