//! ResourceQuotas over HTTP: no client exceeds one, however many try at once, and what is deleted
//! is given back.

mod counted;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use http::Method;
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Operation, Outcome, Store, Txn};
use serde_json::{Value, json};

use crate::controllers::until_body;
use crate::harness::{Answer, Server, TestClock};

const QUOTAS: &str = "/api/v1/namespaces/a/resourcequotas";
const SECRETS: &str = "/api/v1/namespaces/a/secrets";
const PODS: &str = "/api/v1/namespaces/a/pods";
const SERVICES: &str = "/api/v1/namespaces/a/services";
const MERGE: [(&str, &str); 1] = [("content-type", "application/merge-patch+json")];

/// The key of the quota `q`.
const KEY: &[u8] = b"o/core/resourcequotas/a/q";

/// A store in which others come first, so many times, whenever the quota is charged.
struct Crowded {
    store: MemoryStore,
    others: AtomicUsize,
}

#[async_trait]
impl Layer for Crowded {
    fn below(&self) -> &dyn Store {
        &self.store
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        let charges = txn.operations.len() > 1 && txn.operations.iter().any(|one| one.key() == KEY);
        let others = self.others.load(Ordering::Relaxed);
        if charges && others > 0 {
            self.others.store(others - 1, Ordering::Relaxed);
            let value = self.store.snapshot().get(KEY).expect("the quota").value.clone();
            let operations = vec![Operation::Put { key: KEY.into(), value }];
            self.store.txn(Txn { operations, ..Txn::default() }).await?;
        }
        self.store.txn(txn).await
    }
}

async fn post(server: &Server, path: &str, name: &str, spec: Value) -> Answer {
    let mut object = json!({"metadata": {"name": name}});
    if !spec.is_null() {
        object["spec"] = spec;
    }
    server.send(Method::POST, path, &[], object.to_string()).await
}

async fn patch(server: &Server, path: &str, change: Value) -> Answer {
    server.send(Method::PATCH, path, &MERGE, change.to_string()).await
}

#[track_caller]
fn made(answer: &Answer) {
    assert!(answer.status.is_success(), "{}", answer.text());
}

#[track_caller]
fn refused(answer: &Answer, why: &str) {
    assert_eq!((answer.status.as_u16(), answer.json()["message"].as_str().unwrap()), (403, why));
}

/// A server with a quota in the namespace `a`.
async fn with_quota(spec: Value) -> Server {
    let server = Server::for_pods().await;
    made(&post(&server, QUOTAS, "q", spec).await);
    server
}

async fn used(server: &Server) -> Value {
    server.get(&format!("{QUOTAS}/q")).await.json()["status"]["used"].clone()
}

async fn until_used(server: &Server, expect: Value) {
    until_body(server, &format!("{QUOTAS}/q"), |_, body| body["status"]["used"] == expect).await;
}

fn container(resources: Value) -> Value {
    json!({"containers": [{"name": "c", "image": "i", "resources": resources}]})
}

#[tokio::test]
async fn what_is_recorded_of_a_release_1_35_server() {
    let server = with_quota(json!({"hard": {"secrets": "1"}})).await;
    let body = json!({"metadata": {"name": "q"}, "spec": {"hard": {"secrets": "100"}},
        "status": {"hard": {"secrets": "1"}, "used": {"secrets": "0"}}});
    let put =
        server.send(Method::PUT, &format!("{QUOTAS}/q/status"), &[], body.to_string()).await.json();
    assert_eq!(
        (&put["spec"]["hard"]["secrets"], &put["status"]["used"]["secrets"]),
        (&json!("1"), &json!("0"))
    );
    made(&post(&server, &format!("{SECRETS}?dryRun=All"), "probe", json!(null)).await);
    made(&post(&server, SECRETS, "one", json!(null)).await);
    let why = "secrets \"two\" is forbidden: \
               exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1";
    let answer = post(&server, SECRETS, "two", json!(null)).await;
    refused(&answer, why);
    assert_eq!(answer.json()["details"], json!({"name": "two", "kind": "secrets"}));
    refused(&post(&server, &format!("{SECRETS}?dryRun=All"), "two", json!(null)).await, why);
    let quota = server.get(&format!("{QUOTAS}/q")).await.json();
    assert_eq!(quota["status"], json!({"hard": {"secrets": "1"}, "used": {"secrets": "1"}}));
    assert_eq!(
        quota["metadata"]["managedFields"], put["metadata"]["managedFields"],
        "a charge is nobody's write"
    );
    server.namespace("b").await;
    for name in ["one", "two"] {
        made(&post(&server, "/api/v1/namespaces/b/secrets", name, json!(null)).await);
    }
}

