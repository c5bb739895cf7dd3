//! The rules and dashboards of `deploy/`: they are well formed, each alert fires when it should and is
//! explained in the operator's guide, and every metric that they name exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Where `.ci/tools` puts it, below the workspace. Debian's packages have it, other systems may not.
const PROMTOOL: &str = "target/tools/promtool";
/// What no server tells: Prometheus makes these.
const FROM_PROMETHEUS: [&str; 2] = ["up", "ALERTS"];

#[test]
fn rules_hold_and_alerts_fire() {
    let promtool = workspace().join(PROMTOOL);
    if !promtool.exists() {
        return println!("skipped: no {PROMTOOL}; run .ci/tools");
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&promtool);
        command.current_dir(workspace().join("deploy/alerts")).args(arguments);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "promtool {arguments:?}: {text}{errors}");
    };
    run(&[
        "check",
        "rules",
        "--lint=all",
        "--lint-fatal",
        "quorate.rules.yaml",
        "service-levels.rules.yaml",
    ]);
    run(&["test", "rules", "quorate.test.yaml"]);
}

#[test]
fn each_alert_is_tested_and_explained() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let (tests, guide) = (read("deploy/alerts/quorate.test.yaml"), read("deploy/README.md"));
    let mut alerts = BTreeSet::new();
    for (_, rules) in rules() {
        let named = |key: &str| {
            let key = format!("{key}: ");
            let lines = rules.lines().filter_map(move |line| line.trim().split_once(&key));
            lines.map(|(_, name)| name.trim().to_owned()).collect::<Vec<_>>()
        };
        let (names, links) = (named("- alert"), named("runbook_url"));
        assert_eq!(names.len(), links.len());
        for (name, link) in names.iter().zip(links) {
            assert_eq!(link, format!("deploy/README.md#{}", name.to_lowercase()));
        }
        alerts.extend(names);
    }
    assert!(alerts.len() > 20, "{alerts:?}");
    for alert in alerts {
        assert!(
            guide.contains(&format!("\n#### {alert}\n")),
            "deploy/README.md explains no {alert}"
        );
        assert!(
            tests.contains(&format!("alertname=\"{alert}\",alertstate=\"firing\",")),
            "{alert} is not seen to fire"
        );
    }
}

#[test]
fn every_metric_of_rules_and_dashboards_exists() {
    let table = fs::read_to_string(workspace().join("api/metrics/src/metrics.table")).unwrap();
    let known: BTreeSet<&str> = table
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let rules = rules();
    let recorded: BTreeSet<&str> = rules
        .iter()
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.trim().strip_prefix("- record: "))
        .collect();
    let dashboards = dashboards();
    assert_eq!(dashboards.len(), 5);
    let mut seen = 0;
    for (path, text) in rules.iter().chain(&dashboards) {
        for metric in metrics(text) {
            seen += 1;
            let base =
                ["_bucket", "_sum", "_count"].iter().find_map(|end| metric.strip_suffix(end));
            let is_known =
                [Some(metric), base].into_iter().flatten().any(|name| known.contains(name));
            let is_made = recorded.contains(metric) || FROM_PROMETHEUS.contains(&metric);
            assert!(is_known || is_made, "{}: no metric {metric}", path.display());
        }
    }
    assert!(seen > 150, "{seen}");
}

#[test]
fn dashboards_have_what_grafana_needs() {
    let mut names = BTreeSet::new();
    for (path, text) in dashboards() {
        let board: Value = serde_json::from_str(&text).unwrap();
        assert!(names.insert(board["uid"].as_str().unwrap().to_owned()), "{}", path.display());
        let panels = board["panels"].as_array().unwrap();
        let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
        assert_eq!(ids.len(), panels.len(), "{}", path.display());
        for panel in panels.iter().filter(|panel| panel["type"] != "row") {
            assert_eq!(panel["datasource"]["uid"], "${datasource}");
            assert!(!panel["targets"].as_array().unwrap().is_empty());
        }
    }
}

/// The names in a text that selectors stand behind.
fn metrics(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(|(at, _)| {
        let before = &text[..at];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let begin = before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
        let name = &before[begin..];
        name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(name)
    })
}

fn rules() -> Vec<(PathBuf, String)> {
    read_all("deploy/alerts", ".rules.yaml")
}

fn dashboards() -> Vec<(PathBuf, String)> {
    read_all("deploy/dashboards", ".json")
}

fn read_all(folder: &str, end: &str) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(workspace().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_str().unwrap().ends_with(end));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
