//! The chapters about a cluster that runs: looking after it, tuning, restarts, certificates, the audit log, what is wrong with it.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::chapter::Chapter;
use super::sandbox::{Sandbox, until};
use super::starting::{cluster, members, voters};

/// The definition `widgets.example.com`.
const WIDGETS: &str = include_str!("widgets.yaml");
/// A widget.
const WIDGET: &str = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: one}, size: 3}";
/// A policy that refuses that widget.
const POLICY: &str = include_str!("policy.yaml");

/// A namespace `shop` with what an operator finds in one.
pub(super) fn shop(sandbox: &mut Sandbox) {
    sandbox.run(1, "kubectl create namespace shop");
    sandbox.run(1, "kubectl create configmap settings --from-literal=colour=blue -n shop");
}

/// Makes the definition `widgets.example.com`.
pub(super) fn widgets(sandbox: &mut Sandbox) {
    sandbox.write(1, "widgets.yaml", WIDGETS);
    sandbox.run(1, "kubectl create -f widgets.yaml");
    sandbox.run(1, "kubectl wait --for=condition=Established crd/widgets.example.com");
}

/// The colour in the settings of the shop.
pub(super) fn colour(sandbox: &mut Sandbox) -> String {
    sandbox.run(1, "kubectl get configmap settings -n shop -o jsonpath={.data.colour}")
}

/// What a node says of itself.
pub(super) fn status(sandbox: &mut Sandbox, machine: u64) -> Value {
    let told = sandbox.run(machine, "quorate status -o json --data-dir /var/lib/quorate");
    serde_json::from_str(&told).unwrap()
}

#[test]
fn look_after_it() {
    let Some(mut sandbox) = cluster(3) else { return };
    widgets(&mut sandbox);
    sandbox.write(1, "widget.yaml", WIDGET);
    sandbox.run(1, "kubectl create -f widget.yaml");
    sandbox.write(1, "policy.yaml", POLICY);
    let mut chapter = Chapter::open("Look after it");
    let told = chapter.run_with(&mut sandbox, "quorate member add");
    assert!(told.starts_with("node 4 "), "{told}");
    assert_eq!(members(&mut sandbox, 1).last(), Some(&(4, "learner".to_owned())));
    chapter.run_with(&mut sandbox, "quorate member remove");
    assert_eq!(members(&mut sandbox, 1), voters([1, 2, 3]));
    let told = chapter.run_with(&mut sandbox, "quorate leader transfer --to 1");
    assert_eq!(told, "node 1 leads\n");
    let told = chapter.run_with(&mut sandbox, "quorate policy test");
    assert!(told.contains("widgets-are-small") && told.contains("one"), "{told}");
    sandbox.run(1, "kubectl create -f policy.yaml");
    chapter.run_with(&mut sandbox, "quorate admission suspend");
    let told = sandbox.run(1, "quorate admission status --data-dir /var/lib/quorate");
    assert!(told.contains("widgets-are-small") && told.contains("suspended"), "{told}");
    chapter.run_with(&mut sandbox, "quorate admission resume");
    let told = sandbox.run(1, "quorate admission status --data-dir /var/lib/quorate");
    assert!(!told.contains("suspended"), "{told}");
    let told = chapter.run_to_the_end(&mut sandbox);
    assert!(["create", "get", "list", "watch"].iter().all(|work| told.contains(work)), "{told}");
}

#[test]
fn tune() {
    let Some(mut sandbox) = cluster(1) else { return };
    Chapter::open("Tune").run_to_the_end(&mut sandbox);
    assert_eq!(status(&mut sandbox, 1)["sizeLimit"], 16_u64 << 30);
    let last = sandbox.run(1, "tail -n 1 journal");
    assert!(serde_json::from_str::<Value>(&last).is_ok(), "{last}");
}

#[test]
fn restart_and_upgrade() {
    let Some(mut sandbox) = cluster(1) else { return };
    shop(&mut sandbox);
    let before = sandbox.run(1, "cat /var/lib/quorate/pid");
    let version = Chapter::open("Restart and upgrade").run_to_the_end(&mut sandbox);
    assert!(version.contains("state format") || version.contains("peer protocol"), "{version}");
    assert_ne!(sandbox.run(1, "cat /var/lib/quorate/pid"), before);
    assert_eq!(colour(&mut sandbox), "blue");
}

/// An authority of the operator's own and a certificate of it, with files as the guide names them.
const OWN_CERTIFICATE: &str = "
    new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
    openssl req -x509 $new -days 2 -subj /CN=own -keyout own.key -out authority.crt
    openssl req $new -subj /CN=node -addext subjectAltName=IP:10.0.0.1 -keyout server.key -out request
    openssl x509 -req -in request -CA authority.crt -CAkey own.key -CAcreateserial -days 2 \\
        -copy_extensions copy -out server.crt";