#[tokio::test]
async fn of_many_at_once_no_more_succeed_than_are_allowed() {
    let server = with_quota(json!({"hard": {"secrets": "20"}})).await;
    let names: Vec<String> = (0..50).map(|number| format!("s{number}")).collect();
    let answers =
        join_all(names.iter().map(|name| post(&server, SECRETS, name, json!(null)))).await;
    let count = |code: u16| answers.iter().filter(|answer| answer.status == code).count();
    assert_eq!((count(201), count(403)), (20, 30));
    assert_eq!(server.get(SECRETS).await.names().len(), 20);
    assert_eq!(used(&server).await, json!({"secrets": "20"}));
}

#[tokio::test]
async fn nor_through_several_nodes() {
    let clock = Arc::<TestClock>::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let nodes = [(); 3].map(|()| Server::over(store.clone(), clock.clone()));
    nodes[0].namespace("a").await;
    made(&post(&nodes[0], QUOTAS, "q", json!({"hard": {"secrets": "20"}})).await);
    let names: Vec<String> = (0..50).map(|number| format!("s{number}")).collect();
    let posts = names
        .iter()
        .enumerate()
        .map(|(index, name)| post(&nodes[index % 3], SECRETS, name, json!(null)));
    let answers = join_all(posts).await;
    let count = |code: u16| answers.iter().filter(|answer| answer.status == code).count();
    assert_eq!((count(201), count(403)), (20, 30));
    assert_eq!(used(&nodes[1]).await, json!({"secrets": "20"}));
}

#[tokio::test(start_paused = true)]
async fn who_always_comes_after_others_is_asked_to_come_again() {
    let clock = Arc::<TestClock>::default();
    let store = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Arc::new(Crowded { store, others: AtomicUsize::new(0) });
    let server = Server::over(store.clone(), clock);
    server.namespace("a").await;
    server.range().await;
    made(
        &post(&server, QUOTAS, "q", json!({"hard": {"secrets": "9", "services.nodeports": "9"}}))
            .await,
    );
    made(&post(&server, SERVICES, "s", json!({"ports": [{"port": 80}]})).await);
    let crowded_out = |answer: &Answer, what: &str| {
        let why = "too many others are charged to the same quotas at this time, please try again";
        let expect = format!("{what} was not written: {why}");
        assert_eq!(
            (answer.status.as_u16(), answer.header("retry-after")),
            (429, "1"),
            "{}",
            answer.text()
        );
        assert_eq!(answer.json()["message"], expect.as_str());
    };
    let service = async || {
        patch(&server, &format!("{SERVICES}/s"), json!({"spec": {"type": "NodePort"}})).await
    };
    store.others.store(100, Ordering::Relaxed);
    crowded_out(&post(&server, SECRETS, "one", json!(null)).await, "secrets \"one\"");
    crowded_out(&service().await, "services \"s\"");
    store.others.store(20, Ordering::Relaxed);
    made(&post(&server, SECRETS, "one", json!(null)).await);
    store.others.store(20, Ordering::Relaxed);
    made(&service().await);
    assert_eq!(used(&server).await, json!({"secrets": "1", "services.nodeports": "1"}));
}

#[tokio::test]
async fn a_quota_that_counts_quotas_does_not_count_itself_again() {
    let server = with_quota(json!({"hard": {"resourcequotas": "2"}})).await;
    let spec = json!({"hard": {"pods": "1"}});
    let again = post(&server, QUOTAS, "q", spec.clone()).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()["reason"]),
        (409, &json!("AlreadyExists")),
        "{}",
        again.text()
    );
    made(&post(&server, QUOTAS, "r", spec.clone()).await);
    assert_eq!(used(&server).await, json!({"resourcequotas": "2"}));
    let why = "resourcequotas \"s\" is forbidden: \
               exceeded quota: q, requested: resourcequotas=1, used: resourcequotas=2, limited: resourcequotas=2";
    refused(&post(&server, QUOTAS, "s", spec).await, why);
    made(
        &patch(&server, &format!("{QUOTAS}/q"), json!({"spec": {"hard": {"resourcequotas": "3"}}}))
            .await,
    );
    assert_eq!(used(&server).await, json!({"resourcequotas": "2"}));
}

#[tokio::test]
async fn what_was_used_before_a_quota_limited_something_else_is_forgotten() {
    let server = with_quota(json!({"hard": {"secrets": "2"}})).await;
    made(&post(&server, SECRETS, "one", json!(null)).await);
    assert_eq!(used(&server).await, json!({"secrets": "1"}));
    let limit = async |secrets: Value| {
        let hard = json!({"configmaps": "9", "secrets": secrets});
        made(&patch(&server, &format!("{QUOTAS}/q"), json!({"spec": {"hard": hard}})).await);
    };
    limit(json!(null)).await;
    assert_eq!(used(&server).await, json!(null));
    for name in ["two", "three"] {
        made(&post(&server, SECRETS, name, json!(null)).await);
    }
    limit(json!("2")).await;
    let why = "secrets \"four\" is forbidden: \
               exceeded quota: q, requested: secrets=1, used: secrets=3, limited: secrets=2";
    refused(&post(&server, SECRETS, "four", json!(null)).await, why);
}

