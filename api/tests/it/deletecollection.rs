//! DELETE on a collection: which objects it deletes, which requests it refuses, and what happens
//! when one object's deletion fails.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::Method;
use quorate_store::{Error, Layer, MemoryOptions, MemoryStore, Operation, Outcome, Store, Txn};
use serde_json::{Value, json};

use crate::harness::{Answer, Server, TestClock};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const OPTION: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

async fn maps(names: &[&str]) -> Server {
    let server = Server::with_namespace().await;
    for name in names {
        server.create("a", name, &[]).await;
    }
    server
}

async fn delete(server: &Server, query: &str) -> Answer {
    server.send(Method::DELETE, &format!("{MAPS}?{query}"), &[], "").await
}

async fn left(server: &Server) -> String {
    server.get(MAPS).await.names().join(" ")
}

#[tokio::test]
async fn one_page_is_deleted() {
    let server = maps(&["a", "b", "c", "d"]).await;
    let page = server.get(&format!("{MAPS}?limit=1")).await;
    let token = page.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    let one = delete(&server, &format!("limit=1&continue={token}")).await;
    assert_eq!((one.status.as_u16(), left(&server).await.as_str()), (200, "a c d"));
    let first = delete(&server, "limit=1&timeoutSeconds=30").await;
    assert_eq!((first.status.as_u16(), left(&server).await.as_str()), (200, "c d"));
    assert_eq!(delete(&server, &format!("continue={token}&dryRun=All")).await.status, 200);
    assert_eq!(left(&server).await, "c d");
    let all = delete(&server, "limit=0").await;
    assert_eq!((all.status.as_u16(), left(&server).await.as_str()), (200, ""));
    assert_eq!([one.text(), first.text()], [all.text(), all.text()]);
}

#[tokio::test]
async fn objects_go_in_the_order_of_a_list() {
    let server = Server::with_namespace().await;
    let names: Vec<String> = (0..150).map(|number| format!("m{number:03}")).collect();
    for name in names.iter().rev() {
        server.create("a", name, &[]).await;
    }
    let version = server.get(MAPS).await.version();
    let mut events =
        server.watch(&format!("{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=60")).await;
    assert_eq!(delete(&server, "").await.status, 200);
    let expect: Vec<String> = names.iter().map(|name| format!("DELETED {name}")).collect();
    assert_eq!(events.brief(names.len()).await, expect);
}

#[tokio::test]
async fn a_dry_run_passes_by_what_is_held() {
    let server = maps(&["a"]).await;
    let held = json!({"metadata": {"finalizers": ["example.com/f"]}});
    for (name, terminates) in [("b", false), ("c", true)] {
        server.create("a", name, &[]).await;
        server.patch(name, held.clone()).await;
        if terminates {
            server.delete(name).await;
        }
    }
    let before = server.get(MAPS).await.json();
    for body in
        ["", r#"{"dryRun":["All"]}"#, r#"{"dryRun":["All"],"propagationPolicy":"Foreground"}"#]
    {
        let path = if body.is_empty() { format!("{MAPS}?dryRun=All") } else { MAPS.to_owned() };
        let answer = server.send(Method::DELETE, &path, &[], body).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["status"]), (200, &json!("Success")));
        assert_eq!(server.get(MAPS).await.json(), before, "{body}");
    }
    assert_eq!(delete(&server, "").await.status, 200);
    assert_eq!(left(&server).await, "b c");
}

