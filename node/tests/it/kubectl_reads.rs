//! Reads of kubectl: pages, selectors, watches and waits, in both naming profiles.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::load::{collection, make_namespace};
use crate::support::{Client, Cluster, Kubectl, PATIENCE};

/// Objects in the namespace, beside the one that a controller puts into each.
const MAPS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_in_the_names_of_the_documents() {
    drive("svc").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_in_the_names_of_kubernetes() {
    drive("kubernetes").await;
}

async fn drive(naming: &str) {
    let cluster = Cluster::start(1, &["--naming", naming]);
    let Some(kubectl) = Kubectl::find(&cluster.root()) else {
        return;
    };
    let mut client = cluster.client(1);
    make_namespace(&mut client, "shop").await;
    for (number, name) in MAPS.iter().enumerate() {
        let tier = ["front", "back"][number % 2];
        make(&mut client, name, tier).await;
    }
    pages(&kubectl);
    labels(&kubectl);
    fields(&kubectl);
    watches(&kubectl);
    waits(&kubectl);
}

async fn make(client: &mut Client, name: &str, tier: &str) {
    let metadata = json!({ "name": name, "labels": { "tier": tier } });
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "colour": "red" } });
    client.post(&collection("shop"), &body).await.expect(201);
}

/// Names of the ConfigMaps that a command with these arguments finds.
fn find(kubectl: &Kubectl, arguments: &[&str]) -> String {
    let found =
        kubectl.run(&[&["get", "configmaps", "-n", "shop", "-o", "name"], arguments].concat());
    let names = found.lines().map(|line| line.strip_prefix("configmap/").unwrap());
    names.filter(|name| name.len() == 1).collect()
}

fn pages(kubectl: &Kubectl) {
    for (size, requests) in [("1", 8), ("3", 3), ("8", 1), ("100", 1)] {
        let arguments =
            ["get", "configmaps", "-n", "shop", "-o", "name", "-v=6", "--chunk-size", size];
        let output = kubectl.command(&arguments).output().unwrap();
        let (names, log) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(names.lines().count(), MAPS.len() + 1, "{size}: {names}{log}");
        let asked = log.lines().filter(|line| line.contains(&format!("limit={size}"))).count();
        assert_eq!(asked, requests, "{size}: {log}");
    }
    let table = kubectl.run(&["get", "configmaps", "-n", "shop", "--chunk-size=2"]);
    assert_eq!(table.lines().count(), MAPS.len() + 2, "{table}");
    assert_eq!(find(kubectl, &["--chunk-size=2", "-l", "tier=front"]), "aceg");
}

fn labels(kubectl: &Kubectl) {
    let check = |selector: &str, expect: &str| {
        assert_eq!(find(kubectl, &["-l", selector]), expect, "{selector}")
    };
    check("tier=front", "aceg");
    check("tier==back", "bdf");
    check("tier!=front", "bdf");
    check("tier in (front, back)", "abcdefg");
    check("tier notin (front),tier", "bdf");
    check("tier", "abcdefg");
    check("!tier", "");
    check("tier,!other", "abcdefg");
    let bad = kubectl.fail(&["get", "configmaps", "-n", "shop", "-l", "tier in front"]);
    assert!(bad.contains("unable to parse requirement"), "{bad}");
}

fn fields(kubectl: &Kubectl) {
    let check = |selector: &str, expect: &str| {
        assert_eq!(find(kubectl, &["--field-selector", selector]), expect, "{selector}")
    };
    check("metadata.name=a", "a");
    check("metadata.name!=a", "bcdefg");
    check("metadata.namespace=shop,metadata.name!=b", "acdefg");
    check("metadata.namespace=other", "");
    assert_eq!(find(kubectl, &["-l", "tier=front", "--field-selector", "metadata.name!=c"]), "aeg");
    let kind = |selector: &str| {
        kubectl.run(&["get", "secrets", "-n", "shop", "-o", "name", "--field-selector", selector])
    };
    kubectl.run(&["create", "secret", "generic", "plain", "-n", "shop"]);
    kubectl.run(&["create", "secret", "generic", "other", "--type=example.com/own", "-n", "shop"]);
    assert_eq!(kind("type=Opaque"), "secret/plain\n");
    assert_eq!(kind("type!=Opaque"), "secret/other\n");
    let active = kubectl.run(&[
        "get",
        "namespaces",
        "-o",
        "name",
        "--field-selector",
        "status.phase=Active",
    ]);
    assert!(active.contains("namespace/shop"), "{active}");
    let everywhere =
        ["get", "configmaps", "-A", "-o", "name", "--field-selector", "metadata.namespace=shop"];
    assert_eq!(kubectl.run(&everywhere).lines().count(), MAPS.len() + 1);
    let bad =
        kubectl.fail(&["get", "configmaps", "-n", "shop", "--field-selector", "data.colour=red"]);
    assert!(
        bad.contains("field label not supported") || bad.contains("not a known field selector"),
        "{bad}"
    );
}

