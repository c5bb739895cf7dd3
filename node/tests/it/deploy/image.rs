//! The image: what it says of itself, what it is made of, that it runs with no rights, and that a
//! second build gives the same one.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::NODES;
use crate::support::{Compose, deploy_image};

/// The user of the image.
const USER: &str = "65532:65532";

/// The archive of the image is the same whenever it is made.
#[test]
fn a_second_build_gives_the_same_image() {
    let folder = tempfile::tempdir().unwrap();
    let build = |file: &str| {
        let archive = folder.path().join(file);
        let mut command = deploy_image();
        let output = command.arg("--archive").arg(&archive).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(std::fs::metadata(&archive).unwrap().len() > 1 << 20, "it has a binary");
        archive
    };
    // Another time of day and other names of files.
    let (first, second) = (build("first.tar"), build("second.tar"));
    let same = Command::new("cmp").args([first, second]).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
}

/// Labels, user, and what the image is made of.
pub(super) fn check(compose: &Compose) {
    let image = compose.inspect_image();
    let config = &image["Config"];
    assert_eq!(config["User"], USER);
    assert_eq!(config["Entrypoint"], json!(["/quorate"]));
    assert_eq!(config["Volumes"], json!({ "/data": {} }));
    assert_eq!(image["RootFS"]["Layers"].as_array().unwrap().len(), 1);
    let label = |name: &str| config["Labels"][format!("org.opencontainers.image.{name}")].clone();
    assert_eq!(label("title"), "quorate");
    assert_eq!(label("version"), env!("CARGO_PKG_VERSION"));
    // The time of the commit, not of the build.
    assert_eq!(label("created"), image["Created"]);
    let head = Command::new("git").args(["rev-parse", "HEAD"]).output().unwrap();
    let head = String::from_utf8(head.stdout).unwrap();
    assert!(label("revision").as_str().unwrap().starts_with(head.trim()), "{}", label("revision"));
}

/// The containers run without rights, on a file system that they cannot write, and have the list
/// of what the binary is made of.
pub(super) fn check_containers(compose: &Compose) {
    for node in NODES {
        let check = |template: &str, expect: &str| {
            assert_eq!(compose.inspect(node, template), expect, "{template} of node {node}");
        };
        check("{{.Config.User}}", USER);
        check("{{.HostConfig.ReadonlyRootfs}}", "true");
        check("{{.HostConfig.Privileged}}", "false");
        check("{{.HostConfig.CapDrop}}", "[ALL]");
        check("{{.HostConfig.SecurityOpt}}", "[no-new-privileges:true]");
        // As the kernel sees it: no capabilities at all, and none to be had.
        let status = compose.process_status(node);
        for line in ["Uid:\t65532\t65532", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"] {
            assert!(status.contains(line), "{line} of node {node}: {status}");
        }
    }
    let parts: Value = serde_json::from_slice(&compose.file(1, "/sbom.json")).unwrap();
    assert_eq!(parts["bomFormat"], "CycloneDX");
    assert_eq!(parts["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    let names: Vec<_> =
        parts["components"].as_array().unwrap().iter().map(|part| &part["name"]).collect();
    for name in ["openraft", "rustls", "quorate-raft"] {
        assert!(names.contains(&&json!(name)), "{name} is in the list of parts");
    }
}