#[test]
fn certificates_and_keys() {
    let Some(mut sandbox) = cluster(1) else { return };
    sandbox.run(1, OWN_CERTIFICATE);
    let mut chapter = Chapter::open("Certificates and keys");
    let ends = chapter.run_with(&mut sandbox, "for file in");
    // Two of the node, the first administrator's, and three authorities.
    assert_eq!(ends.matches("notAfter=").count(), 6, "{ends}");
    let end = chapter.run_with(&mut sandbox, "kubectl config view");
    assert_eq!(end.matches("notAfter=").count(), 1, "{end}");
    chapter.run_with(&mut sandbox, "kubectl config set-cluster");
    until("the certificate of the own authority is served", || {
        sandbox.try_run(1, "kubectl get --raw /version").0.then_some(())
    });
    chapter.run_until(&mut sandbox, "quorate signing-key list");
    let signs = |keys: &str, use_: &str| {
        let line = keys.lines().find(|line| line.ends_with(use_))?;
        Some(line.split_whitespace().next()?.to_owned())
    };
    let list = "quorate signing-key list --data-dir /var/lib/quorate";
    let first = sandbox.run(1, list).lines().nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let second = until("the new key signs", || {
        signs(&sandbox.run(1, list), "signs").filter(|key| *key != first)
    });
    sandbox.know("ID", &first);
    chapter.run_with(&mut sandbox, "quorate signing-key remove");
    let keys = sandbox.run(1, list);
    assert!(keys.contains(&second) && !keys.contains(&first), "{keys}");
    let authorities = chapter.run_to_the_end(&mut sandbox);
    assert_eq!(authorities.lines().count(), 3, "{authorities}");
}

#[test]
fn audit() {
    let Some(mut sandbox) = cluster(1) else { return };
    Chapter::open("Tune").run_to_the_end(&mut sandbox);
    Chapter::open("Audit").run_to_the_end(&mut sandbox);
    assert_eq!(status(&mut sandbox, 1)["sizeLimit"], 16_u64 << 30, "what was tuned stays");
    shop(&mut sandbox);
    let log = "cat /var/log/quorate/audit-1.log";
    until("the audit log names the request", || {
        let (there, log) = sandbox.try_run(1, log);
        (there && log.contains("/api/v1/namespaces/shop/configmaps")).then_some(())
    });
}

#[test]
fn expressions() {
    let Some(mut sandbox) = Sandbox::new() else { return };
    let value = r#"{"x": {"type": "int", "value": {"int64": "3"}}}"#;
    let record = format!(r#"{{"id": 1, "expr": "x + 1", "vars": {value}}}"#);
    sandbox.write(1, "records.jsonl", &record);
    let mut chapter = Chapter::open("Expressions");
    let told = chapter.run_with(&mut sandbox, "quorate cel eval");
    assert!(told.starts_with("true\ntype: bool\ncost: "), "{told}");
    let told = chapter.run_to_the_end(&mut sandbox);
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["result"]["int64"], "4", "{told}");
}

#[test]
fn troubleshoot() {
    let Some(mut sandbox) = cluster(1) else { return };
    shop(&mut sandbox);
    let mut chapter = Chapter::open("Troubleshoot");
    chapter.run_until(&mut sandbox, "quorate inspect");
    sandbox.run(1, "systemctl stop quorate");
    let told = chapter.run_with(&mut sandbox, "quorate inspect");
    assert!(told.contains("namespaces"), "{told}");
    let stopped = "quorate status --ready --wait 1s --data-dir /var/lib/quorate";
    let asked = Instant::now();
    let (is_ready, told) = sandbox.try_run(1, stopped);
    assert!(!is_ready && told.contains("node 1 does not answer"), "{told}");
    assert!(asked.elapsed() >= Duration::from_secs(1), "it waits as long as it is told");
    sandbox.run(1, "systemctl start quorate");
    sandbox.run(1, "quorate status --ready --wait 1m --data-dir /var/lib/quorate");
    let names = chapter.run_with(&mut sandbox, "openssl x509");
    let address = sandbox.address(1);
    assert!(names.contains(&address), "{names}");
    let checks = chapter.run_with(&mut sandbox, "kubectl get --raw /readyz");
    assert!(checks.contains("[+]etcd ok"), "{checks}");
    let told = chapter.run_to_the_end(&mut sandbox);
    assert!(told.contains("configmaps/settings"), "{told}");
}
