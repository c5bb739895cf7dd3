//! Watches of the past.

use serde_json::{Value, json};

use super::{MAPS, forgetful};
use crate::harness::{Events, Server};

async fn events(watch: &mut Events, count: usize) -> Vec<Value> {
    let mut events = Vec::new();
    for _ in 0..count {
        events.push(watch.next().await.expect("a further event"));
    }
    events
}

/// Changes objects of the namespace in all the ways that selectors tell apart.
async fn change(server: &Server, round: &str) {
    let name = format!("m{round}");
    server.create("a", &name, &[("set", "x")]).await;
    server.patch(&name, json!({"data": {"k": "w"}})).await;
    server.patch(&name, json!({"metadata": {"labels": {"set": "y"}}})).await;
    server.namespace(&format!("n{round}")).await;
    server.patch(&name, json!({"metadata": {"labels": {"set": "x"}}})).await;
    server.delete(&name).await;
}

#[tokio::test]
async fn a_watch_of_the_past_tells_what_a_watch_then_told_and_goes_on() {
    let server = forgetful().await;
    server.create("a", "before", &[("set", "x")]).await;
    let at = server.get(MAPS).await.version();
    let check = |query: &'static str, accept: &'static str, count: usize| (query, accept, count);
    let watches = [
        check("", "application/json", 5),
        check("&labelSelector=set%3Dx", "application/json", 5),
        check("&labelSelector=set%3Dy", "application/json", 2),
        check("&fieldSelector=metadata.name%3Dbefore", "application/json", 0),
        check("", "application/json;as=Table;g=meta.svc.io;v=v1", 5),
        check("", "application/json;as=PartialObjectMetadata;g=meta.svc.io;v=v1", 5),
    ];
    let mut living = Vec::new();
    for (query, accept, _) in watches {
        let path = format!("{MAPS}?watch=1&resourceVersion={at}{query}");
        living.push(server.watch_as(&path, accept).await);
    }
    change(&server, "1").await;
    let mut told = Vec::new();
    for ((_, _, count), watch) in watches.iter().zip(&mut living) {
        told.push(events(watch, *count).await);
    }
    drop(living);
    server.clock.advance(500);
    server.namespace("later").await;
    let mut gone = server.watch(&format!("{MAPS}?watch=1&resourceVersion={at}")).await;
    assert_eq!(gone.next().await.unwrap()["object"]["code"], 410);
    for ((query, accept, count), then) in watches.into_iter().zip(told) {
        let path = format!("{MAPS}?watch=1&asOf={at}{query}");
        let mut watch = server.watch_as(&path, accept).await;
        assert_eq!(events(&mut watch, count).await, then, "{query} {accept}");
    }
    let mut watch = server.watch(&format!("{MAPS}?watch=1&asOf={at}")).await;
    events(&mut watch, 5).await;
    change(&server, "2").await;
    let expect = ["ADDED m2", "MODIFIED m2", "MODIFIED m2", "MODIFIED m2", "DELETED m2"];
    assert_eq!(watch.brief(5).await, expect);
}

#[tokio::test]
async fn a_watch_of_the_past_ends_in_time_and_begins_at_a_time() {
    let server = forgetful().await;
    server.clock.advance(1000);
    change(&server, "1").await;
    server.clock.advance(1000);
    server.create("a", "m2", &[]).await;
    let check = async |query: &str, expect: &[&str]| {
        let path = format!("{MAPS}?watch=1&timeoutSeconds=1&{query}");
        assert_eq!(server.watch(&path).await.all().await, expect, "{query}");
    };
    check("asOf=2030-01-01T00:00:01Z", &["ADDED m2"]).await;
    check("asOf=2030-01-01T00:00:02Z", &[]).await;
    let all = ["ADDED m1", "MODIFIED m1", "MODIFIED m1", "MODIFIED m1", "DELETED m1", "ADDED m2"];
    check("asOf=2030-01-01T00:00:00.5Z", &all).await;
}
