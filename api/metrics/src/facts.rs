//! The table of metrics beside the list of those of the release that this server follows, where that
//! list is there.
//!
//! `QUORATE_FACTS` names its folder; else it is looked for beside the sources.

use std::collections::BTreeSet;
use std::path::PathBuf;

use quorate_registry::release::Release;
use serde_json::Value;

use crate::table::{MetricRow, StabilityLevel};

/// Metrics of the release that are stable or beta and that this server does not have, because it
/// has no such part: a file that configures authentication or authorization and is read again.
const NOT_HERE: [&str; 4] = [
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
    "apiserver_authentication_config_controller_automatic_reloads_total",
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
    "apiserver_authorization_config_controller_automatic_reloads_total",
];

fn facts() -> Option<Value> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/facts");
    let folder = std::env::var("QUORATE_FACTS").unwrap_or_else(|_| beside.to_owned());
    let path = PathBuf::from(folder).join("metrics.json");
    let text = std::fs::read_to_string(&path).ok()?;
    Some(serde_json::from_str(&text).expect("the list of metrics is JSON"))
}

/// Type, labels, buckets, level and deprecation of a metric in the list.
fn described(fact: &Value) -> (String, Vec<String>, Vec<f64>, String, Option<Release>) {
    let text = |key: &str| fact[key].as_str().unwrap_or_default().to_owned();
    let list = |key: &str| fact[key].as_array().cloned().unwrap_or_default();
    let labels = list("labels").iter().map(|label| label.as_str().unwrap().to_owned()).collect();
    let buckets = list("buckets").iter().map(|bound| bound.as_f64().unwrap()).collect();
    let release = text("deprecated");
    let release = release.rsplit_once('.').and_then(|(release, _)| release.parse().ok());
    (text("type"), labels, buckets, text("stability"), release)
}

#[test]
fn the_table_agrees_with_the_release() {
    let Some(facts) = facts() else {
        eprintln!("skipped: the list of metrics of the release is not there");
        return;
    };
    let of_release = facts["metrics"].as_object().expect("an object");
    let process: BTreeSet<&str> = facts["names_only"]["process"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for row in MetricRow::all() {
        let Some(fact) = of_release.get(row.name) else {
            let is_ours = row.since.is_some() && row.level != StabilityLevel::Unnamed;
            assert!(is_ours || process.contains(row.name), "{}: not in the release", row.name);
            continue;
        };
        let own = (
            row.metric_type.name().to_owned(),
            row.labels.iter().map(|&label| label.to_owned()).collect(),
            row.buckets.clone(),
            row.level.to_string(),
            row.deprecated,
        );
        assert_eq!(own, described(fact), "{}", row.name);
    }
    let rows: BTreeSet<&str> = MetricRow::all().into_iter().map(|row| row.name).collect();
    for (name, fact) in of_release {
        let is_promised = matches!(fact["stability"].as_str(), Some("STABLE" | "BETA"));
        if is_promised && !NOT_HERE.contains(&name.as_str()) {
            assert!(rows.contains(name.as_str()), "{name} is not in the table");
        }
    }
}
