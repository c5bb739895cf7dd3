//! Which way a list takes to what it selects.

use std::sync::Arc;

use http::Method;
use quorate_store::{MemoryOptions, MemoryStore};
use serde_json::json;

use super::{ALWAYS, OBJECTS, count, sample};
use crate::harness::{Server, TestClock};

const MAPS: &str = "/api/v1/configmaps";

async fn server() -> Server {
    let clock = Arc::<TestClock>::default();
    let store = Arc::new(MemoryStore::new(MemoryOptions::new(clock.clone())));
    let server = Server::with_indexes(store, clock, ALWAYS);
    server.namespace("a").await;
    server.namespace("b").await;
    server
}

/// Lists that were looked up by a label, and objects that were read for them.
async fn by(server: &Server, index: &str) -> (u64, u64) {
    let labels = format!("{{group=\"\",resource=\"configmaps\",index=\"{index}\"}}");
    let lists = sample(server, &format!("apiserver_cache_list_total{labels}")).await;
    let objects =
        sample(server, &format!("apiserver_cache_list_fetched_objects_total{labels}")).await;
    (lists, objects)
}

#[tokio::test]
async fn the_index_with_the_fewest_candidates() {
    let server = server().await;
    for number in 0..OBJECTS {
        let (wide, narrow) = ((number % 3).to_string(), (number % 100).to_string());
        // In one namespace the other label is the rarer one.
        let namespace = if number % 3 == 1 { "b" } else { "a" };
        let labels = [("wide", &*wide), ("narrow", &*narrow), ("one", "1")];
        server.create(namespace, &format!("m{number:04}"), &labels).await;
    }
    let list = async |path: &str, selector: &str, expect: usize| {
        let answer = server.get(&format!("{path}?labelSelector={selector}")).await;
        assert_eq!(answer.names().len(), expect, "{selector}");
    };
    let both = "one%3D1,wide%3D1,narrow+in+(4,7)";
    list(MAPS, both, 14).await;
    assert_eq!(by(&server, "").await, (1, OBJECTS as u64));
    assert_eq!(count(&server, "scanned").await, 1);
    for lists in 1..=2 {
        list(MAPS, both, 14).await;
        assert_eq!(by(&server, "l:narrow").await, (lists, 14 * lists));
    }
    let of_a = "/api/v1/namespaces/a/configmaps";
    list(of_a, both, 0).await;
    assert_eq!(by(&server, "l:wide").await.0, 1, "no candidate at all");
    list(MAPS, "one%3D1,narrow%3D4", 21).await;
    assert_eq!(by(&server, "l:narrow").await.0, 3);
    assert_eq!(by(&server, "l:one").await.0, 0);
    assert_eq!(sample(&server, "quorate_selector_indexes").await, 3);
    assert_eq!(sample(&server, "quorate_selector_index_builds_total{result=\"built\"}").await, 3);
    assert!(sample(&server, "quorate_selector_index_size_bytes").await > 2 * 50 * OBJECTS as u64);
    assert_eq!(count(&server, "used").await, 4);
}

#[tokio::test]
async fn a_name_is_looked_up_and_a_namespace_alone_is_read() {
    let server = server().await;
    for number in 0..60 {
        let namespace = if number < 50 { "a" } else { "b" };
        server.create(namespace, &format!("m{number:02}"), &[]).await;
    }
    server.create("b", "m07", &[("x", "1")]).await;
    let mut read = 0;
    let mut check = async |path: &str, fields: &str, expect: &[&str], objects: u64| {
        let answer = server.get(&format!("{path}?fieldSelector={fields}")).await;
        assert_eq!(answer.names(), expect, "{fields}");
        let all = by(&server, "").await.1;
        assert_eq!(all - read, objects, "{fields}");
        read = all;
    };
    let of_a = "/api/v1/namespaces/a/configmaps";
    check(of_a, "metadata.name%3Dm07", &["m07"], 1).await;
    check(of_a, "metadata.name%3Dm55", &[], 0).await;
    check(MAPS, "metadata.name%3Dm07", &["m07", "m07"], 2).await;
    check(MAPS, "metadata.name%3Dm07&labelSelector=x", &["m07"], 2).await;
    check(MAPS, "metadata.name%3Dm07,metadata.namespace%3Db", &["m07"], 1).await;
    check(of_a, "metadata.name%3Dm07,metadata.namespace%3Db", &[], 1).await;
    check(MAPS, "metadata.namespace%3Db&labelSelector=x", &["m07"], 11).await;
    let first = server.get(&format!("{MAPS}?fieldSelector=metadata.name%3Dm07&limit=1")).await;
    let token = first.json()["metadata"]["continue"].as_str().unwrap().to_owned();
    // The next page shows the same state.
    let patch = json!({"metadata": {"labels": {"x": "2"}}}).to_string();
    let path = "/api/v1/namespaces/b/configmaps/m07";
    let headers = [("content-type", "application/merge-patch+json")];
    assert_eq!(server.send(Method::PATCH, path, &headers, patch).await.status, 200);
    let next = format!("{MAPS}?fieldSelector=metadata.name%3Dm07&limit=1&continue={token}");
    let next = server.get(&next).await;
    assert_eq!(next.names(), ["m07"]);
    assert_eq!(next.json()["items"][0]["metadata"]["labels"], json!({"x": "1"}));
    let gone = format!("{MAPS}?fieldSelector=metadata.name%3Dm07");
    let watch = server.watch(&format!("{gone}&watch=1&timeoutSeconds=1")).await.all().await;
    assert_eq!(watch, ["ADDED m07", "ADDED m07"]);
}