fn watches(kubectl: &Kubectl) {
    let arguments = [
        "get",
        "configmaps",
        "-n",
        "shop",
        "-l",
        "tier=front",
        "--output-watch-events",
        "-o",
        "json",
    ];
    let mut selected = Watch::start(kubectl, &[&arguments[..], &["-w"]].concat());
    let seen: Vec<_> = (0..4).map(|_| selected.next_event()).collect();
    assert_eq!(seen, ["ADDED a", "ADDED c", "ADDED e", "ADDED g"]);
    let mut rows =
        Watch::start(kubectl, &["get", "configmaps", "-n", "shop", "-w", "--no-headers"]);
    let first: Vec<_> = (0..=MAPS.len()).map(|_| rows.next_line()).collect();
    assert!(first.iter().any(|row| row.starts_with("a ")), "{first:?}");

    kubectl.run(&["label", "configmap", "a", "tier=back", "--overwrite", "-n", "shop"]);
    kubectl.run(&["label", "configmap", "b", "tier=front", "--overwrite", "-n", "shop"]);
    kubectl.run(&["delete", "configmap", "c", "-n", "shop"]);
    let seen: Vec<_> = (0..3).map(|_| selected.next_event()).collect();
    assert_eq!(seen, ["DELETED a", "ADDED b", "DELETED c"]);
    let rows: Vec<_> = (0..3).map(|_| rows.next_line()).collect();
    assert!(rows.iter().zip("abc".chars()).all(|(row, name)| row.starts_with(name)), "{rows:?}");
    // This watch does not say when it has begun, so its object changes until it prints one.
    let mut later = Watch::start(
        kubectl,
        &["get", "configmap", "a", "-n", "shop", "--watch-only", "-o", "name"],
    );
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(later.next_line()));
    let deadline = Instant::now() + PATIENCE;
    let line = (0..).find_map(|turn| {
        assert!(Instant::now() < deadline, "no change is seen");
        kubectl.run(&[
            "annotate",
            "configmap",
            "a",
            "-n",
            "shop",
            "--overwrite",
            &format!("turn={turn}"),
        ]);
        told.recv_timeout(Duration::from_millis(100)).ok()
    });
    assert_eq!(line.unwrap().trim(), "configmap/a");
}

fn waits(kubectl: &Kubectl) {
    let wait = |what: &str, object: &str| {
        Waiting::start(kubectl, &["wait", what, object, "-n", "shop", "--timeout=60s"])
    };
    let blue = wait("--for=jsonpath={.data.colour}=blue", "configmap/d");
    kubectl.run(&[
        "patch",
        "configmap",
        "d",
        "-n",
        "shop",
        "--type=merge",
        "-p",
        r#"{"data":{"colour":"blue"}}"#,
    ]);
    blue.done("configmap/d condition met");
    let made = wait("--for=create", "configmap/late");
    kubectl.run(&["create", "configmap", "late", "-n", "shop"]);
    made.done("configmap/late condition met");
    let gone = wait("--for=delete", "configmap/late");
    kubectl.run(&["delete", "configmap", "late", "-n", "shop"]);
    gone.done("");

    kubectl.run(&["run", "web", "--image=web", "-n", "shop"]);
    let ready = wait("--for=condition=Ready", "pod/web");
    let status =
        r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl.run(&[
        "patch",
        "pod",
        "web",
        "-n",
        "shop",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ]);
    ready.done("pod/web condition met");
    let selected = kubectl.run(&[
        "wait",
        "--for=condition=Ready",
        "pod",
        "-l",
        "run=web",
        "-n",
        "shop",
        "--timeout=60s",
    ]);
    assert_eq!(selected, "pod/web condition met\n");
    let late = kubectl.fail(&[
        "wait",
        "--for=condition=Initialized",
        "pod/web",
        "-n",
        "shop",
        "--timeout=1s",
    ]);
    assert!(late.contains("timed out waiting for the condition on pods/web"), "{late}");
}

/// A running `get -w`; ends with the test.
struct Watch {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Watch {
    fn start(kubectl: &Kubectl, arguments: &[&str]) -> Self {
        let mut process = kubectl.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the watch ended");
        line
    }

    /// The next event of `--output-watch-events -o json`, as `TYPE name`.
    fn next_event(&mut self) -> String {
        let event =
            serde_json::Deserializer::from_reader(&mut self.output).into_iter::<Value>().next();
        let event = event.expect("the watch goes on").unwrap();
        format!(
            "{} {}",
            event["type"].as_str().unwrap(),
            event["object"]["metadata"]["name"].as_str().unwrap()
        )
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// A running `wait`.
struct Waiting(Child);

impl Waiting {
    fn start(kubectl: &Kubectl, arguments: &[&str]) -> Self {
        Self(kubectl.command(arguments).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// It ends well and says that.
    #[track_caller]
    fn done(self, expect: &str) {
        let output = self.0.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(expect), "{expect}: {text}");
    }
}
