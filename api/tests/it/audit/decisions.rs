//! Authorization decisions in audit events: the last decision for the request, and no decision
//! where the authorizer could make none.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use parking_lot::Mutex;
use quorate_access::authentication::User;
use quorate_access::authorization::{ModeOptions, ReviewError, Reviewer, Verdict, WebhookOptions};
use quorate_env::SystemEnv;
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Operation, Revision, Store, Txn};
use serde_json::{Value, json};

use super::{MAPS, Trail};
use crate::harness::{Server, TestClock};

const RULES: &str = "omitStages: [RequestReceived]\nrules: [{level: Metadata}]";

/// A store that hears of a change elsewhere when it asks for the newest state.
struct Behind {
    inner: MemoryStore,
    elsewhere: Mutex<Option<Txn>>,
}

#[async_trait]
impl Layer for Behind {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    async fn read_index(&self) -> Result<Revision, Error> {
        let change = self.elsewhere.lock().take();
        if let Some(change) = change {
            self.inner.txn(change).await?;
        }
        self.inner.read_index().await
    }
}

/// What an event says of the decision, and with which code the request ended.
fn said(event: &Value) -> (Value, u64) {
    (event["annotations"].clone(), event["responseStatus"]["code"].as_u64().unwrap())
}

#[tokio::test]
async fn who_is_refused_when_asked_again_was_not_allowed() {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Behind { inner, elsewhere: Mutex::default() });
    let trail = Trail::start_at(Server::over(store.clone(), clock), RULES).await;
    let rbac = "/apis/rbac.authorization.svc.io/v1/namespaces/a";
    let role = json!({"metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]});
    let binding = json!({"metadata": {"name": "joes"}, "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "joe"}]});
    for (plural, body) in [("roles", role), ("rolebindings", binding)] {
        let made = trail
            .server
            .send(Method::POST, &format!("{rbac}/{plural}"), &[], body.to_string())
            .await;
        assert_eq!(made.status, 201, "{}", made.text());
    }
    let joe = trail.server.by(Some(User::new("joe", [])));
    assert_eq!(joe.get(MAPS).await.status, 200);
    let snapshot = store.inner.snapshot();
    let mut keys = snapshot.range(b"o/", None).map(|(key, _)| key.clone());
    let key = keys.find(|key| key.ends_with(b"/rolebindings/a/joes")).unwrap();
    *store.elsewhere.lock() =
        Some(Txn { operations: vec![Operation::Delete { key }], ..Txn::default() });
    assert_eq!(joe.get(MAPS).await.status, 403);
    let events = trail.events(MAPS).await;
    let (allowed, refused) = (said(&events[0]), said(&events[1]));
    assert_eq!((&allowed.0["authorization.svc.io/decision"], allowed.1), (&json!("allow"), 200));
    let forbid =
        json!({"authorization.svc.io/decision": "forbid", "authorization.svc.io/reason": ""});
    assert_eq!(refused, (forbid, 403));
}

/// Never has an answer.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl Reviewer for Silent {
    async fn review(&self, _: Bytes) -> Result<Bytes, ReviewError> {
        Err(ReviewError::Permanent("it is silent".to_owned()))
    }
}

#[tokio::test]
async fn where_nobody_could_decide_the_trail_says_why() {
    let said_with = async |on_failure: Verdict| {
        let webhook = WebhookOptions {
            reviewer: Arc::new(Silent),
            clock: SystemEnv::env().clock,
            authorized_ttl: Duration::ZERO,
            unauthorized_ttl: Duration::ZERO,
            timeout: Duration::from_secs(60),
            on_failure,
        };
        let server = Server::with_modes(vec![ModeOptions::Webhook(webhook), ModeOptions::Rules]);
        let trail = Trail::start_at(server, RULES).await;
        let answer = trail.server.by(Some(User::new("joe", []))).get(MAPS).await;
        let retry = answer.header("retry-after").to_owned();
        (said(&trail.events(MAPS).await[0]), retry)
    };
    let why = "the authorization webhook does not answer: it is silent";
    let undecided = json!({"authorization.svc.io/reason": why});
    assert_eq!(said_with(Verdict::NoOpinion).await, ((undecided, 503), "1".to_owned()));
    let forbid =
        json!({"authorization.svc.io/decision": "forbid", "authorization.svc.io/reason": why});
    assert_eq!(said_with(Verdict::Deny).await, ((forbid, 403), String::new()));
}
