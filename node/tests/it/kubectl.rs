//! kubectl against a cluster, in both naming profiles.

use std::io::BufReader;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Cluster, Kubectl};

const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/manifests");

fn drive(naming: &str) {
    let cluster = Cluster::start(1, &["--naming", naming]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    make_and_read(&kubectl);
    watch(&kubectl);
    change(&kubectl);
    explain(&kubectl);
    delete(&kubectl);
}

#[test]
fn in_the_names_of_the_documents() {
    drive("svc");
}

#[test]
fn in_the_names_of_kubernetes() {
    drive("kubernetes");
}

fn make_and_read(kubectl: &Kubectl) {
    kubectl.run(&["create", "namespace", "shop"]);
    let applied = kubectl.run(&["apply", "-f", MANIFESTS]);
    assert!(
        applied.contains("configmap/settings created") && applied.contains("secret/door created"),
        "{applied}"
    );
    let again = kubectl.run(&["apply", "-f", MANIFESTS]);
    assert!(
        again.lines().all(|line| line.ends_with("unchanged") || line.ends_with("configured")),
        "{again}"
    );
    kubectl.run(&["create", "configmap", "made", "--from-literal=a=b", "-n", "shop"]);
    let table = kubectl.run(&["get", "configmaps", "-n", "shop"]);
    assert!(
        table.starts_with("NAME") && table.contains("DATA") && table.contains("settings"),
        "{table}"
    );
    let wide = kubectl.run(&["get", "serviceaccounts,secrets", "-n", "shop", "-o", "wide"]);
    assert!(wide.contains("secret/door") && wide.contains("Opaque"), "{wide}");
    let yaml = kubectl.run(&["get", "configmap", "settings", "-n", "shop", "-o", "yaml"]);
    assert!(yaml.contains("colour: green") && yaml.contains("kind: ConfigMap"), "{yaml}");
    let selected =
        kubectl.run(&["get", "configmaps", "-n", "shop", "-l", "tier=front", "-o", "name"]);
    assert_eq!(selected, "configmap/settings\n");
    let paged = kubectl.run(&["get", "configmaps", "-A", "--chunk-size=1", "-o", "name"]);
    assert!(paged.contains("configmap/settings") && paged.contains("configmap/made"), "{paged}");
    let missing = kubectl.fail(&["get", "configmap", "none", "-n", "shop"]);
    assert!(missing.contains("configmaps \"none\" not found"), "{missing}");
}

fn watch(kubectl: &Kubectl) {
    let mut watching = kubectl
        .command(&["get", "configmaps", "-n", "shop", "-w", "--output-watch-events", "-o", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events =
        serde_json::Deserializer::from_reader(BufReader::new(watching.stdout.take().unwrap()))
            .into_iter();
    let mut next = |kind: &str, name: &str| loop {
        let event: Value = events.next().expect("the watch goes on").unwrap();
        if event["object"]["metadata"]["name"] == name && event["type"] == kind {
            return;
        }
    };
    next("ADDED", "settings");
    kubectl.run(&["create", "configmap", "seen", "--from-literal=a=b", "-n", "shop"]);
    next("ADDED", "seen");
    kubectl.run(&["label", "configmap", "seen", "x=y", "-n", "shop"]);
    next("MODIFIED", "seen");
    kubectl.run(&["delete", "configmap", "seen", "-n", "shop"]);
    next("DELETED", "seen");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

fn change(kubectl: &Kubectl) {
    let shop = ["-n", "shop"];
    let patch = |kind: &str, patch: &str| {
        kubectl.run(&[
            "patch",
            "configmap",
            "settings",
            "--type",
            kind,
            "-p",
            patch,
            shop[0],
            shop[1],
        ])
    };
    patch("merge", r#"{"data":{"colour":"red"}}"#);
    patch("json", r#"[{"op":"add","path":"/data/size","value":"big"}]"#);
    let data = kubectl.run(&[
        "get",
        "configmap",
        "settings",
        "-n",
        "shop",
        "-o",
        "jsonpath={.data.colour} {.data.size}",
    ]);
    assert_eq!(data, "red big");
    let difference = kubectl.fail(&["diff", "-f", MANIFESTS]);
    assert!(
        difference.contains("-  colour: red") && difference.contains("+  colour: green"),
        "{difference}"
    );
    let configured = kubectl.run(&["apply", "-f", MANIFESTS]);
    assert!(configured.contains("configmap/settings configured"), "{configured}");
    let mut edit = kubectl.command(&["edit", "configmap", "settings", "-n", "shop"]);
    let edited = edit.env("KUBE_EDITOR", "sed -i s/green/blue/").output().unwrap();
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    let colour = kubectl.run(&[
        "get",
        "configmap",
        "settings",
        "-n",
        "shop",
        "-o",
        "jsonpath={.data.colour}",
    ]);
    assert_eq!(colour, "blue");
    let strict = kubectl.fail(&[
        "patch",
        "configmap",
        "settings",
        "-n",
        "shop",
        "--type",
        "merge",
        "-p",
        r#"{"data":7}"#,
    ]);
    assert!(strict.to_lowercase().contains("invalid") || strict.contains("BadRequest"), "{strict}");
}

fn explain(kubectl: &Kubectl) {
    let text = kubectl.run(&["explain", "configmap.metadata.labels"]);
    assert!(text.contains("FIELD: labels") && text.contains("<map[string]string>"), "{text}");
    let resources = kubectl.run(&["api-resources", "-o", "wide"]);
    for line in ["configmaps", "namespaces", "secrets", "serviceaccounts", "events"] {
        assert!(resources.lines().any(|row| row.starts_with(line)), "{resources}");
    }
    let all = kubectl.run(&["api-resources", "--no-headers"]);
    for row in all.lines() {
        let words: Vec<&str> = row.split_whitespace().collect();
        let (&[name, ..], &[.., version, _, kind]) = (&words[..], &words[..]) else {
            panic!("{row}")
        };
        let text = kubectl.run(&["explain", name, "--api-version", version, "--recursive"]);
        let says = |label: &str, what: &str| {
            text.lines().any(|line| line.starts_with(label) && line.contains(what))
        };
        assert!(
            says("KIND:", kind)
                && says("  metadata", "<ObjectMeta>")
                && says("    uid", "<string>"),
            "{text}"
        );
    }
    let versions = kubectl.run(&["api-versions"]);
    assert!(versions.lines().any(|line| line == "v1"), "{versions}");
    let server = kubectl.run(&["version", "-o", "json"]);
    let server: Value = serde_json::from_str(&server).unwrap();
    assert_eq!(server["serverVersion"]["minor"], "35");
}

fn delete(kubectl: &Kubectl) {
    kubectl.run(&["delete", "-f", MANIFESTS]);
    kubectl.run(&["delete", "namespace", "shop", "--timeout=30s"]);
    let gone = kubectl.fail(&["get", "namespace", "shop"]);
    assert!(gone.contains("not found"), "{gone}");
    let left = kubectl.run(&["get", "configmaps", "-n", "shop", "-o", "name"]);
    assert_eq!(left, "");
}
