//! CertificateSigningRequests from creation to the issued certificate, with an issuer that signs
//! nothing of value.

mod bundles;
mod wrong;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use quorate_access::authentication::User;
use quorate_controllers::certificates::{Issuer, NotIssued, Order, Signing};
use quorate_controllers::{Controllers, ControllersHandle, ControllersOptions};
use rcgen::{Attribute, BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

use crate::harness::Server;

const REQUESTS: &str = "/apis/certificates.svc.io/v1/certificatesigningrequests";
/// Steps of 20 ms that a controller may take.
const PATIENCE_STEPS: usize = 2000;

/// An issuer of one and the same certificate for every request.
#[derive(Debug)]
struct Stamp(String);

impl Issuer for Stamp {
    fn issue(&self, order: &Order<'_>) -> Result<String, NotIssued> {
        assert!(order.not_before < order.not_after);
        Ok(self.0.clone())
    }
}

fn start() -> (Server, ControllersHandle) {
    let server = Server::new();
    let handle = control(&server, String::new());
    (server, handle)
}

/// Starts controllers that publish this authority.
fn control(server: &Server, root_ca: String) -> ControllersHandle {
    let params = CertificateParams::new(Vec::new()).unwrap();
    let issuer = Arc::new(Stamp(params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()));
    let signing = Some(Signing { issuer, duration: Duration::from_secs(24 * 3600) });
    let event_lifetime = Duration::from_secs(3600);
    let options = ControllersOptions {
        cluster: server.api.cluster(),
        root_ca,
        event_lifetime,
        signing,
        api_port: 6443,
        api_servers: Arc::new(Vec::new()),
    };
    let (controllers, handle) = Controllers::new(options);
    tokio::spawn(controllers.run());
    handle
}

fn request(name: &str, subject: (&str, &str), signer: &str) -> Value {
    asking(name, subject, signer, Vec::new())
}

/// A request with these attributes.
fn asking(name: &str, subject: (&str, &str), signer: &str, attributes: Vec<Attribute>) -> Value {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, subject.0);
    params.distinguished_name.push(DnType::OrganizationName, subject.1);
    let made = params
        .serialize_request_with_attributes(&KeyPair::generate().unwrap(), attributes)
        .unwrap();
    let pem = made.pem().unwrap();
    let usages = ["client auth", "digital signature"];
    json!({"metadata": {"name": name}, "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": usages}})
}

/// Attributes that ask for a usage of keys, and for the alternative name `b.example`.
fn twice() -> Vec<Attribute> {
    let usage: &[u8] = b"\x31\x0f\x30\x0d\x30\x0b\x06\x03\x55\x1d\x0f\x04\x04\x03\x02\x07\x80";
    let name: &[u8] =
        b"\x31\x18\x30\x16\x30\x14\x06\x03\x55\x1d\x11\x04\x0d\x30\x0b\x82\x09b.example";
    [usage, name]
        .map(|set| Attribute { oid: &[1, 2, 840, 113_549, 1, 9, 14], values: set.to_vec() })
        .to_vec()
}

