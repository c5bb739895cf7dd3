//! The official Python client, release 1.35, where it is at hand: identities as a program has them.

use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::{CertificateParams, DnType, KeyPair};

use crate::support::{Cluster, skip};

/// Where `.ci/tools` puts it, below the workspace.
const PLACE: &str = "target/tools/python/bin/python";

#[test]
fn identities_through_the_python_client() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = here.parent().unwrap().join(PLACE);
    if !python.exists() {
        return skip("no Python client; run .ci/tools");
    }
    let cluster = Cluster::start(1, &["--naming", "kubernetes"]);
    let folder = tempfile::TempDir::new().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "jane");
    params.distinguished_name.push(DnType::OrganizationName, "dev");
    let key = KeyPair::generate().unwrap();
    let request = params.serialize_request(&key).unwrap().pem().unwrap();
    std::fs::write(folder.path().join("robot.csr"), request).unwrap();
    std::fs::write(folder.path().join("robot.key"), key.serialize_pem()).unwrap();
    std::fs::copy(cluster.root().join("pki/ca.crt"), folder.path().join("ca.crt")).unwrap();
    std::fs::copy(cluster.root().join("admin.kubeconfig"), folder.path().join("admin.kubeconfig"))
        .unwrap();
    let output = Command::new(python)
        .arg(here.join("tests/it/python/identity.py"))
        .arg(folder.path())
        .arg(cluster.address(1))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout), "done\n");
}
