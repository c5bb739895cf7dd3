//! Audit events over HTTP: what they tell of requests, and what they never tell.

mod bodies;
mod decisions;
mod ends;
mod logged;
mod private;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use parking_lot::Mutex;
use quorate_access::authentication::User;
use quorate_api::audit::{
    Audit, AuditWriterHandle, Batching, Lines, Sink, SpoolOptions, parse_policy,
};
use quorate_meta::Naming;
use serde_json::{Value, json};

use crate::harness::Server;

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<Value>>>);

#[async_trait]
impl Sink for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn write(&mut self, events: &Lines) -> Result<(), String> {
        self.0
            .lock()
            .extend(events.iter().map(|event| serde_json::from_slice::<Value>(event).unwrap()));
        Ok(())
    }
}

struct Trail {
    server: Server,
    memory: Memory,
    handles: Vec<AuditWriterHandle>,
    writers: Vec<tokio::task::JoinHandle<()>>,
}

impl Trail {
    async fn start(rules: &str) -> Self {
        Self::start_at(Server::new(), rules).await
    }

    async fn start_at(mut server: Server, rules: &str) -> Self {
        let names = Naming::Svc.names();
        let text = format!("apiVersion: audit.svc.io/v1\nkind: Policy\n{rules}");
        let policy = parse_policy(names, text.as_bytes()).unwrap();
        let memory = Memory::default();
        let options = SpoolOptions {
            bytes: 1 << 20,
            batching: Batching { events: 100, bytes: 1 << 20, wait: Duration::from_millis(1) },
        };
        let sinks: Vec<(Box<dyn Sink>, _)> = vec![(Box::new(memory.clone()), options)];
        let (audit, writers) = Audit::new(policy, sinks, server.clock.clone(), names);
        server.audited(audit);
        let (writers, handles): (Vec<_>, Vec<_>) = writers.into_iter().unzip();
        let writers = writers.into_iter().map(|writer| tokio::spawn(writer.run())).collect();
        server.namespace("a").await;
        Self { server, memory, handles, writers }
    }

    /// Waits for an event of this stage at this path.
    async fn told(&self, uri: &str, stage: &str) {
        let told = || {
            self.memory
                .0
                .lock()
                .iter()
                .any(|event| event["requestURI"] == uri && event["stage"] == stage)
        };
        let wait = async {
            while !told() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| panic!("no {stage} of {uri}"));
    }

    /// Every event of requests to this path, once the trail has been closed.
    async fn events(self, uri: &str) -> Vec<Value> {
        self.handles.iter().for_each(AuditWriterHandle::stop);
        for writer in self.writers {
            writer.await.unwrap();
        }
        let events = self.memory.0.lock();
        events
            .iter()
            .filter(|event| event["requestURI"].as_str().unwrap().starts_with(uri))
            .cloned()
            .collect()
    }
}

/// No event may take longer.
const PATIENCE: Duration = Duration::from_secs(120);
const MAPS: &str = "/api/v1/namespaces/a/configmaps";

#[tokio::test]
async fn metadata_tells_who_did_what_and_how_it_ended() {
    let trail = Trail::start("rules: [{level: Metadata}]").await;
    trail.server.create("a", "x", &[]).await;
    let events = trail.events(MAPS).await;
    let stages: Vec<_> = events.iter().map(|event| event["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseComplete"]);
    assert_eq!(events[0]["auditID"], events[1]["auditID"]);
    let last = &events[1];
    assert_eq!(last["user"]["username"], "admin");
    assert_eq!(last["verb"], "create");
    let collection = json!({"resource": "configmaps", "namespace": "a", "apiVersion": "v1"});
    let object =
        json!({"resource": "configmaps", "namespace": "a", "apiVersion": "v1", "name": "x"});
    assert_eq!([&events[0]["objectRef"], &last["objectRef"]], [&collection, &object]);
    assert_eq!(last["responseStatus"], json!({"metadata": {}, "code": 201}));
    assert_eq!(last["annotations"]["authorization.svc.io/decision"], "allow");
    assert!(last.get("requestObject").is_none() && last.get("responseObject").is_none());
    assert_eq!(last["level"], "Metadata");
}

#[tokio::test]
async fn a_credential_is_told_where_one_is_issued() {
    let trail = Trail::start("omitStages: [RequestReceived]\nrules: [{level: Metadata}]").await;
    let accounts = "/api/v1/namespaces/a/serviceaccounts";
    let account = json!({"metadata": {"name": "robot"}}).to_string();
    assert_eq!(trail.server.send(Method::POST, accounts, &[], account).await.status, 201);
    let token = format!("{accounts}/robot/token");
    let too_short = json!({"spec": {"expirationSeconds": 1}}).to_string();
    for (path, body, code) in [
        (&token, "{}", 201),
        (&format!("{token}?dryRun=All"), "{}", 201),
        (&token, &too_short, 422),
    ] {
        assert_eq!(trail.server.send(Method::POST, path, &[], body.to_owned()).await.status, code);
    }
    let events = trail.events(&token).await;
    let issued = events
        .iter()
        .map(|event| &event["annotations"]["authentication.svc.io/issued-credential-id"]);
    let issued: Vec<_> =
        issued.map(|id| id.as_str().is_some_and(|id| id.starts_with("JTI="))).collect();
    assert_eq!(issued, [true, false, false]);
}

