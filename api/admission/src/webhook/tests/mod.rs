//! Webhooks asked about writes by servers on loopback, through the writer.

mod faults;
mod patches;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::{Naming, Status, Value};
use quorate_registry::write::{GivenOptions, Target, WriteOptions, Writer};
use quorate_registry::{
    AccessCheck, AccessDecision, Author, Grant, Notes, Permission, UserInfo, stored_codec,
};
use quorate_store::{MemoryOptions, MemoryStore, Operation, Txn};
use quorate_webhook::testing::{Does, Server};
use quorate_webhook::{Outside, ServiceResolver};
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::*;
use crate::Admission;

/// A user who may do everything, with a request that ends some time.
#[derive(Debug)]
struct Jane {
    notes: Mutex<Notes>,
    deadline: Option<Instant>,
}

#[async_trait]
impl Author for Jane {
    fn user(&self) -> UserInfo<'_> {
        UserInfo { name: "jane", uid: "", groups: &[], extra: &[] }
    }

    async fn may(&self, _: &Permission, _: &str) -> Result<bool, Error> {
        Ok(true)
    }

    fn check_object(&self, _: Target<'_>, _: Option<&Value>, _: &Value) -> Result<(), Error> {
        Ok(())
    }

    async fn check_grant(&self, _: Target<'_>, _: &Grant) -> Result<(), Error> {
        Ok(())
    }

    async fn decide(&self, _: &AccessCheck) -> AccessDecision {
        AccessDecision { allowed: true, ..AccessDecision::default() }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn note(&self, notes: Notes) {
        self.notes.lock().add(notes);
    }
}

/// There are no Services.
#[derive(Debug)]
struct NoServices;

#[async_trait]
impl ServiceResolver for NoServices {
    async fn resolve(&self, _: &str, name: &str, _: u16) -> Result<String, String> {
        Err(format!("service {name:?} not found"))
    }
}

/// A cluster with the namespace `n`, labelled `stage: test`.
struct Cluster {
    writer: Writer,
    admission: Arc<Admission>,
    store: Arc<dyn Store>,
    catalogue: Arc<Catalogue>,
    author: Arc<Jane>,
}

impl Cluster {
    async fn new() -> Self {
        Self::with_deadline(None).await
    }

    /// The same, whose requests have no more than this time together.
    async fn with_deadline(within: Option<Duration>) -> Self {
        let (names, env) = (Naming::Svc.names(), SystemEnv::env());
        let catalogue = CurrentCatalogue::new(builtin::catalogue_of(names));
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone())));
        let outside = Outside {
            network: env.network.clone(),
            clock: env.clock.clone(),
            services: Arc::new(NoServices),
            roots: Vec::new(),
        };
        let options = WebhookIndexOptions {
            store: store.clone(),
            clients: Arc::new(Clients::new(outside)),
            clock: env.clock.clone(),
            entropy: env.entropy.clone(),
            metrics: Arc::new(NoMetrics),
        };
        let loaded = catalogue.load();
        let webhooks = WebhookIndex::new(&loaded, options).map(Arc::new);
        let admission = Admission::new(names, catalogue, store.clone()).with_webhooks(webhooks);
        let admission = Arc::new(admission);
        let deadline = within.map(|within| Instant::now() + within);
        let author = Arc::new(Jane { notes: Mutex::default(), deadline });
        let writer = Writer::new(names, store.clone(), env)
            .admitted_by(admission.clone())
            .on_behalf_of(author.clone());
        let cluster = Self { writer, admission, store, catalogue: loaded, author };
        let labels = json!({"stage": "test"});
        let namespace = json!({"metadata": {"name": "n", "labels": labels}});
        cluster.write("", "namespaces", namespace).await.expect("the namespace is created");
        cluster
    }

    fn target(&self, group: &str, plural: &str) -> Target<'_> {
        let names = Naming::Svc.names();
        let group = if group.is_empty() { String::new() } else { names.group(group) };
        let resource = self.catalogue.find(&group, "v1", plural).unwrap();
        Target { resource, namespace: resource.namespaced.then_some("n"), name: "" }
    }

    /// Creates an object; gives it as it is stored.
    async fn write(&self, group: &str, plural: &str, object: Json) -> Result<Value, Box<Status>> {
        let target = self.target(group, plural);
        let options = WriteOptions { dry_run: false, manager: "m", given: GivenOptions::NONE };
        let created = self.writer.create(target, object.into(), options).await;
        let answer = created.map_err(|error| Box::new(error.into_status()))?;
        let header = stored_codec::header(target.resource, &answer.value).unwrap();
        Ok(header.to_value("v1", &target.resource.kind, 1).unwrap())
    }

    async fn create(&self, name: &str) -> Result<Value, Box<Status>> {
        let metadata = json!({"name": name, "labels": {"guard": "yes"}});
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}
        });
        self.write("", "configmaps", object).await
    }

    /// The message of the refusal of a config map; empty when it is admitted.
    async fn refusal(&self, name: &str) -> String {
        self.create(name).await.map_or_else(|status| status.message, |_| String::new())
    }

    /// Puts a configuration in force.
    async fn configure(&self, kind: &str, name: &str, webhooks: Vec<Json>) {
        let plural = if kind == "Mutating" { index::MUTATING } else { index::VALIDATING };
        let resource = self.target("admissionregistration", plural).resource;
        let object = json!({"metadata": {"name": name, "uid": "u"}, "webhooks": webhooks});
        let value = stored_codec::encode(resource, &object.into()).unwrap();
        let operations = vec![Operation::Put { key: resource.key(None, name), value }];
        self.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
    }

    fn notes(&self) -> Notes {
        std::mem::take(&mut *self.author.notes.lock())
    }
}