#[tokio::test]
async fn a_body_hides_the_options_of_the_query_but_not_what_is_listed() {
    let server = Server::with_namespace().await;
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "2"), ("d", "2")] {
        server.create("a", name, &[("x", label)]).await;
    }
    let send = async |query: &str, body: &str| {
        let path = format!("{MAPS}?{query}");
        server.send(Method::DELETE, &path, &[], body).await.status.as_u16()
    };
    // Wrong options of a query count only without a body; a dry run counts from either place.
    for wrong in ["propagationPolicy=Sideways", "gracePeriodSeconds=soon", "dryRun=Some"] {
        assert!(matches!(send(wrong, "").await, 400 | 422), "{wrong}");
    }
    assert_eq!(send("propagationPolicy=Sideways", r#"{"dryRun":["All"]}"#).await, 200);
    assert_eq!(send("gracePeriodSeconds=soon", r#"{"dryRun":["All"]}"#).await, 200);
    assert_eq!(send("dryRun=All", r#"{"propagationPolicy":"Background"}"#).await, 200);
    assert_eq!(send("", r#"{"propagationPolicy":"Sideways"}"#).await, 422);
    assert_eq!(left(&server).await, "a b c d");
    let body = r#"{"propagationPolicy":"Background"}"#;
    assert_eq!(send("labelSelector=x%3D2&limit=2&propagationPolicy=Sideways", body).await, 200);
    assert_eq!(left(&server).await, "a d");
    assert_eq!(send("labelSelector=%21%21", body).await, 400);
    assert_eq!(left(&server).await, "a d");
}

#[tokio::test]
async fn a_limit_counts_what_is_selected() {
    let server = Server::with_namespace().await;
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "2")] {
        server.create("a", name, &[("x", label)]).await;
    }
    assert_eq!(delete(&server, "labelSelector=x%3D2&limit=1").await.status, 200);
    assert_eq!(left(&server).await, "a c d");
    assert_eq!(delete(&server, "labelSelector=x%3D2&limit=2").await.status, 200);
    assert_eq!(left(&server).await, "a c");
}

#[tokio::test]
async fn what_came_after_the_listed_state_stays() {
    let server = maps(&["a", "b"]).await;
    let version = server.create("a", "c", &[]).await;
    server.delete("a").await;
    server.delete("c").await;
    // Another one of this name.
    server.create("a", "a", &[]).await;
    server.create("a", "d", &[]).await;
    let deleted =
        delete(&server, &format!("resourceVersion={version}&resourceVersionMatch=Exact")).await;
    assert_eq!((deleted.status.as_u16(), left(&server).await.as_str()), (200, "a d"));
    assert_eq!(delete(&server, "resourceVersion=0").await.status, 200);
    assert_eq!(left(&server).await, "");
}

#[tokio::test]
async fn what_a_list_refuses_is_refused_likewise() {
    let server = maps(&["a", "b"]).await;
    let page = server.get(&format!("{MAPS}?limit=1")).await;
    let token = page.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    let (selected, versioned) = (
        format!("labelSelector=x&continue={token}"),
        format!("resourceVersion=1&continue={token}"),
    );
    for (query, status) in [
        ("continue=abc", 400),
        (selected.as_str(), 400),
        (versioned.as_str(), 400),
        ("limit=abc", 400),
        ("timeoutSeconds=1.5", 400),
        ("resourceVersion=-1", 400),
        ("fieldSelector=spec.x%3D1", 400),
        ("labelSelector=x%20in", 400),
        ("resourceVersionMatch=Exact", 422),
        ("resourceVersionMatch=Newest&resourceVersion=0", 422),
        ("sendInitialEvents=true", 422),
    ] {
        let (deleted, listed) =
            (delete(&server, query).await, server.get(&format!("{MAPS}?{query}")).await);
        assert_eq!(deleted.status, status, "{query}");
        assert_eq!((deleted.status, deleted.text()), (listed.status, listed.text()), "{query}");
    }
    assert_eq!(left(&server).await, "a b");
}

#[tokio::test]
async fn nothing_is_deleted_by_force() {
    let server = maps(&["a", "b"]).await;
    let body = server.send(Method::DELETE, MAPS, &[], json!({OPTION: true}).to_string()).await;
    for refused in [body, delete(&server, &format!("{OPTION}=true")).await] {
        assert_eq!(refused.status, 422, "{}", refused.text());
        let cause = &refused.json()["details"]["causes"][0];
        assert_eq!(
            (&cause["reason"], &cause["field"]),
            (&json!("FieldValueInvalid"), &json!(OPTION))
        );
        let why = "Invalid value: true: is not allowed with DELETECOLLECTION, try again after removing the option";
        assert_eq!(cause["message"], why);
    }
    assert_eq!(left(&server).await, "a b");
    assert_eq!(delete(&server, &format!("{OPTION}=false")).await.status, 200);
    assert_eq!(left(&server).await, "");
}

#[tokio::test]
async fn without_the_gate_the_option_is_as_if_it_were_not_there() {
    let server = Server::with_gates("AllowUnsafeMalformedObjectDeletion=false").await;
    server.create("a", "a", &[]).await;
    assert_eq!(delete(&server, &format!("{OPTION}=true")).await.status, 200);
    assert_eq!(left(&server).await, "");
}

#[tokio::test]
async fn what_is_held_begins_to_go_while_the_others_go() {
    let server = maps(&["a", "b", "c"]).await;
    server.patch("b", json!({"metadata": {"finalizers": ["example.com/f"]}})).await;
    let held = async || server.get(&format!("{MAPS}/b")).await.json();
    assert_eq!(delete(&server, "dryRun=All").await.status, 200);
    assert_eq!(
        (left(&server).await.as_str(), &held().await["metadata"]["deletionTimestamp"]),
        ("a b c", &Value::Null)
    );
    let deleted = delete(&server, "").await;
    assert_eq!((deleted.status.as_u16(), &deleted.json()["status"]), (200, &json!("Success")));
    assert_eq!(left(&server).await, "b");
    let begun = held().await;
    assert_eq!(begun["metadata"]["deletionTimestamp"], "2030-01-01T00:00:00Z");
    assert_eq!(begun["metadata"]["finalizers"], json!(["example.com/f"]));
    assert_eq!(delete(&server, "").await.text(), deleted.text());
    assert_eq!(held().await, begun, "its deletion has begun already");
    server.patch("b", json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(left(&server).await, "");
}

#[tokio::test]
async fn a_policy_that_there_is_not_is_refused_as_for_one_object() {
    let server = maps(&["a", "b"]).await;
    let sideways = json!({"propagationPolicy": "Sideways"});
    let twofold = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
    for (query, body, reason) in [
        ("propagationPolicy=Sideways", String::new(), "FieldValueNotSupported"),
        ("", sideways.to_string(), "FieldValueNotSupported"),
        ("propagationPolicy=Orphan&orphanDependents=true", String::new(), "FieldValueInvalid"),
        ("", twofold.to_string(), "FieldValueInvalid"),
    ] {
        let ask = async |path: &str| {
            server.send(Method::DELETE, &format!("{path}?{query}"), &[], &body).await
        };
        let (refused, one) = (ask(MAPS).await, ask(&format!("{MAPS}/a")).await);
        let cause = refused.json()["details"]["causes"][0].clone();
        assert_eq!(
            (refused.status.as_u16(), &cause["reason"]),
            (422, &json!(reason)),
            "{query} {body}"
        );
        assert_eq!(cause["field"], "propagationPolicy", "{query} {body}");
        assert_eq!((refused.status, refused.text()), (one.status, one.text()), "{query} {body}");
        assert_eq!(left(&server).await, "a b", "{query} {body}");
    }
}

#[tokio::test]
async fn a_policy_is_that_of_every_object() {
    let server = maps(&["a", "b"]).await;
    assert_eq!(delete(&server, "propagationPolicy=Orphan").await.status, 200);
    let list = server.get(MAPS).await.json();
    let items = list["items"].as_array().unwrap();
    assert!(
        items.len() == 2
            && items.iter().all(|item| item["metadata"]["finalizers"] == json!(["orphan"])),
        "{list}"
    );
    assert_eq!(delete(&server, "propagationPolicy=Background").await.status, 200);
    assert_eq!(left(&server).await, "");
}

/// A store in which another client always changes one object before its deletion commits.
struct Overtaken {
    inner: MemoryStore,
    key: Bytes,
}

#[async_trait]
impl Layer for Overtaken {
    fn below(&self) -> &dyn Store {
        &self.inner
    }

    async fn txn(&self, txn: Txn) -> Result<Outcome, Error> {
        if txn.operations.contains(&Operation::Delete { key: self.key.clone() }) {
            let state = self.inner.snapshot();
            let current = state.get(&self.key).cloned();
            return Ok(Outcome::Conflict { condition: 0, current, revision: state.revision() });
        }
        self.inner.txn(txn).await
    }
}

#[tokio::test]
async fn one_that_resists_is_told_of_and_what_was_begun_is_finished() {
    let clock = Arc::<TestClock>::default();
    let inner = MemoryStore::new(MemoryOptions::new(clock.clone()));
    let store = Overtaken { inner, key: Bytes::from_static(b"o/core/configmaps/a/a") };
    let server = Server::over(Arc::new(store), clock);
    server.namespace("a").await;
    for name in ["a", "b", "c"] {
        server.create("a", name, &[]).await;
    }
    let refused = delete(&server, "").await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["reason"]),
        (409, &json!("Conflict")),
        "{}",
        refused.text()
    );
    assert_eq!(refused.json()["details"]["name"], "a");
    assert_eq!(left(&server).await, "a");
}