#[tokio::test]
async fn what_is_deprecated_is_told_to_be() {
    for (uri, expect) in [("/api/v1/namespaces/a/endpoints", json!("true")), (MAPS, Value::Null)] {
        let trail = Trail::start("omitStages: [RequestReceived]\nrules: [{level: Metadata}]").await;
        let answer = trail.server.get(uri).await;
        assert_eq!(answer.status, 200);
        assert_eq!(trail.events(uri).await[0]["annotations"]["svc.io/deprecated"], expect, "{uri}");
    }
}

#[tokio::test]
async fn bodies_are_told_where_the_policy_says_so_and_never_of_secrets() {
    let rules =
        "omitStages: [RequestReceived]\nomitManagedFields: true\nrules: [{level: RequestResponse}]";
    let trail = Trail::start(rules).await;
    trail.server.create("a", "x", &[]).await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}});
    let path = "/api/v1/namespaces/a/secrets";
    assert_eq!(trail.server.send(Method::POST, path, &[], secret.to_string()).await.status, 201);
    let patch = [("content-type", "application/merge-patch+json")];
    let bad = r#"{"stringData": {"password": "hunter2"}, "kind": "Other"}"#;
    assert_eq!(
        trail.server.send(Method::PATCH, &format!("{path}/s"), &patch, bad).await.status,
        422
    );
    trail.server.get(&format!("{path}/s")).await;
    let events = trail.events("/api/v1/namespaces/a/").await;
    assert_eq!(events.len(), 4);
    let map = &events[0];
    assert_eq!(map["requestObject"]["data"], json!({"k": "v"}));
    assert_eq!(map["responseObject"]["data"], json!({"k": "v"}));
    assert!(map["responseObject"]["metadata"].get("managedFields").is_none());
    for secret in &events[1..] {
        let text = secret.to_string();
        assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
        assert_eq!(secret["level"], "Metadata");
    }
}

#[tokio::test]
async fn refusals_and_impersonation_are_told() {
    let trail = Trail::start(
        "rules: [{level: Metadata, users: [admin, joe]}, {level: Metadata, verbs: [watch]}]",
    )
    .await;
    let joe = trail.server.by(Some(User::new("joe", [])));
    assert_eq!(joe.get(&format!("{MAPS}/x")).await.status, 403);
    let headers = [("impersonate-user", "ann")];
    assert_eq!(
        trail.server.send(Method::GET, &format!("{MAPS}/y"), &headers, "").await.status,
        403
    );
    assert_eq!(trail.server.by(None).get(&format!("{MAPS}?watch=1")).await.status, 401);
    let themselves = [("impersonate-user", "admin"), ("impersonate-group", "system:masters")];
    assert_eq!(
        trail.server.send(Method::GET, &format!("{MAPS}/z"), &themselves, "").await.status,
        404
    );
    let events = trail.events(MAPS).await;
    let last: Vec<_> = events.iter().filter(|event| event["stage"] == "ResponseComplete").collect();
    assert_eq!(last.len(), 4);
    assert_eq!(last[0]["annotations"]["authorization.svc.io/decision"], "forbid");
    let status = &last[0]["responseStatus"];
    assert_eq!(
        (&status["code"], &status["status"], &status["reason"]),
        (&json!(403), &json!("Failure"), &json!("Forbidden"))
    );
    assert!(status["message"].as_str().unwrap().contains("joe"), "{status}");
    assert_eq!(status["details"], json!({"name": "x", "kind": "configmaps"}));
    assert_eq!(
        (&last[1]["user"]["username"], &last[1]["impersonatedUser"]["username"]),
        (&json!("admin"), &json!("ann"))
    );
    assert_eq!((&last[2]["user"], &last[2]["responseStatus"]["code"]), (&json!({}), &json!(401)));
    assert_eq!(last[3]["impersonatedUser"], last[3]["user"]);
    assert_eq!(last[3]["user"]["username"], "admin");
}

#[tokio::test]
async fn a_watch_is_told_when_it_starts_and_when_it_ends() {
    let trail = Trail::start("rules: [{level: Metadata, verbs: [watch]}]").await;
    let mut watch = trail.server.watch(&format!("{MAPS}?watch=1&resourceVersion=1")).await;
    trail.server.create("a", "x", &[]).await;
    assert_eq!(watch.brief(1).await, ["ADDED x"]);
    drop(watch);
    let events = trail.events(MAPS).await;
    let stages: Vec<_> = events.iter().map(|event| event["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
}

#[tokio::test]
async fn a_watch_that_is_refused_starts_and_ends_too() {
    let trail = Trail::start("rules: [{level: Metadata, verbs: [watch]}]").await;
    assert_eq!(trail.server.get(&format!("{MAPS}?watch=1&resourceVersion=x")).await.status, 400);
    let events = trail.events(MAPS).await;
    let told: Vec<_> =
        events.iter().map(|event| (&event["stage"], &event["responseStatus"]["code"])).collect();
    let (received, started, complete) =
        (json!("RequestReceived"), json!("ResponseStarted"), json!("ResponseComplete"));
    let code = json!(400);
    assert_eq!(told, [(&received, &Value::Null), (&started, &code), (&complete, &code)]);
}

#[tokio::test]
async fn what_no_rule_names_is_not_told() {
    let trail =
        Trail::start("rules: [{level: None, verbs: [create]}, {level: Metadata, users: [joe]}]")
            .await;
    trail.server.create("a", "x", &[]).await;
    trail.server.get("/version").await;
    assert_eq!(trail.events("/").await, Vec::<Value>::new());
}
