//! The audit trail of a running node: its file, and what is said of a policy that is none.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{Cluster, quorate};

const POLICY: &str = "apiVersion: audit.svc.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n\
    - level: None\n  nonResourceURLs: ['/readyz*', '/livez*']\n- level: Metadata\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_told_in_the_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let (policy, log) = (folder.path().join("policy.yaml"), folder.path().join("logs/audit-{node}.log"));
    std::fs::write(&policy, POLICY).unwrap();
    let options = [format!("--audit-policy-file={}", policy.display()), format!("--audit-log-path={}", log.display())];
    let cluster = Cluster::start(1, &[&options[0], &options[1]]);
    cluster.client(1).get("/api/v1/namespaces/default").await.expect(200);
    cluster.client(1).get("/readyz").await.expect(200);
    // What is told last is told when the node ends.
    drop(cluster);
    let text = std::fs::read_to_string(folder.path().join("logs/audit-1.log")).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let own: Vec<&Value> = events.iter().filter(|event| event["requestURI"] == "/api/v1/namespaces/default").collect();
    let [event] = own[..] else { panic!("{events:?}") };
    assert_eq!((&event["user"]["username"], &event["responseStatus"]["code"]), (&"admin".into(), &200.into()));
    assert_eq!(event["sourceIPs"], serde_json::json!(["127.0.0.1"]));
    assert_eq!(event["annotations"]["authorization.svc.io/decision"], "allow");
    assert!(events.iter().all(|event| event["requestURI"] != "/readyz"));
}

#[test]
fn a_policy_that_is_none_stops_the_node_with_one_line() {
    let folder = tempfile::TempDir::new().unwrap();
    let data = folder.path().join("data");
    let made =
        quorate(&["init", "--bind", "127.0.0.1:1", "--peer-bind", "127.0.0.1:2", "--data-dir"]).arg(&data).output();
    assert!(made.unwrap().status.success());
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY.replace("Metadata", "Everything")).unwrap();
    let output = quorate(&["serve", "--audit-log-path=-", "--data-dir"])
        .arg(&data)
        .arg(format!("--audit-policy-file={}", policy.display()))
        .stdout(Stdio::null())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.contains("rules[1].level: 'Everything' is none of None, Metadata, Request, RequestResponse"),
        "{said}"
    );
}