/// A webhook for config maps with these further fields.
fn webhook(name: &str, client: Value, fields: Json) -> Json {
    let client = serde_json::to_value(client).unwrap();
    let mut webhook = json!({
        "name": format!("{name}.hooks.example.com"), "clientConfig": client, "timeoutSeconds": 5,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
        "matchPolicy": "Equivalent"
    });
    for (field, value) in fields.as_object().unwrap() {
        webhook[field] = value.clone();
    }
    webhook
}

/// An answer with this response to the review.
fn respond(review: &[u8], response: Json) -> String {
    let review: Json = serde_json::from_slice(review).unwrap();
    let mut response = response;
    response["uid"] = review["request"]["uid"].clone();
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
        .to_string()
}

fn allow(review: &[u8]) -> String {
    respond(review, json!({"allowed": true}))
}

#[tokio::test]
async fn a_webhook_decides() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    cluster.configure("Validating", "c", vec![webhook("a", server.url("/a"), json!({}))]).await;
    server.then(&[
        Does::Makes(allow),
        Does::Makes(|review| {
            let status = json!({"message": "not this one", "code": 403});
            respond(
                review,
                json!({"allowed": false, "status": status, "warnings": ["w"],
                "auditAnnotations": {"k": "v", "not/valid": "x"}}),
            )
        }),
    ]);
    assert_eq!(cluster.refusal("one").await, "");
    assert_eq!(cluster.notes().waits.len(), 1);
    let refused = cluster.create("two").await.unwrap_err();
    let denied = "admission webhook \"a.hooks.example.com\" denied the request: not this one";
    assert_eq!((refused.code, refused.message.as_str()), (403, denied));
    let notes = cluster.notes();
    assert_eq!(notes.warnings, ["w"]);
    let annotations: Vec<_> = notes.annotations.into_iter().collect();
    assert_eq!(annotations, [("a.hooks.example.com/k".to_owned(), "v".to_owned())]);
    let asked = server.asked();
    assert_eq!(asked[0].uri, "/a?timeout=5s");
    let review: Json = serde_json::from_slice(&asked[0].body).unwrap();
    assert_eq!(review["request"]["object"]["data"]["a"], "1");
    assert_eq!(review["request"]["userInfo"]["username"], "jane");
}

