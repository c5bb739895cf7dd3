//! What the pods of the chart run: the program takes each of the command lines.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{MATRIX, workspace};
use crate::support::{Cluster, Helm, quorate};

/// The data folder in the pods.
const DATA_DIR: &str = "--data-dir=/data/node";
/// What clap says of a command line that it does not take.
const USAGE: &str = "error: ";

#[test]
fn the_program_takes_the_command_lines_of_pods() {
    let cluster = Cluster::start(1, &[]);
    let Some(helm) = Helm::find(&cluster.root()) else { return };
    let chart = workspace().join("deploy/helm/quorate");
    let chart = chart.to_str().unwrap();
    let mut lines = BTreeSet::new();
    for (_, values) in MATRIX {
        let text = helm.run(&["template", "q", chart, "--set", &values.join(",")]);
        for document in text.split("\n---\n") {
            let object: Value = serde_saphyr::from_str(document).unwrap();
            let kind = object["kind"].as_str().unwrap_or_default();
            if ["StatefulSet", "Deployment"].contains(&kind) {
                commands(&object["spec"]["template"]["spec"], &mut lines);
            }
        }
    }
    let of = |words: &[&str]| lines.iter().filter(|line| line.starts_with(&owned(words))).count();
    assert!(of(&["serve"]) > 3 && of(&["operator-step", "setup"]) > 3, "{lines:?}");
    assert!(of(&["operator-step", "leave"]) > 0 && of(&["operator-step", "follow"]) > 0);
    assert!(of(&["status"]) > 1, "{lines:?}");
    let absent = cluster.spare("absent");
    let absent = format!("--data-dir={}", absent.display());
    let check = |line: &[String], expect: bool| {
        let words: Vec<&str> =
            line.iter().map(|word| if word == DATA_DIR { &absent } else { &**word }).collect();
        let mut command = quorate(&words);
        // A step waits for the cluster that the pod runs in; the help comes before that, and after what is wrong.
        if words[0] == "operator-step" {
            command.arg("--help");
        }
        command.envs([("POD_NAME", "q-0"), ("POD_NAMESPACE", "n")]);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(!told.starts_with(USAGE), expect, "{line:?}: {told}");
    };
    for line in &lines {
        check(line, true);
    }
    for wrong in [&["serve", DATA_DIR, "--archive"][..], &["operator-step", "setup", "--wat=5m"]] {
        check(&owned(wrong), false);
    }
}

/// The command lines of a pod: of its containers, probes and hooks.
fn commands(pod: &Value, found: &mut BTreeSet<Vec<String>>) {
    for part in ["initContainers", "containers"] {
        for container in pod[part].as_array().unwrap() {
            found.insert(words(&[&container["command"], &container["args"]]));
            let probes = ["startupProbe", "livenessProbe", "readinessProbe"];
            let hook = &container["lifecycle"]["preStop"];
            for handler in probes.iter().map(|probe| &container[*probe]).chain([hook]) {
                if handler["exec"].is_object() {
                    found.insert(words(&[&handler["exec"]["command"]]));
                }
            }
        }
    }
}

/// The words after the program's name.
fn words(parts: &[&Value]) -> Vec<String> {
    let words = parts.iter().flat_map(|part| part.as_array().into_iter().flatten());
    let mut words = words.map(|word| word.as_str().unwrap().to_owned());
    assert_eq!(words.next().as_deref(), Some("/quorate"));
    words.collect()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
