//! The audit log of a running node: its file, its webhook, and the error for an invalid policy.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{Cluster, Mood, Receiver, eventually, quorate};

const POLICY: &str = "apiVersion: audit.svc.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n\
    - level: None\n  nonResourceURLs: ['/readyz*', '/livez*']\n- level: Metadata\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_told_in_the_file() {
    let folder = tempfile::TempDir::new().unwrap();
    let (policy, log) =
        (folder.path().join("policy.yaml"), folder.path().join("logs/audit-{node}.log"));
    std::fs::write(&policy, POLICY).unwrap();
    let options = [
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
    ];
    let cluster = Cluster::start(1, &[&options[0], &options[1]]);
    cluster.client(1).get("/api/v1/namespaces/default").await.expect(200);
    cluster.client(1).get("/readyz").await.expect(200);
    // What is told last is told when the node ends.
    drop(cluster);
    let text = std::fs::read_to_string(folder.path().join("logs/audit-1.log")).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let own: Vec<&Value> =
        events.iter().filter(|event| event["requestURI"] == "/api/v1/namespaces/default").collect();
    let [event] = own[..] else { panic!("{events:?}") };
    assert_eq!(
        (&event["user"]["username"], &event["responseStatus"]["code"]),
        (&"admin".into(), &200.into())
    );
    assert_eq!(event["sourceIPs"], serde_json::json!(["127.0.0.1"]));
    assert_eq!(event["annotations"]["authorization.svc.io/decision"], "allow");
    assert!(events.iter().all(|event| event["requestURI"] != "/readyz"));
}

#[test]
fn a_policy_that_is_none_stops_the_node_with_one_line() {
    let folder = tempfile::TempDir::new().unwrap();
    let data = folder.path().join("data");
    let made =
        quorate(&["init", "--bind", "127.0.0.1:1", "--peer-bind", "127.0.0.1:2", "--data-dir"])
            .arg(&data)
            .output();
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
        last.contains(
            "rules[1].level: 'Everything' is none of None, Metadata, Request, RequestResponse"
        ),
        "{said}"
    );
}

/// A cluster whose events go to a server.
fn audited(receiver: &Receiver, further: &[&str]) -> Cluster {
    let folder = tempfile::TempDir::new().unwrap();
    let policy = folder.path().join("policy.yaml");
    std::fs::write(&policy, POLICY).unwrap();
    let config = receiver.kubeconfig(folder.path(), "/audit?from=here", "webhook-token");
    let options = [
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-webhook-config-file={}", config.display()),
    ];
    let options: Vec<&str> =
        options.iter().map(String::as_str).chain(further.iter().copied()).collect();
    Cluster::start_with(1, &options, folder, "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_gets_every_event_once_and_in_order_though_it_fails_at_first() {
    const REQUESTS: usize = 900;
    let receiver = Receiver::start(Mood::Failing(2)).await;
    let cluster = audited(&receiver, &[]);
    let mut client = cluster.client(1);
    for number in 0..REQUESTS {
        client.get(&format!("/version?number={number}")).await.expect(200);
    }
    let number = |event: &Value| {
        event["requestURI"].as_str()?.strip_prefix("/version?number=")?.parse::<usize>().ok()
    };
    let lists = eventually("every event has arrived", async || {
        let lists = receiver.taken().await;
        let events = lists.iter().flat_map(|(_, list)| list["items"].as_array().unwrap());
        (events.filter_map(number).count() >= REQUESTS).then_some(lists)
    })
    .await;
    let events = lists.iter().flat_map(|(_, list)| list["items"].as_array().unwrap());
    assert!(events.filter_map(number).eq(0..REQUESTS));
    assert_eq!(receiver.refused().await, 2);
    for (head, list) in &lists {
        assert_eq!(
            (head.method.as_str(), head.uri.to_string().as_str()),
            ("POST", "/audit?from=here")
        );
        assert_eq!(head.headers["authorization"], "Bearer webhook-token");
        assert_eq!(head.headers["content-type"], "application/json");
        assert_eq!(
            (&list["kind"], &list["apiVersion"]),
            (&"EventList".into(), &"audit.svc.io/v1".into())
        );
        assert!(list["items"].as_array().unwrap().len() <= 400);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_costs_events_but_no_request_and_little_memory() {
    let receiver = Receiver::start(Mood::Hanging).await;
    let cluster = audited(&receiver, &["--audit-spool-size=1"]);
    let mut client = cluster.client(1);
    // Each event is longer than this, so that fewer than 256 of them fit into a MiB.
    let long = "x".repeat(4096);
    for number in 0..400 {
        client.get(&format!("/version?number={number}&long={long}")).await.expect(200);
    }
    eventually("what was dropped is counted", async || {
        let log = std::fs::read_to_string(cluster.node(1).join("node.log")).unwrap();
        let told = log.lines().rfind(|line| line.contains("audit events were dropped, in all"))?;
        let dropped: u32 = told.split_once("dropped=")?.1.split(' ').next()?.parse().ok()?;
        (dropped > 400 - 256).then_some(())
    })
    .await;
    assert!(receiver.taken().await.is_empty());
    client.get("/version").await.expect(200);
}
