//! The authorization webhook: a real TLS server and an authorizer that is made from command-line
//! options.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use quorate_access::authentication::User;
use quorate_access::authorization::{
    Action, Authorizer, AuthorizerOptions, Decision, ResourceAction, Verdict,
};
use quorate_env::{Clock, Env, SystemEnv};
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_store::{MemoryOptions, MemoryStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::Authorization;
use crate::webhook::tests::server::{Answer, ScriptedServer};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    authorization: Authorization,
}

#[derive(Debug)]
struct Time(AtomicU64);

impl Clock for Time {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A server and the authorizer that asks it.
struct Setting {
    server: ScriptedServer,
    clock: Arc<Time>,
    authorizer: Authorizer,
    _folder: TempDir,
}

impl Setting {
    /// With a token, and these options besides.
    async fn new(options: &[&str]) -> Self {
        Self::with(options, |server, folder| server.with_token(folder, "s3cret")).await
    }

    async fn with(
        options: &[&str],
        config: impl FnOnce(&ScriptedServer, &Path) -> PathBuf,
    ) -> Self {
        let (server, folder) = (ScriptedServer::start().await, TempDir::new().unwrap());
        let file = format!(
            "--authorization-webhook-config-file={}",
            config(&server, folder.path()).display()
        );
        // Nothing here is about time unless a test says so.
        let patient = Some(&"--authorization-webhook-timeout=30s");
        let patient = patient.filter(|_| !options.iter().any(|option| option.contains("timeout")));
        let own = ["test", "--authorization-mode=Webhook", &file];
        let options =
            Line::try_parse_from(own.iter().chain(patient).chain(options)).unwrap().authorization;
        let clock = Arc::new(Time(AtomicU64::new(1_000_000)));
        let env = Env { clock: clock.clone(), ..SystemEnv::env() };
        let names = Naming::Kubernetes.names();
        let catalogue = builtin::catalogue_of(names);
        let authorizer = Authorizer::new(AuthorizerOptions {
            names,
            catalogue: &catalogue,
            store: Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone()))),
            modes: &options.modes(&env).unwrap(),
        });
        Self { server, clock, authorizer, _folder: folder }
    }

    fn says(&self, status: Value) {
        self.server.then(Answer::Status(201, review(status)));
    }

    async fn decide(&self, user: &str) -> Decision {
        let on = ResourceAction { verb: "get", resource: "pods", ..ResourceAction::default() };
        self.authorizer.decide(&User::new(user, ["staff".to_owned()]), &Action::Resource(on)).await
    }

    #[track_caller]
    fn count(&self, expect: usize) {
        assert_eq!(self.server.asked().len(), expect);
    }
}

fn review(status: Value) -> String {
    let version = "authorization.k8s.io/v1";
    json!({"apiVersion": version, "kind": "SubjectAccessReview", "spec": {}, "status": status})
        .to_string()
}

#[tokio::test]
async fn the_server_decides() {
    let setting = Setting::new(&[]).await;
    setting.says(json!({"allowed": true, "reason": "welcome"}));
    assert_eq!(setting.decide("joe").await, Decision::allow("welcome"));
    setting.says(json!({"allowed": false, "denied": true, "reason": "never"}));
    let denied = setting.decide("eve").await;
    assert_eq!((denied.verdict, denied.reason.as_str()), (Verdict::Deny, "never"));
    setting.says(json!({"allowed": false}));
    assert_eq!(setting.decide("ann").await, Decision::default());
    let asked = setting.server.asked();
    let expect = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
        "spec": {"user": "joe", "groups": ["staff", "system:authenticated"], "resourceAttributes": {"verb": "get", "resource": "pods"}},
        "status": {"allowed": false},
    });
    assert_eq!((asked.len(), &asked[0].body), (3, &expect));
    assert_eq!(asked[0].path, "/decide?x=y");
    assert_eq!(
        (asked[0].authorization.as_deref(), asked[0].certified),
        (Some("Bearer s3cret"), false)
    );
    assert_eq!(setting.server.connections(), 1, "the connection stays open");
}

