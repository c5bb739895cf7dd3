//! `quorate bench`: that a measurement runs and counts.

use std::str;

use serde_json::Value;

use crate::support::{Cluster, quorate};

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