#[tokio::test]
async fn a_quota_counts_from_the_moment_on_that_it_is_made() {
    let server = Server::with_namespace().await;
    for name in ["one", "two"] {
        made(&post(&server, SECRETS, name, json!(null)).await);
    }
    made(&post(&server, QUOTAS, "q", json!({"hard": {"secrets": "3"}})).await);
    made(&post(&server, SECRETS, "three", json!(null)).await);
    let why = "secrets \"four\" is forbidden: \
               exceeded quota: q, requested: secrets=1, used: secrets=3, limited: secrets=3";
    refused(&post(&server, SECRETS, "four", json!(null)).await, why);
    made(
        &patch(&server, &format!("{QUOTAS}/q"), json!({"spec": {"hard": {"secrets": "4"}}})).await,
    );
    made(&post(&server, SECRETS, "four", json!(null)).await);
    assert_eq!(used(&server).await, json!({"secrets": "4"}));
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_is_given_back() {
    let server = Server::with_namespace().await;
    let _controllers = server.defaults().await;
    made(&post(&server, SECRETS, "old", json!(null)).await);
    made(
        &post(
            &server,
            QUOTAS,
            "q",
            json!({"hard": {"secrets": "2", "count/pods": "5", "pods": "5"}}),
        )
        .await,
    );
    let all = json!({"secrets": "2", "count/pods": "5", "pods": "5"});
    let accept = |_: u16, body: &Value| body["status"]["hard"] == all;
    let told = until_body(&server, &format!("{QUOTAS}/q"), accept).await;
    assert_eq!(told["status"]["used"], json!({"secrets": "1", "count/pods": "0", "pods": "0"}));
    let owners = told["metadata"]["managedFields"].as_array().unwrap();
    let mut owners = owners.iter().map(|owner| (&owner["manager"], &owner["subresource"]));
    assert!(
        owners.any(|owner| owner == (&json!("resourcequota-controller"), &json!("status"))),
        "{told}"
    );

    made(&post(&server, SECRETS, "new", json!(null)).await);
    assert_eq!(post(&server, SECRETS, "other", json!(null)).await.status, 403);
    made(&server.send(Method::DELETE, &format!("{SECRETS}/old"), &[], "").await);
    until_used(&server, json!({"secrets": "1", "count/pods": "0", "pods": "0"})).await;
    made(&post(&server, SECRETS, "other", json!(null)).await);

    made(&post(&server, PODS, "p", container(json!({}))).await);
    assert_eq!(used(&server).await, json!({"secrets": "2", "count/pods": "1", "pods": "1"}));
    made(
        &patch(&server, &format!("{PODS}/p/status"), json!({"status": {"phase": "Succeeded"}}))
            .await,
    );
    until_used(&server, json!({"secrets": "2", "count/pods": "1", "pods": "0"})).await;

    made(
        &patch(
            &server,
            &format!("{QUOTAS}/q"),
            json!({"spec": {"hard": {"count/secrets": "9", "pods": null}}}),
        )
        .await,
    );
    until_used(&server, json!({"secrets": "2", "count/pods": "1", "count/secrets": "2"})).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_given_back_meets_what_is_charged() {
    let server = with_quota(json!({"hard": {"secrets": "1k"}})).await;
    let _controllers = server.defaults().await;
    for number in 0..200 {
        made(&post(&server, SECRETS, &format!("s{number}"), json!(null)).await);
        if number % 2 == 1 {
            let path = format!("{SECRETS}/s{}", number - 1);
            made(&server.send(Method::DELETE, &path, &[], "").await);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    until_used(&server, json!({"secrets": "100"})).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_written_past_the_quota_is_counted() {
    let server = Server::with_namespace().await;
    made(&post(&server, QUOTAS, "q", json!({"hard": {"count/serviceaccounts": "5"}})).await);
    let _controllers = server.defaults().await;
    until_used(&server, json!({"count/serviceaccounts": "1"})).await;
    let account = "/api/v1/namespaces/a/serviceaccounts/default";
    made(&server.send(Method::DELETE, account, &[], "").await);
    until_body(&server, account, |code, _| code == 200).await;
    until_used(&server, json!({"count/serviceaccounts": "1"})).await;
}
