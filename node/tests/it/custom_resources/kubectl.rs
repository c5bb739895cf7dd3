//! kubectl with a definition and its objects.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::{DEFINITION, FOLDER, NAME, define, established};
use crate::support::{Cluster, Kubectl};

/// The manifest of a Workshop.
const KILN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/custom_resources/kiln.yaml");

#[test]
fn a_folder_with_a_definition_and_its_object_is_applied_twice() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    // kubectl maps every object before it sends the first of them, so it knows no Workshop yet.
    let first = kubectl.fail(&["apply", "-f", FOLDER]);
    assert!(first.contains("no matches for kind \"Workshop\""), "{first}");
    established(&kubectl);
    let second = kubectl.run(&["apply", "-f", FOLDER]);
    assert!(second.contains("workshop.craft.example.com/kiln created"), "{second}");
    reads(&kubectl);
    writes(&kubectl);
    subresources(&kubectl);
    finds_by_label(&kubectl);
}

#[test]
fn deleting_a_definition_removes_its_objects_and_ends_watches() {
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    define(&kubectl);
    kubectl.run(&["create", "-f", KILN]);
    let mut watching = kubectl
        .command(&["get", "wsh", "-w", "--output-watch-events", "--no-headers"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(first.starts_with("ADDED") && first.contains("kiln"), "{first}");
    kubectl.run(&["delete", "crd", NAME, "--timeout=30s"]);
    // kubectl ends by itself when its watch does.
    let rest: Vec<String> = lines.collect();
    assert!(watching.wait().unwrap().success());
    assert!(rest.iter().any(|line| line.starts_with("DELETED")), "{rest:?}");
    // Whether kubectl asks the server depends on what it keeps of discovery.
    let gone = kubectl.fail(&["get", NAME]);
    let texts = ["could not find the requested resource", "doesn't have a resource type"];
    assert!(texts.iter().any(|text| gone.contains(text)), "{gone}");
    let resources = kubectl.run(&["api-resources", "-o", "name"]);
    assert!(!resources.contains(NAME), "{resources}");
    define(&kubectl);
    assert_eq!(kubectl.run(&["get", NAME, "-o", "name"]), "");
}

fn reads(kubectl: &Kubectl) {
    let names = ["wsh", "workshop", "workshops", NAME, "workshops.v1.craft.example.com", "crafts"];
    for name in names {
        assert_eq!(
            words(&kubectl.run(&["get", name]), 3),
            [["NAME", "TRADE", "BENCHES"], ["kiln", "pottery", "1"]],
            "{name}"
        );
    }
    let wide = kubectl.run(&["get", "wsh", "-o", "wide"]);
    assert_eq!(words(&wide, 4)[0], ["NAME", "TRADE", "BENCHES", "PHASE"]);
    let resources =
        kubectl.run(&["api-resources", "--api-group=craft.example.com", "--no-headers"]);
    assert_eq!(
        words(&resources, 5),
        [["workshops", "wsh", "craft.example.com/v1", "true", "Workshop"]]
    );
    let described = kubectl.run(&["describe", "wsh", "kiln"]);
    assert!(described.contains("Trade:    pottery"), "{described}");
}

fn writes(kubectl: &Kubectl) {
    let changed = std::fs::read_to_string(KILN).unwrap().replace("pottery", "joinery");
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("kiln.yaml");
    std::fs::write(&file, &changed).unwrap();
    let file = file.to_str().unwrap();
    let difference = kubectl.fail(&["diff", "-f", file]);
    assert!(
        difference.contains("-  trade: pottery") && difference.contains("+  trade: joinery"),
        "{difference}"
    );
    kubectl.run(&["apply", "--server-side", "-f", file]);
    assert_eq!(field(kubectl, ".spec.trade"), "joinery");
    assert_eq!(kubectl.run(&["diff", "--server-side", "-f", file]), "");
    std::fs::write(file, changed.replace("joinery", "carving")).unwrap();
    let refused = kubectl.fail(&["apply", "-f", file]);
    assert!(refused.contains("spec.trade: Unsupported value: \"carving\""), "{refused}");
    let mut edit = kubectl.command(&["edit", "wsh", "kiln"]);
    let edited = edit.env("KUBE_EDITOR", "sed -i s/joinery/pottery/").output().unwrap();
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    assert_eq!(field(kubectl, ".spec.trade"), "pottery");
    let added = r#"[{"op":"add","path":"/spec/tools/-","value":{"name":"glaze"}}]"#;
    kubectl.run(&["patch", "wsh", "kiln", "--type=json", "-p", added]);
    assert_eq!(field(kubectl, ".spec.tools[1]"), r#"{"count":1,"name":"glaze"}"#);
    // Custom resources have no strategic merge, which is what kubectl sends when it is not told.
    let strategic = kubectl.fail(&["patch", "wsh", "kiln", "-p", r#"{"spec":{"benches":2}}"#]);
    assert!(strategic.contains("is not supported by craft.example.com/v1"), "{strategic}");
    let unknown = ["patch", "wsh", "kiln", "--type=merge", "-p", r#"{"spec":{"bogus":1}}"#];
    let warned = kubectl.command(&unknown).output().unwrap();
    let warning = String::from_utf8_lossy(&warned.stderr).into_owned();
    assert!(
        warned.status.success() && warning.contains("unknown field \"spec.bogus\""),
        "{warning}"
    );
}

fn subresources(kubectl: &Kubectl) {
    let before: u64 = field(kubectl, ".metadata.generation").parse().unwrap();
    kubectl.run(&["scale", "wsh", "kiln", "--replicas=4"]);
    assert_eq!(field(kubectl, ".spec.benches"), "4");
    let status = r#"{"status":{"phase":"Open","benches":4,"selector":"a=b"},"spec":{"benches":9}}"#;
    kubectl.run(&["patch", "wsh", "kiln", "--subresource=status", "--type=merge", "-p", status]);
    assert_eq!(field(kubectl, ".spec.benches"), "4");
    assert_eq!(field(kubectl, ".metadata.generation"), (before + 1).to_string());
    let scale = kubectl.run(&["get", "wsh", "kiln", "--subresource=scale", "-o", "json"]);
    let scale: Value = serde_json::from_str(&scale).unwrap();
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["spec"]["replicas"], 4);
    assert_eq!(scale["status"], serde_json::json!({ "replicas": 4, "selector": "a=b" }));
    let wide = kubectl.run(&["get", "wsh", "-o", "wide", "--no-headers"]);
    assert_eq!(words(&wide, 4), [["kiln", "pottery", "4", "Open"]]);
}

fn finds_by_label(kubectl: &Kubectl) {
    kubectl.run(&["label", "wsh", "kiln", "tier=front"]);
    let found = kubectl.run(&["get", "wsh", "-l", "tier=front", "-o", "name"]);
    assert_eq!(found, "workshop.craft.example.com/kiln\n");
    assert_eq!(kubectl.run(&["get", "wsh", "-l", "tier!=front", "-o", "name"]), "");
    let field = kubectl.fail(&["get", "wsh", "--field-selector", "spec.trade=pottery"]);
    assert!(field.contains("is not a known field selector"), "{field}");
    kubectl.run(&["delete", "wsh", "kiln"]);
    kubectl.run(&["delete", "-f", DEFINITION, "--timeout=30s"]);
}

/// A field of the Workshop.
#[track_caller]
fn field(kubectl: &Kubectl, path: &str) -> String {
    kubectl.run(&["get", "wsh", "kiln", "-o", &format!("jsonpath={{{path}}}")])
}

/// The first words of every line.
fn words(text: &str, count: usize) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().take(count).collect()).collect()
}
