//! The table of metrics beside the list of those of the release that this server follows, where that
//! list is there.
//!
//! `QUORATE_FACTS` names its folder; else it is looked for beside the sources.

use std::collections::BTreeSet;
use std::path::PathBuf;

use quorate_registry::release::Release;
use serde_json::Value;

use crate::table::{MetricRow, StabilityLevel};

/// The metrics of the release that this server does not have.
const NOT_HERE: &str = include_str!("not_here.table");

/// A row of it: a name, or the begin of several, and the reason.
struct Absent {
    name: &'static str,
    is_prefix: bool,
}

fn absent() -> Vec<Absent> {
    let rows = NOT_HERE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| {
        let (name, reason) = line.split_once(" | ").expect("a name and a reason");
        assert!(!reason.is_empty(), "{name} has no reason");
        let begin = name.strip_suffix('*');
        Absent { name: begin.unwrap_or(name), is_prefix: begin.is_some() }
    };
    rows.map(row).collect()
}

impl Absent {
    fn is(&self, name: &str) -> bool {
        if self.is_prefix { name.starts_with(self.name) } else { self.name == name }
    }
}

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
}

/// Of each metric of the release it is known that this server has it, or why not.
#[test]
fn every_metric_of_the_release_is_accounted_for() {
    let Some(facts) = facts() else {
        eprintln!("skipped: the list of metrics of the release is not there");
        return;
    };
    let of_release = facts["metrics"].as_object().expect("an object");
    let rows: BTreeSet<&str> = MetricRow::all().into_iter().map(|row| row.name).collect();
    let absent = absent();
    for (name, fact) in of_release {
        let found = absent.iter().find(|row| row.is(name));
        assert_ne!(rows.contains(name.as_str()), found.is_some(), "{name} is in one table");
        let is_promised = matches!(fact["stability"].as_str(), Some("STABLE" | "BETA"));
        assert!(!is_promised || found.is_none_or(|row| !row.is_prefix), "{name} is named in full");
    }
    for row in &absent {
        assert!(of_release.keys().any(|name| row.is(name)), "{} is no metric", row.name);
    }
}
