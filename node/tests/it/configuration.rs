//! Invalid configuration: the command fails with one line and changes nothing.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{Cluster, quorate};

/// Runs a command that must fail at once: nothing but one line, which holds these words.
fn check(command: &mut Command, expect: &str) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("quorate: ")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains(expect), "expected '{expect}' in:\n{text}");
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(file, text.replacen(from, to, 1)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(copied.success());
}

fn serve(folder: &Path) -> Command {
    let mut command = quorate(&["serve", "--data-dir"]);
    command.arg(folder);
    command
}

#[test]
fn unknown_options_are_refused() {
    let output = quorate(&["dev", "--no-such-option"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("unexpected argument '--no-such-option'")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_serve_says_why() {
    let mut cluster = Cluster::start(1, &[]);
    let folder = cluster.node(1);
    check(&mut serve(&folder), "is served by another process already");
    check(&mut serve(&cluster.spare("nothing")), "is not the data folder of a node");
    check(serve(&folder).env("QUORATE_LOG", "quorate=loud"), "QUORATE_LOG");

    let twin = cluster.spare("twin");
    copy(&folder, &twin);
    check(&mut serve(&twin), "cannot listen");

    cluster.kill(1);
    let config = twin.join("node.json");
    edit(&config, "\"naming\": \"svc\"", "\"naming\": \"kubernetes\"");
    check(&mut serve(&twin), "naming");
    edit(&config, "\"naming\": \"kubernetes\"", "\"naming\": \"svc\"");
    let cluster_id =
        serde_json::from_slice::<serde_json::Value>(&std::fs::read(&config).unwrap()).unwrap();
    let cluster_id = cluster_id["cluster"].as_str().unwrap().to_owned();
    edit(&config, &cluster_id, &"0".repeat(32));
    check(&mut serve(&twin), "cluster");
    edit(&config, &"0".repeat(32), &cluster_id);
    edit(&config, "\"format\": 1", "\"format\": 99");
    check(&mut serve(&twin), "format 99");
    edit(&config, "\"format\": 99", "\"format\": 1");
    std::fs::copy(twin.join("pki/peer.key"), twin.join("pki/server.key")).unwrap();
    check(&mut serve(&twin), "server certificate");
    std::fs::write(twin.join("pki/server.crt"), "no certificate").unwrap();
    check(&mut serve(&twin), "server certificate");
}

#[test]
fn a_dev_folder_keeps_what_it_was_made_with() {
    let cluster = Cluster::start(1, &[]);
    let root = cluster.root();
    let dev = |arguments: &[&str]| {
        let mut command = quorate(&["dev", "--data-dir"]);
        command.arg(&root).args(arguments);
        command
    };
    check(&mut dev(&["--nodes", "3"]), "number of nodes: 1");
    check(&mut dev(&["--naming", "kubernetes"]), "naming profile: svc");
    check(&mut dev(&["--bind", "127.0.0.1:1"]), "another address");
    check(quorate(&["dev", "--data-dir"]).arg(root.join("pki")), "is not empty");
    check(
        quorate(&["init", "--bind", "127.0.0.1:1", "--peer-bind", "127.0.0.1:2", "--data-dir"])
            .arg(&root),
        "is not empty",
    );
}

#[test]
fn gates_and_versions_that_cannot_be_switched_are_named() {
    let folder = TempDir::new().unwrap();
    let new = folder.path().join("new");
    let mut init =
        quorate(&["init", "--bind=127.0.0.1:1", "--peer-bind=127.0.0.1:2", "--data-dir"]);
    assert!(init.arg(&new).output().unwrap().status.success());
    let refused = |argument: &str, expect: &str| check(serve(&new).arg(argument), expect);
    refused("--feature-gates=Flying=true", "unrecognized feature gate: Flying");
    refused(
        "--feature-gates=AuthorizeWithSelectors=false",
        "cannot set feature gate AuthorizeWithSelectors to false, feature is locked to true",
    );
    refused(
        "--feature-gates=WatchList=false",
        "cannot set feature gate WatchList to false: not implemented here",
    );
    refused("--feature-gates=APIListChunking=false", "feature is locked to true");
    refused("--runtime-config=batch/v3", "group version batch/v3 that has not been registered");
    refused("--runtime-config=flights/v1", "unknown api groups flights");
    refused("--runtime-config=resource.svc.io/v1beta1", "not implemented here");
    refused("--runtime-config=api/all=false", "invalid key with only api/all=false");
}

#[test]
fn addresses_that_cannot_be_connected_to_are_refused() {
    let folder = TempDir::new().unwrap();
    let new = folder.path().join("new");
    let init = |arguments: &[&str], expect| {
        check(quorate(&["init", "--data-dir"]).arg(&new).args(arguments), expect)
    };
    init(&[], "--advertise: '0.0.0.0:6443' is no address that other machines can connect to");
    init(&["--advertise", "10.0.0.1:6443"], "--peer-advertise: '0.0.0.0:7443' is no address");
    init(&["--advertise", "10.0.0.1"], "--advertise: '10.0.0.1' is not an address host:port");
    init(&["--founder", "a.example", "--founder", "a.example"], "--founder: name each host once");
    init(&["--founder", "a.example:1"], "--founder: 'a.example:1:6443' is not an address");
    init(&["--founder", "0.0.0.0"], "--founder: '0.0.0.0:6443' is no address");
    let join = [
        "join",
        "127.0.0.1:1",
        "--token",
        "a.b",
        "--ca-hash",
        "sha256:00",
        "--advertise",
        "10.0.0.2:6443",
    ];
    let mut join = quorate(&join);
    check(
        join.args(["--peer-advertise", "10.0.0.2", "--data-dir"]).arg(&new),
        "--peer-advertise: '10.0.0.2' is not",
    );
    assert!(!new.join("pki").exists());
}

#[test]
fn what_a_cluster_keeps_is_its_owners_only() {
    let folder = TempDir::new().unwrap();
    let (made, found) = (folder.path().join("made"), folder.path().join("found"));
    std::fs::create_dir(&found).unwrap();
    std::fs::set_permissions(&found, Permissions::from_mode(0o755)).unwrap();
    for root in [made, found] {
        Cluster::run(
            &["init", "--advertise", "10.0.0.1:6443", "--peer-advertise", "10.0.0.1:7443"],
            &root,
        );
        let output =
            Command::new("find").arg(&root).args(["-type", "d", "-perm", "/077"]).output().unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "",
            "others can look into these folders"
        );
        for secret in [
            "pki/ca.key",
            "pki/peer-ca.key",
            "pki/server.key",
            "pki/cluster.secret",
            "admin.kubeconfig",
        ] {
            let mode = std::fs::metadata(root.join(secret)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{secret}");
        }
    }
}
