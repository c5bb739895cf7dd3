//! The rules and dashboards of `deploy/`: they are well formed, each alert fires when it should and is
//! explained in the operator's guide, and every metric, label and value that they name exists.

mod promql;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Where `.ci/tools` puts it, below the workspace. Debian's packages have it, other systems may not.
const PROMTOOL: &str = "target/tools/promtool";
/// What no server tells: Prometheus makes these.
const FROM_PROMETHEUS: [&str; 2] = ["up", "ALERTS"];
/// Labels that a scrape adds.
const OF_SCRAPES: [&str; 4] = ["job", "instance", "namespace", "pod"];
/// Labels of the alerts that fire.
const OF_ALERTS: [&str; 3] = ["alertname", "alertstate", "severity"];
/// Labels with values that the sources need not name: groups of others, and numbers.
const FREE: [&str; 3] = ["group", "code", "le"];

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
        let quiet = format!("alertname=\"{alert}\",alertstate=\"firing\"}}\n");
        let is_quiet = |behind: &str| behind.lines().nth(1) == Some("        exp_samples: []");
        let mut asked = tests.match_indices(&quiet).map(|(at, text)| &tests[at + text.len()..]);
        assert!(asked.any(is_quiet), "{alert} is not seen to be quiet");
    }
}

/// A metric of the server's table.
struct Metric {
    is_histogram: bool,
    labels: BTreeSet<String>,
    buckets: BTreeSet<String>,
}

/// The table of all metrics.
fn table() -> BTreeMap<String, Metric> {
    let text = fs::read_to_string(workspace().join("api/metrics/src/metrics.table")).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|row| {
        let columns: Vec<&str> = row.splitn(5, " | ").collect();
        let words = |column: &str| {
            column.split(' ').filter(|word| *word != "-").map(str::to_owned).collect()
        };
        let head: Vec<&str> = columns[0].split(' ').collect();
        let is_histogram = head[1] == "histogram";
        let (labels, buckets) = (words(columns[1]), words(columns[2]));
        (head[0].to_owned(), Metric { is_histogram, labels, buckets })
    })
    .collect()
}

/// The metric that a series is of; a part of a histogram is told by its ending.
fn metric_of<'t>(
    table: &'t BTreeMap<String, Metric>,
    series: &str,
) -> Option<(&'t Metric, &'t str)> {
    let parts = ["_bucket", "_sum", "_count"].into_iter().find_map(|end| {
        let metric = table.get(series.strip_suffix(end)?)?;
        metric.is_histogram.then_some((metric, end))
    });
    parts.or_else(|| table.get(series).filter(|one| !one.is_histogram).map(|metric| (metric, "")))
}

#[test]
fn every_metric_of_rules_and_dashboards_exists() {
    let (table, recorded, sources) = (table(), recorded(), literals());
    let all: BTreeSet<&str> = table
        .values()
        .flat_map(|metric| &metric.labels)
        .chain(recorded.values().flatten())
        .map(String::as_str)
        .chain(OF_SCRAPES)
        .chain(OF_ALERTS)
        .chain(["le"])
        .collect();
    let mut seen = 0;
    for (place, expression) in expressions() {
        let names = promql::names(&expression);
        for label in &names.labels {
            assert!(all.contains(label.as_str()), "{place}: no label {label}");
        }
        for (series, matchers) in &names.series {
            seen += 1;
            let metric = metric_of(&table, series);
            let is_made =
                recorded.contains_key(series) || FROM_PROMETHEUS.contains(&series.as_str());
            assert!(metric.is_some() || is_made, "{place}: no series {series}");
            let labels = recorded.get(series).into_iter().flatten();
            let labels: BTreeSet<&str> = labels
                .chain(metric.iter().flat_map(|(metric, _)| &metric.labels))
                .map(String::as_str)
                .chain(OF_SCRAPES)
                .collect();
            for matcher in matchers.iter().filter(|_| series != "ALERTS") {
                let told = format!("{place}: {series}{matcher:?}");
                match (&*matcher.label, metric) {
                    ("le", Some((metric, "_bucket"))) => {
                        let is_bound = metric.buckets.contains(&matcher.value);
                        assert!(is_bound || matcher.value == "+Inf", "{told}");
                    }
                    (label, _) => assert!(labels.contains(label), "{told}: no such label"),
                }
                check_values(matcher, &sources, &told);
            }
        }
    }
    assert!(seen > 150, "{seen}");
}

/// A value of a label is among the texts of the sources.
fn check_values(matcher: &promql::Matcher, sources: &BTreeSet<String>, told: &str) {
    let promql::Matcher { label, value, is_pattern } = matcher;
    if OF_SCRAPES.contains(&label.as_str()) || FREE.contains(&label.as_str()) {
        return;
    }
    let values = value.split('|').filter(|_| *is_pattern);
    for value in values.chain((!is_pattern).then_some(value.as_str())) {
        let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        let is_known = value.is_empty() || sources.contains(value);
        assert!(is_plain && is_known, "{told}: {value} is in no source");
    }
}

#[test]
fn descriptions_name_labels_that_series_have() {
    let table = table();
    let recorded = recorded();
    let known: BTreeSet<&String> =
        table.values().flat_map(|one| &one.labels).chain(recorded.values().flatten()).collect();
    let mut seen = 0;
    for (path, text) in rules() {
        for (_, behind) in
            text.match_indices("$labels.").map(|(at, name)| (at, &text[at + name.len()..]))
        {
            let length = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap();
            let label = behind[..length].to_owned();
            let is_known = known.contains(&label) || OF_SCRAPES.contains(&label.as_str());
            assert!(is_known, "{}: no label {label}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

/// The texts in the sources of the server: values of labels are among them.
fn literals() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> =
        ["api", "node/src", "raft"].map(|at| workspace().join(at)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_test = path.file_name().is_some_and(|name| name == "tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(path).unwrap();
                let is_plain = |part: &&str| part.len() < 40 && !part.contains([' ', '\n']);
                found.extend(text.split('"').filter(is_plain).map(str::to_owned));
            }
        }
    }
    found
}

/// The series that rules record, with the labels that they set or group by.
fn recorded() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for rule in all_rules() {
        let Some(name) = rule["record"].as_str() else { continue };
        let labels = found.entry(name.to_owned()).or_default();
        labels.extend(promql::names(rule["expr"].as_str().unwrap()).labels);
        labels
            .extend(rule["labels"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
    }
    found
}

fn all_rules() -> Vec<Value> {
    let mut found = Vec::new();
    for (_, text) in rules() {
        let file: Value = serde_saphyr::from_str(&text).unwrap();
        for group in file["groups"].as_array().unwrap() {
            found.extend(group["rules"].as_array().unwrap().iter().cloned());
        }
    }
    found
}

/// All expressions, each with where it stands.
fn expressions() -> Vec<(String, String)> {
    let rules = all_rules().into_iter().map(|rule| {
        let name = rule["alert"].as_str().or(rule["record"].as_str()).unwrap().to_owned();
        (name, rule["expr"].as_str().unwrap().to_owned())
    });
    let mut found: Vec<_> = rules.collect();
    let dashboards = dashboards();
    assert_eq!(dashboards.len(), 5);
    for (path, text) in dashboards {
        let place = path.file_name().unwrap().to_str().unwrap().to_owned();
        let board: Value = serde_json::from_str(&text).unwrap();
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                found.push((place.clone(), target["expr"].as_str().unwrap().to_owned()));
            }
        }
    }
    found
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