#[tokio::test]
async fn a_certificate_says_who_asks() {
    let setting = Setting::with(&[], ScriptedServer::with_certificate).await;
    setting.says(json!({"allowed": true}));
    assert!(setting.decide("joe").await.is_allowed());
    let asked = setting.server.asked();
    assert_eq!(
        (asked.len(), asked[0].certified, asked[0].authorization.as_deref()),
        (1, true, None)
    );
}

#[tokio::test]
async fn only_the_named_authority_is_believed() {
    let setting = Setting::with(&[], ScriptedServer::with_other_authority).await;
    setting.says(json!({"allowed": true}));
    let decision = setting.decide("joe").await;
    assert!(
        !decision.is_allowed()
            && decision.error.ends_with("x509: certificate signed by unknown authority"),
        "{decision:?}"
    );
    setting.count(0);
    assert_eq!(setting.server.connections(), 1, "it would be the same again");
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let setting = Setting::new(&[]).await;
    setting.server.then(Answer::Status(500, String::new()));
    setting.server.then(Answer::Close);
    setting.says(json!({"allowed": true}));
    assert!(setting.decide("joe").await.is_allowed());
    setting.count(3);
    setting.server.then(Answer::Status(403, String::new()));
    let decision = setting.decide("ann").await;
    assert!(decision.error.contains("403"), "{decision:?}");
    setting.count(1);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_opened_again() {
    let setting = Setting::new(&[]).await;
    for user in ["a", "b", "c"] {
        setting.server.then(Answer::StatusAndClose(200, review(json!({"allowed": true}))));
        assert!(setting.decide(user).await.is_allowed());
        setting.count(1);
    }
    assert_eq!(setting.server.connections(), 3);
}

#[tokio::test]
async fn without_an_answer_the_policy_holds() {
    let check = async |answer: Answer, policy: &str, expect: Verdict| {
        let policy = format!("--authorization-webhook-failure-policy={policy}");
        let setting = Setting::new(&[&policy, "--authorization-webhook-timeout=200ms"]).await;
        setting.server.then(answer.clone());
        let decision = setting.decide("joe").await;
        assert_eq!(decision.verdict, expect, "{answer:?}");
        assert!(decision.error.contains("does not answer"), "{answer:?}: {decision:?}");
    };
    for answer in [
        Answer::Hang,
        Answer::Close,
        Answer::Status(503, String::new()),
        Answer::Status(200, "maybe".to_owned()),
        Answer::Status(200, "x".repeat(1 << 20)),
    ] {
        check(answer.clone(), "NoOpinion", Verdict::NoOpinion).await;
        check(answer, "Deny", Verdict::Deny).await;
    }
}

#[tokio::test]
async fn answers_are_remembered_for_as_long_as_the_options_say() {
    let options = [
        "--authorization-webhook-cache-authorized-ttl=10s",
        "--authorization-webhook-cache-unauthorized-ttl=2s",
    ];
    let setting = Setting::new(&options).await;
    let wait = |seconds: u64| setting.clock.0.fetch_add(seconds * 1000, Ordering::Relaxed);
    setting.says(json!({"allowed": true}));
    setting.says(json!({"allowed": false}));
    assert!(setting.decide("joe").await.is_allowed());
    assert!(!setting.decide("ann").await.is_allowed());
    setting.count(2);
    wait(1);
    assert!(setting.decide("joe").await.is_allowed() && !setting.decide("ann").await.is_allowed());
    setting.count(0);
    wait(1);
    setting.says(json!({"allowed": true}));
    assert!(setting.decide("joe").await.is_allowed() && setting.decide("ann").await.is_allowed());
    setting.count(1);
    wait(8);
    setting.says(json!({"allowed": false}));
    assert!(!setting.decide("joe").await.is_allowed() && setting.decide("ann").await.is_allowed());
    setting.count(1);
}
