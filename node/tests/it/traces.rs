//! Traces of a cluster, as a collector gets them: one trace of a create through a follower, and those
//! of requests that were not sampled.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::body::Bytes;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::{Value, json};

use crate::support::{
    Client, Cluster, Collector, Mood, Receiver, Told, attribute, attribute_text, eventually,
    hexadecimal,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT_SPAN: &str = "00f067aa0ba902b7";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const STATE: &str = "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// The data of a Secret, as it is stored.
const DATA: &str = "dGhlIGRhdGEgb2YgdGhlIHNlY3JldA==";
/// From when on a request is slow.
const SLOW_NANOS: u64 = 500_000_000;

/// A configuration that asks a webhook about each new object of a resource.
fn webhook(name: &str, resource: &str, policy: &str, client: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "webhooks": [{
            "name": "hook.example.com", "clientConfig": client, "failurePolicy": policy,
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 1,
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": [resource],
            }],
        }],
    })
}

async fn configure(client: &mut Client, configuration: &Value) {
    let path = "/apis/admissionregistration.svc.io/v1/validatingwebhookconfigurations";
    client.post(path, configuration).await.expect(201);
}

fn client_config(receiver: &Receiver) -> Value {
    let authority = BASE64_STANDARD.encode(receiver.authority());
    json!({"url": format!("https://{}/hook", receiver.address()), "caBundle": authority})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_create_through_a_follower_is_one_trace() {
    let (collector, address) = Collector::start("127.0.0.1").await;
    let endpoint = format!("--otlp-endpoint=http://{address}");
    let cluster = Cluster::start(3, &[&endpoint, "--log-format=json"]);
    for node in 1..=3 {
        cluster.ready(node).await;
    }
    let receiver = Receiver::start(Mood::Well).await;
    let leader = cluster.leader(1).await;
    let follower = if leader == 1 { 2 } else { 1 };
    let hook = webhook("watcher", "secrets", "Ignore", &client_config(&receiver));
    configure(&mut cluster.client(follower), &hook).await;
    let token = token(&mut cluster.client(follower)).await;
    let (at, pki) = (cluster.address(follower), cluster.root().join("pki"));
    let tracing = [("traceparent", PARENT), ("tracestate", STATE), ("baggage", "user=a")];
    let mut stranger = Client::bearer(&at, &pki, &token).saying(&tracing);
    stranger.get(&format!("{SECRETS}?labelSelector=of-the-query")).await.expect(403);
    let secret = json!({"metadata": {"name": "s"}, "data": {"key": DATA}});
    cluster.client(follower).saying(&tracing).post(SECRETS, &secret).await.expect(201);

    let create = "POST /api/v1/namespaces/{namespace}/secrets";
    let told = eventually("the spans of both nodes", async || {
        let told = collector.of_trace(TRACE);
        let has = |name: &str| told.iter().any(|told| told.span.name == name);
        (has(create) && has("raft.apply")).then_some(told)
    })
    .await;
    check_tree(&told, create);
    for told in &told {
        assert_eq!(told.span.trace_state, STATE, "{}", told.span.name);
    }
    check_nodes(&told, (follower, leader));

    let (head, _) = receiver.taken().await.remove(0);
    let context = head.headers["traceparent"].to_str().unwrap().to_owned();
    assert_eq!(head.headers["tracestate"], STATE);
    // It is the client's, for those whom it asks.
    assert!(!head.headers.contains_key("baggage"));
    let called = of(&told, "HTTP POST");
    assert_eq!(context, format!("00-{TRACE}-{}-01", hexadecimal(&called.span.span_id)));

    let log = std::fs::read_to_string(cluster.node(follower).join("node.log")).unwrap();
    let is_failure = |line: &&str| line.contains("an admission webhook has failed");
    let line = log.lines().find(is_failure).expect("the webhook answers no review");
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["trace_id"], TRACE);
    assert!(!collector.of_trace(TRACE).is_empty());
    for secret in [&*token, DATA, "the data of the secret", "of-the-query"] {
        let has = |body: &Bytes| body.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!collector.bodies().iter().any(has), "{secret}");
    }
}

/// A token of a service account.
async fn token(client: &mut Client) -> String {
    let account = "/api/v1/namespaces/default/serviceaccounts";
    client.post(account, &json!({"metadata": {"name": "robot"}})).await.expect(201);
    let request = json!({"spec": {"expirationSeconds": 3600}});
    let answer = client.post(&format!("{account}/robot/token"), &request).await.expect(201);
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

fn of<'t>(told: &'t [Told], name: &str) -> &'t Told {
    let found = told.iter().find(|told| told.span.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", names(told)))
}