async fn post(server: &Server, object: Value) {
    let answer = server.send(Method::POST, REQUESTS, &[], &object.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Merges a status into a request through one of its parts.
async fn tell(server: &Server, name: &str, part: &str, status: &Value) -> u16 {
    let headers = [("content-type", "application/merge-patch+json")];
    let path = format!("{REQUESTS}/{name}/{part}");
    let body = json!({"status": status}).to_string();
    server.send(Method::PATCH, &path, &headers, body).await.status.as_u16()
}

async fn approve(server: &Server, name: &str) -> u16 {
    tell(server, name, "approval", &conditions(&["Approved"])).await
}

/// A status with conditions of these types.
fn conditions(types: &[&str]) -> Value {
    let condition = |kind: &&str| json!({"type": kind, "status": "True", "reason": "Test"});
    json!({"conditions": types.iter().map(condition).collect::<Vec<_>>()})
}

/// The types of a request's conditions, and whether it has a certificate, once `done` says so.
async fn until(
    server: &Server,
    name: &str,
    done: impl Fn(&[String], bool) -> bool,
) -> (Vec<String>, bool) {
    for _ in 0..PATIENCE_STEPS {
        let object = server.get(&format!("{REQUESTS}/{name}")).await.json();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let types: Vec<_> =
            conditions.iter().map(|c| c["type"].as_str().unwrap().to_owned()).collect();
        let issued = object["status"]["certificate"].is_string();
        if done(&types, issued) {
            return (types, issued);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{name} stays {}", server.get(&format!("{REQUESTS}/{name}")).await.text());
}

/// Returns once the controller has seen every earlier write: it sees this request no earlier,
/// and issues it only when it has done with all that it saw together with it.
async fn all_seen(server: &Server, marker: &str) {
    let node = ("system:node:n", "system:nodes");
    post(server, request(marker, node, "svc.io/apiserver-client-node-agent")).await;
    until(server, marker, |types, issued| types == ["Approved"] && issued).await;
}

#[tokio::test]
async fn approved_requests_of_well_known_signers_are_issued() {
    let (server, _controllers) = start();
    let node = ("system:node:n", "system:nodes");
    post(&server, asking("twice", node, "svc.io/apiserver-client-node-agent", twice())).await;
    for (name, subject, signer) in [
        ("client", ("ann", "dev"), "svc.io/apiserver-client"),
        ("foreign", ("ann", "dev"), "example.com/signer"),
        ("unfit", ("ann", "dev"), "svc.io/node-agent-serving"),
        ("node", node, "svc.io/apiserver-client-node-agent"),
        ("no-node", ("ann", "dev"), "svc.io/apiserver-client-node-agent"),
    ] {
        post(&server, request(name, subject, signer)).await;
    }
    // The client that made it may do everything, so the node's request is approved as well.
    until(&server, "node", |types, issued| types == ["Approved"] && issued).await;
    all_seen(&server, "marker-1").await;
    for name in ["client", "foreign", "unfit", "no-node", "twice"] {
        assert_eq!(
            until(&server, name, |_, _| true).await,
            (Vec::new(), false),
            "{name} is not approved by itself"
        );
        assert_eq!(approve(&server, name).await, 200);
    }
    until(&server, "client", |types, issued| types == ["Approved"] && issued).await;
    until(&server, "unfit", |types, issued| types == ["Approved", "Failed"] && !issued).await;
    until(&server, "twice", |types, issued| types == ["Approved", "Failed"] && !issued).await;
    until(&server, "no-node", |types, issued| types == ["Approved", "Failed"] && !issued).await;
    all_seen(&server, "marker-2").await;
    assert_eq!(until(&server, "foreign", |_, _| true).await, (vec!["Approved".to_owned()], false));
}

#[tokio::test]
async fn a_request_says_who_made_it() {
    let server = Server::new();
    let masters = User { uid: "7".into(), ..User::new("ann", ["system:masters".to_owned()]) };
    let mut object = request("a", ("x", "y"), "example.com/signer");
    object["spec"]["username"] = json!("mallory");
    post(&server.by(Some(masters)), object).await;
    let spec = server.get(&format!("{REQUESTS}/a")).await.json()["spec"].clone();
    assert_eq!((&spec["username"], &spec["uid"]), (&json!("ann"), &json!("7")));
    assert_eq!(spec["groups"], json!(["system:masters", "system:authenticated"]));
}

const MINUTE_MS: u64 = 60_000;

/// A status with a certificate until the beginning of a year.
fn certificate(year: i32) -> Value {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    let pem = params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    json!({"certificate": STANDARD.encode(pem)})
}

/// Makes a request to a signer that is somewhere else, and writes these parts of it.
async fn make(server: &Server, name: &str, parts: &[(&str, Value)]) {
    post(server, request(name, ("ann", "dev"), "example.com/signer")).await;
    for (part, status) in parts {
        assert_eq!(tell(server, name, part, status).await, 200, "{name} {part}");
    }
}

/// Makes a request in each decided state: approved, denied, failed, issued.
async fn make_decided(server: &Server, age: &str) {
    let approved = || ("approval", conditions(&["Approved"]));
    make(server, &format!("approved-{age}"), &[approved()]).await;
    make(server, &format!("denied-{age}"), &[("approval", conditions(&["Denied"]))]).await;
    let failed = ("status", conditions(&["Approved", "Failed"]));
    make(server, &format!("failed-{age}"), &[approved(), failed]).await;
    make(server, &format!("issued-{age}"), &[approved(), ("status", certificate(2040))]).await;
}

/// Waits until these requests are left, for longer than the controller rests.
async fn left(server: &Server, expect: &[&str]) {
    for _ in 0..PATIENCE_STEPS {
        if server.get(REQUESTS).await.names() == expect {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("there are {:?}", server.get(REQUESTS).await.names());
}

#[tokio::test(start_paused = true)]
async fn old_requests_go_and_younger_ones_stay() {
    let server = Server::new();
    make(&server, "pending-old", &[]).await;
    server.clock.advance(23 * 60 * MINUTE_MS);
    make(&server, "pending-young", &[]).await;
    make_decided(&server, "old").await;
    server.clock.advance(31 * MINUTE_MS);
    make_decided(&server, "young").await;
    let parts = [("approval", conditions(&["Approved"])), ("status", certificate(2029))];
    make(&server, "expired", &parts).await;
    // A day and a minute, an hour and a minute, half an hour.
    server.clock.advance(30 * MINUTE_MS);
    let _controllers = control(&server, String::new());
    let young = ["approved-young", "denied-young", "failed-young", "issued-young", "pending-young"];
    left(&server, &young).await;
    tokio::time::sleep(Duration::from_secs(11 * 60)).await;
    assert_eq!(server.get(REQUESTS).await.names(), young);
    server.clock.advance(31 * MINUTE_MS);
    left(&server, &["pending-young"]).await;
}

fn authority() -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}
