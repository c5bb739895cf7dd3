//! Watches that begin with the objects that are there.

use serde_json::json;
use tokio::time::{Duration, advance};

use crate::watch::maps;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SYNC: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::test]
async fn from_nothing_existing_objects_come_first() {
    let server = maps(&["c", "a", "b"]).await;
    for start in ["", "&resourceVersion=", "&resourceVersion=0", "&limit=1"] {
        let mut watch = server.watch(&format!("{MAPS}?watch=1{start}")).await;
        assert_eq!(watch.brief(3).await, ["ADDED a", "ADDED b", "ADDED c"], "{start}");
    }
    let mut watch = server.watch(&format!("{MAPS}?watch=1")).await;
    watch.brief(3).await;
    server.patch("a", json!({"data": {"k": "w"}})).await;
    server.create("a", "d", &[]).await;
    server.delete("c").await;
    assert_eq!(watch.brief(3).await, ["MODIFIED a", "ADDED d", "DELETED c"]);
}

#[tokio::test]
async fn a_synthetic_event_is_the_object() {
    let server = maps(&["a"]).await;
    let mut watch = server.watch(&format!("{MAPS}?watch=true")).await;
    assert_eq!(
        watch.next().await.unwrap()["object"],
        server.get(&format!("{MAPS}/a")).await.json()
    );
}

#[tokio::test]
async fn initial_events_end_with_a_bookmark() {
    let server = maps(&["a", "b"]).await;
    let version = server.get(MAPS).await.version();
    for start in
        ["", "&resourceVersion=0", "&resourceVersion=1", &format!("&resourceVersion={version}")]
    {
        let mut watch = server.watch(&format!("{MAPS}?{SYNC}{start}")).await;
        assert_eq!(watch.brief(2).await, ["ADDED a", "ADDED b"], "{start}");
        let mark = watch.next().await.unwrap();
        let metadata = json!({"annotations": {"svc.io/initial-events-end": "true"}, "resourceVersion": version});
        let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata});
        assert_eq!(mark, json!({"type": "BOOKMARK", "object": object}));
    }
    let mut selected =
        server.watch(&format!("{MAPS}?{SYNC}&fieldSelector=metadata.name%3Db")).await;
    assert_eq!(selected.brief(2).await, ["ADDED b", "BOOKMARK -"]);
    let off = format!(
        "{MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    );
    assert!(server.watch(&off).await.all().await.is_empty());
    server.patch("a", json!({"data": {"k": "w"}})).await;
    assert_eq!(
        server.watch(&format!("{off}&resourceVersion={version}")).await.all().await,
        ["MODIFIED a"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_also_between_the_objects_that_come_first() {
    let server = maps(&["a", "b", "c"]).await;
    for name in ["a", "b", "c"] {
        server.patch(name, json!({"data": {"k": "v".repeat(150_000)}})).await;
    }
    let path = format!("{MAPS}?{SYNC}&timeoutSeconds=5");
    let begun = async || {
        let mut watch = server.watch(&path).await;
        assert_eq!(watch.brief(1).await, ["ADDED a"]);
        watch
    };
    assert_eq!(begun().await.all().await, ["ADDED b", "ADDED c", "BOOKMARK -"]);
    let mut late = begun().await;
    advance(Duration::from_secs(6)).await;
    assert!(late.all().await.is_empty());
    let mut drained = begun().await;
    server.api.lifecycle.end_watches();
    assert!(drained.all().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn watches_that_begin_together_share_what_comes_first() {
    let server = maps(&["a", "b", "c"]).await;
    for name in ["a", "b", "c"] {
        server.patch(name, json!({"data": {"k": "v".repeat(150_000)}})).await;
    }
    let shared = async || {
        let metrics = server.get("/metrics").await.text();
        let mut lines = metrics.lines();
        let line =
            lines.find(|line| line.starts_with("quorate_watch_lines_total{source=\"shared\""));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or_default()
    };
    let newest = format!("{MAPS}?{SYNC}");
    let mut first = server.watch(&newest).await;
    assert_eq!(first.brief(1).await, ["ADDED a"]);
    let mut second = server.watch(&newest).await;
    assert_eq!(second.brief(4).await, ["ADDED a", "ADDED b", "ADDED c", "BOOKMARK -"]);
    assert_eq!(shared().await, 0);
    assert_eq!(first.brief(3).await, ["ADDED b", "ADDED c", "BOOKMARK -"]);
    assert_eq!(shared().await, 2);
    // Writes elsewhere do not matter; one in the collection makes another state.
    for (written, expect) in [("elsewhere", 4), ("a", 4)] {
        let mut first = server.watch(&newest).await;
        assert_eq!(first.brief(1).await, ["ADDED a"]);
        if written == "a" {
            server.patch("a", json!({"data": {"k": "w"}})).await;
        } else {
            server.namespace(written).await;
            server.create(written, "a", &[]).await;
        }
        let mut second = server.watch(&newest).await;
        let object = second.next().await.unwrap();
        assert_eq!(object["object"]["data"]["k"] == "w", written == "a");
        assert_eq!(second.brief(3).await, ["ADDED b", "ADDED c", "BOOKMARK -"]);
        assert_eq!(first.brief(3).await, ["ADDED b", "ADDED c", "BOOKMARK -"]);
        assert_eq!(shared().await, expect, "{written}");
    }
}
