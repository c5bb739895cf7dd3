//! Requests for certificates from creation to the issued certificate, with an issuer that signs nothing of value.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use quorate_api::authentication::User;
use quorate_api::controllers::certificates::{Issuer, NotIssued, Order, Signing};
use quorate_api::controllers::{Controllers, ControllersHandle, ControllersOptions};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use serde_json::{Value, json};

use crate::harness::Server;

const REQUESTS: &str = "/apis/certificates.svc.io/v1/certificatesigningrequests";
/// Steps of 20 ms that a controller may take.
const PATIENCE_STEPS: usize = 2000;

/// Issues the same certificate to everybody.
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
        api: server.api.clone(),
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
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, subject.0);
    params.distinguished_name.push(DnType::OrganizationName, subject.1);
    let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
    let usages = ["client auth", "digital signature"];
    json!({"metadata": {"name": name}, "spec": {"request": STANDARD.encode(pem), "signerName": signer, "usages": usages}})
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
async fn until(server: &Server, name: &str, done: impl Fn(&[String], bool) -> bool) -> (Vec<String>, bool) {
    for _ in 0..PATIENCE_STEPS {
        let object = server.get(&format!("{REQUESTS}/{name}")).await.json();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let types: Vec<_> = conditions.iter().map(|c| c["type"].as_str().unwrap().to_owned()).collect();
        let issued = object["status"]["certificate"].is_string();
        if done(&types, issued) {
            return (types, issued);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{name} stays {}", server.get(&format!("{REQUESTS}/{name}")).await.text());
}

#[tokio::test]
async fn approved_requests_of_well_known_signers_are_issued() {
    let (server, _controllers) = start();
    let node = ("system:node:n", "system:nodes");
    for (name, subject, signer) in [
        ("client", ("ann", "dev"), "svc.io/apiserver-client"),
        ("foreign", ("ann", "dev"), "example.com/signer"),
        ("unfit", ("ann", "dev"), "svc.io/node-agent-serving"),
        ("node", node, "svc.io/apiserver-client-node-agent"),
        ("no-node", ("ann", "dev"), "svc.io/apiserver-client-node-agent"),
    ] {
        post(&server, request(name, subject, signer)).await;
    }
    // Made by somebody who may do everything, so the node's request is approved as well.
    until(&server, "node", |types, issued| types == ["Approved"] && issued).await;
    for name in ["client", "foreign", "unfit", "no-node"] {
        assert_eq!(until(&server, name, |_, _| true).await, (Vec::new(), false), "{name} is not approved by itself");
        assert_eq!(approve(&server, name).await, 200);
    }
    until(&server, "client", |types, issued| types == ["Approved"] && issued).await;
    until(&server, "unfit", |types, issued| types == ["Approved", "Failed"] && !issued).await;
    until(&server, "no-node", |types, issued| types == ["Approved", "Failed"] && !issued).await;
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

/// Makes a request of each kind that somebody has decided.
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

const BUNDLES: &str = "/apis/certificates.svc.io/v1beta1/clustertrustbundles";

fn authority() -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}

/// Waits until there is one bundle, with this text; gives its name.
async fn published(reader: &Server, expect: &str) -> String {
    for _ in 0..PATIENCE_STEPS {
        // Nobody may read them before the default roles are there.
        let list = reader.get(BUNDLES).await.json();
        let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let [item] = items
            && item["spec"]["trustBundle"] == expect
        {
            return item["metadata"]["name"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the bundles stay {}", reader.get(BUNDLES).await.text());
}

#[tokio::test]
async fn the_servers_own_authority_is_published_to_everybody_who_is_known() {
    let server = Server::new();
    let reader = server.by(Some(User::new("joe", [])));
    let (first, second) = (authority(), authority());
    let controllers = control(&server, first.clone());
    let name = published(&reader, &first).await;
    assert!(name.starts_with("svc.io:kube-apiserver-serving:"), "{name}");
    // Whoever changes or removes it gets it back.
    let path = format!("{BUNDLES}/{name}");
    let patch = json!({"spec": {"trustBundle": second}}).to_string();
    let headers = [("content-type", "application/merge-patch+json")];
    assert_eq!(server.send(Method::PATCH, &path, &headers, patch).await.status, 200);
    published(&reader, &first).await;
    assert_eq!(server.send(Method::DELETE, &path, &[], "").await.status, 200);
    published(&reader, &first).await;
    controllers.stop();
    let _controllers = control(&server, second.clone());
    assert_ne!(published(&reader, &second).await, name);
    assert_eq!(server.by(None).get(BUNDLES).await.status, 401);
}
