//! Events about the circuit breakers of admission webhooks.

use std::time::Duration;

use http::Method;
use quorate_api::breaker_events;
use quorate_webhook::testing::{Does, Server as Hook};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::harness::Server;

const CONFIGURATIONS: &str =
    "/apis/admissionregistration.svc.io/v1/validatingwebhookconfigurations";
const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const EVENTS: &str = "/api/v1/namespaces/default/events";
/// Failed calls in a row that open a breaker.
const FAILURES: usize = 20;
const LOOK: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(30);

/// A configuration with one webhook for config maps, which cannot be reached.
fn configuration() -> Value {
    json!({"metadata": {"name": "nowhere"}, "webhooks": [{
        "name": "nowhere.example.org",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }]})
}

#[tokio::test]
async fn a_breaker_that_opens_is_told_of_once() {
    let server = Server::with_namespace().await;
    server.namespace("default").await;
    let telling = tokio::spawn(breaker_events::run(server.api.clone(), LOOK));
    let made = server.send(Method::POST, CONFIGURATIONS, &[], &configuration().to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let until = async {
        loop {
            let map = json!({"metadata": {"generateName": "x"}}).to_string();
            assert_eq!(server.send(Method::POST, MAPS, &[], &map).await.status, 500);
            let events = server.get(EVENTS).await.json();
            if let [event] = &events["items"].as_array().unwrap()[..] {
                return event.clone();
            }
        }
    };
    let event = timeout(LIMIT, until).await.expect("the breaker opens");
    assert_eq!(event["reason"], "CircuitBreakerOpened");
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["involvedObject"]["kind"], "ValidatingWebhookConfiguration");
    assert_eq!(event["involvedObject"]["name"], "nowhere");
    assert_eq!(event["involvedObject"]["uid"], made.json()["metadata"]["uid"]);
    let message = event["message"].as_str().unwrap();
    assert!(message.starts_with("webhook \"nowhere.example.org\" is not called"), "{message}");
    // It stays open, and nothing more is told.
    for _ in 0..20 {
        let map = json!({"metadata": {"generateName": "x"}}).to_string();
        assert_eq!(server.send(Method::POST, MAPS, &[], &map).await.status, 500);
        tokio::task::yield_now().await;
    }
    assert_eq!(server.get(EVENTS).await.json()["items"].as_array().unwrap().len(), 1);
    telling.abort();
}

#[tokio::test]
async fn a_breaker_that_closes_is_told_of() {
    let hook = Hook::start().await;
    let server = Server::with_namespace().await;
    server.namespace("default").await;
    let telling = tokio::spawn(breaker_events::run(server.api.clone(), LOOK));
    let mut configuration = configuration();
    configuration["webhooks"][0]["clientConfig"] = serde_json::to_value(hook.url("/")).unwrap();
    let made = server.send(Method::POST, CONFIGURATIONS, &[], &configuration.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let told = async |reason: &str| {
        let events = server.get(EVENTS).await.json();
        events["items"].as_array().unwrap().iter().find(|event| event["reason"] == reason).cloned()
    };
    let write = async || {
        let map = json!({"metadata": {"generateName": "x"}}).to_string();
        server.send(Method::POST, MAPS, &[], &map).await.status.as_u16()
    };
    // So many calls that fail open it.
    hook.then(&vec![Does::Answers(503, "no"); FAILURES]);
    for _ in 0..FAILURES {
        assert_eq!(write().await, 500);
    }
    let opened = async {
        while told("CircuitBreakerOpened").await.is_none() {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, opened).await.expect("the breaker opens");
    // After a pause one call is tried.
    let closed = async {
        loop {
            hook.then(&[Does::Makes(allowed)]);
            write().await;
            if let Some(event) = told("CircuitBreakerClosed").await {
                return event;
            }
        }
    };
    let event = timeout(LIMIT, closed).await.expect("the breaker closes");
    assert_eq!(event["type"], "Normal");
    assert_eq!(event["message"], "webhook \"nowhere.example.org\" is called again");
    assert_eq!(event["involvedObject"]["uid"], made.json()["metadata"]["uid"]);
    telling.abort();
}

/// The answer of a webhook that allows what it is asked.
fn allowed(review: &[u8]) -> String {
    let mut review: Value = serde_json::from_slice(review).unwrap();
    let response = json!({"uid": review["request"]["uid"], "allowed": true});
    review["response"] = response;
    review.to_string()
}