fn names(told: &[Told]) -> Vec<&str> {
    told.iter().map(|told| told.span.name.as_str()).collect()
}

/// Every span is a part of another one, and in the end of the client's.
fn check_tree(told: &[Told], create: &str) {
    let spans: BTreeMap<String, &Span> =
        told.iter().map(|told| (hexadecimal(&told.span.span_id), &told.span)).collect();
    assert_eq!(spans.len(), told.len(), "the ids differ");
    for span in spans.values() {
        let parent = hexadecimal(&span.parent_span_id);
        assert!(parent == CLIENT_SPAN || spans.contains_key(&parent), "{span:?}");
    }
    let within = |name: &str, expect: &str| {
        let parent = hexadecimal(&of(told, name).span.parent_span_id);
        assert_eq!(spans[&parent].name, expect, "{name}");
    };
    for name in ["authentication", "authorization", "flow_control", "request_body", "handler"] {
        assert!(names(told).contains(&name), "{name}");
    }
    assert_eq!(hexadecimal(&of(told, create).span.parent_span_id), CLIENT_SPAN);
    within("prepare", "handler");
    within("decode", "handler");
    within("encode", "handler");
    within("admission_webhook", "admit");
    within("HTTP POST", "admission_webhook");
    within("raft.forward", "commit");
    within("raft.propose", "raft.forward");
    within("raft.batch", "raft.propose");
    within("raft.replicate", "raft.propose");
    within("raft.apply", "raft.propose");
}

/// The follower tells of the request, the leader of the transaction.
fn check_nodes(told: &[Told], (follower, leader): (u64, u64)) {
    let by = |node: u64| {
        let suffix = format!("/{node}");
        let spans = told.iter().filter(|told| told.instance.ends_with(&suffix));
        spans.map(|told| told.span.name.as_str()).collect::<BTreeSet<_>>()
    };
    let of_leader = ["raft.apply", "raft.batch", "raft.propose", "raft.replicate"];
    assert_eq!(by(leader), of_leader.into_iter().collect());
    assert!(by(follower).contains("raft.forward"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_failed_requests_are_told_although_they_were_not_sampled() {
    let (collector, address) = Collector::start("127.0.0.1").await;
    let cluster = Cluster::start(1, &[&format!("--otlp-endpoint=http://{address}")]);
    cluster.ready(1).await;
    let mut client = cluster.client(1);
    let hangs = Receiver::start(Mood::Hanging).await;
    configure(&mut client, &webhook("hangs", "configmaps", "Ignore", &client_config(&hangs))).await;
    let gone = json!({"url": "https://127.0.0.1:1/hook"});
    configure(&mut client, &webhook("gone", "secrets", "Fail", &gone)).await;
    client.get(MAPS).await.expect(200);
    client.get(&format!("{MAPS}/none")).await.expect(404);
    client.post(MAPS, &json!({"metadata": {"name": "slow"}})).await.expect(201);
    client.post(SECRETS, &json!({"metadata": {"name": "failed"}})).await.expect(500);

    let (slow, failed) = eventually("both requests", async || {
        let told = collector.told();
        let find = |name: &str| told.iter().find(|told| told.span.name == name).cloned();
        let slow = find("POST /api/v1/namespaces/{namespace}/configmaps")?;
        Some((slow, find("POST /api/v1/namespaces/{namespace}/secrets")?))
    })
    .await;
    let status = |told: &Told| attribute(&told.span.attributes, "http.response.status_code");
    assert_eq!(status(&slow), Some(Attribute::IntValue(201)));
    assert_eq!(status(&failed), Some(Attribute::IntValue(500)));
    assert_eq!(attribute_text(&failed.span.attributes, "error.type"), "500");
    let parts = collector.of_trace(&hexadecimal(&slow.span.trace_id));
    assert!(names(&parts).contains(&"handler"), "{:?}", names(&parts));
    // A machine may be so busy that others were slow as well.
    for told in collector.told() {
        let Some(Attribute::IntValue(code)) = status(&told) else { continue };
        let took = told.span.end_time_unix_nano - told.span.start_time_unix_nano;
        assert!(code >= 500 || took >= SLOW_NANOS, "{:?}", told.span);
    }
}