#[tokio::test]
async fn what_is_asked() {
    let check = async |fields: Json, expect: bool| {
        let (server, cluster) = (Server::start().await, Cluster::new().await);
        let hook = webhook("a", server.url("/"), fields.clone());
        cluster.configure("Validating", "c", vec![hook]).await;
        server.then(&[Does::Makes(allow)]);
        assert_eq!(cluster.refusal("a").await, "", "{fields}");
        assert_eq!(server.asked().len() == 1, expect, "{fields}");
    };
    let labels = |key: &str, value: &str| json!({"matchLabels": {key: value}});
    let condition = |text: &str| json!([{"name": "c", "expression": text}]);
    check(json!({}), true).await;
    check(json!({"rules": []}), false).await;
    check(json!({"namespaceSelector": labels("stage", "test")}), true).await;
    check(json!({"namespaceSelector": labels("stage", "prod")}), false).await;
    check(json!({"objectSelector": labels("guard", "yes")}), true).await;
    check(json!({"objectSelector": labels("guard", "no")}), false).await;
    check(json!({"matchConditions": condition("object.data.a == '1'")}), true).await;
    check(json!({"matchConditions": condition("object.data.a == '2'")}), false).await;
    check(
        json!({"matchConditions": condition("authorizer.path('/x').check('get').allowed()")}),
        true,
    )
    .await;
    check(
        json!({"matchConditions": condition("object.none == 1"), "failurePolicy": "Ignore"}),
        false,
    )
    .await;
}

#[tokio::test]
async fn configurations_and_policies_are_exempt() {
    let cluster = Cluster::new().await;
    let nowhere = json!({"url": "https://127.0.0.1:1/"}).into();
    let rule =
        json!({"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]});
    let everything = webhook("a", nowhere, json!({"rules": [rule]}));
    cluster.configure("Validating", "c", vec![everything.clone()]).await;
    cluster.configure("Mutating", "c", vec![everything]).await;
    for plural in [index::MUTATING, index::VALIDATING] {
        let object = json!({"metadata": {"name": "mended"}, "webhooks": []});
        cluster.write("admissionregistration", plural, object).await.unwrap();
    }
    assert!(cluster.refusal("a").await.contains("failed calling webhook \"a.hooks"));
}

#[tokio::test]
async fn a_dry_run_has_no_effects() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    let hook =
        webhook("a", server.url("/"), json!({"sideEffects": "Unknown", "failurePolicy": "Ignore"}));
    cluster.configure("Validating", "c", vec![hook]).await;
    let options = WriteOptions { dry_run: true, manager: "m", given: GivenOptions::NONE };
    let object = json!({"metadata": {"name": "a"}}).into();
    let target = cluster.target("", "configmaps");
    let refused = cluster.writer.create(target, object, options).await.unwrap_err().into_status();
    let message = "admission webhook \"a.hooks.example.com\" does not support dry run";
    assert_eq!((refused.code, refused.message.as_str()), (400, message));
    assert_eq!(server.asked().len(), 0);
}

#[tokio::test]
async fn a_suspended_configuration_refuses_nothing() {
    let check = async |until: &str, expect: bool| {
        let cluster = Cluster::new().await;
        let nowhere = json!({"url": "https://127.0.0.1:1/"}).into();
        let resource = cluster.target("admissionregistration", index::VALIDATING).resource;
        let annotation = quorate_registry::suspension::annotation(Naming::Svc.names());
        let metadata = json!({"name": "c", "uid": "u", "annotations": {annotation: until}});
        let hook = webhook("a", nowhere, json!({}));
        let object = json!({"metadata": metadata, "webhooks": [hook]});
        let value = stored_codec::encode(resource, &object.into()).unwrap();
        let operations = vec![Operation::Put { key: resource.key(None, "c"), value }];
        cluster.store.txn(Txn { operations, ..Txn::default() }).await.unwrap();
        assert_eq!(cluster.create("a").await.is_ok(), expect, "{until}");
    };
    check("2100-01-01T00:00:00Z", true).await;
    check("2001-01-01T00:00:00Z", false).await;
    check("later", false).await;
}

#[tokio::test]
async fn a_removed_webhook_refuses_nothing_more() {
    let (server, cluster) = (Server::start().await, Cluster::new().await);
    cluster.configure("Validating", "c", vec![webhook("a", server.url("/"), json!({}))]).await;
    server.then(&[Does::Answers(200, "{}")]);
    assert!(cluster.refusal("a").await.ends_with("webhook response was absent"));
    cluster.configure("Validating", "c", Vec::new()).await;
    assert_eq!(cluster.refusal("a").await, "");
}
