//! Watches: where they start, which events they send, how they end. What comes first is in
//! `watch_initial`.

use bytes::Bytes;
use quorate_meta::Naming;
use quorate_store::{Operation, Retention, Txn};
use serde_json::json;
use tokio::time::{Duration, timeout};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SYNC: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

/// A server with ConfigMaps of these names in the namespace `a`.
pub(crate) async fn maps(names: &[&str]) -> Server {
    let server = Server::with_namespace().await;
    for name in names {
        server.create("a", name, &[("set", "x")]).await;
    }
    server
}

#[tokio::test]
async fn a_timeout_may_be_any_number() {
    let server = maps(&["a"]).await;
    for seconds in ["0", "9223372036854775807"] {
        let mut watch = server.watch(&format!("{MAPS}?watch=1&timeoutSeconds={seconds}")).await;
        assert_eq!(watch.brief(1).await, ["ADDED a"], "{seconds}");
    }
    // What lies in the past is over.
    assert!(
        server.watch(&format!("{MAPS}?watch=1&timeoutSeconds=-1")).await.all().await.is_empty()
    );
}

#[tokio::test]
async fn from_a_version_only_what_follows() {
    let server = maps(&["a"]).await;
    let version = server.get(MAPS).await.version();
    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    let created = server.create("a", "b", &[]).await;
    let changed = server.patch("b", json!({"data": {"k": "w"}})).await;
    server.delete("b").await;
    let mut events = Vec::new();
    for _ in 0..3 {
        events.push(watch.next().await.unwrap());
    }
    let versions: Vec<_> = events
        .iter()
        .map(|e| e["object"]["metadata"]["resourceVersion"].as_str().unwrap())
        .collect();
    assert_eq!(versions[..2], [created.as_str(), changed.as_str()]);
    assert!(versions[2].parse::<u64>().unwrap() > changed.parse().unwrap());
    assert_eq!(events[2]["type"], "DELETED");
    assert_eq!(events[2]["object"]["data"]["k"], "w");
    for (index, event) in events.iter().enumerate() {
        let version = event["object"]["metadata"]["resourceVersion"].as_str().unwrap();
        let mut again = server
            .watch(&format!("{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1"))
            .await;
        assert_eq!(again.all().await.len(), 2 - index);
    }
}

#[tokio::test]
async fn selectors_make_transitions() {
    let server = Server::with_namespace().await;
    server.create("a", "a", &[]).await;
    let version = server.get(MAPS).await.version();
    let mut watch = server
        .watch(&format!("{MAPS}?watch=1&labelSelector=x%3D1&resourceVersion={version}"))
        .await;
    let label = async |value: serde_json::Value| {
        server.patch("a", json!({"metadata": {"labels": {"x": value}}})).await
    };
    label(json!("1")).await;
    server.patch("a", json!({"data": {"k": "in"}})).await;
    let left = label(json!("2")).await;
    server.patch("a", json!({"data": {"k": "out"}})).await;
    label(json!("1")).await;
    label(json!(null)).await;
    server.create("a", "b", &[("x", "1")]).await;
    server.delete("b").await;
    server.create("a", "c", &[("x", "2")]).await;
    server.delete("c").await;
    server.create("a", "d", &[("x", "1")]).await;
    assert_eq!(watch.brief(2).await, ["ADDED a", "MODIFIED a"]);
    let gone = watch.next().await.unwrap();
    assert_eq!(
        (&gone["type"], &gone["object"]["metadata"]["labels"]),
        (&json!("DELETED"), &json!({"x": "1"}))
    );
    assert_eq!(gone["object"]["metadata"]["resourceVersion"], left.as_str());
    assert_eq!(watch.brief(5).await, ["ADDED a", "DELETED a", "ADDED b", "DELETED b", "ADDED d"]);
}

#[tokio::test]
async fn what_is_refused() {
    let server = maps(&["a"]).await;
    let check = async |query: &str, status: u16, expect: &str| {
        let answer = server.get(&format!("{MAPS}?watch=1&timeoutSeconds=1&{query}")).await;
        let message = answer.json()["message"].as_str().unwrap_or_default().to_owned();
        let message = message
            .strip_prefix("ListOptions.meta.svc.io \"\" is invalid: ")
            .unwrap_or(&message)
            .to_owned();
        assert_eq!((answer.status.as_u16(), message.as_str()), (status, expect), "{query}");
    };
    let requires = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
    let only = |value: &str| {
        format!(
            "resourceVersionMatch: Unsupported value: \"{value}\": supported values: \"NotOlderThan\""
        )
    };
    check("sendInitialEvents=true", 422, requires).await;
    check("sendInitialEvents=false", 422, requires).await;
    let both = format!("[{requires}, {}]", only("Exact"));
    check("sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1", 422, &both).await;
    let unless = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    check("resourceVersionMatch=NotOlderThan", 422, unless).await;
    check("resourceVersionMatch=Newest", 422, &format!("[{unless}, {}]", only("Newest"))).await;
    check("labelSelector=x%20in", 400, "unable to parse requirement: found '' expected: '('").await;
    let answer = server.get(&format!("{MAPS}?watch=1&resourceVersion=abc")).await;
    assert_eq!(answer.status, 400);
}

#[tokio::test]
async fn a_version_that_is_gone_is_an_error_event() {
    let server = Server::with(Naming::Svc, Retention { time_ms: 1000, ..Retention::default() });
    server.namespace("a").await;
    server.create("a", "a", &[]).await;
    server.clock.advance(10_000);
    server.create("a", "b", &[]).await;
    server.create("a", "c", &[]).await;
    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion=1")).await;
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(event["object"]["reason"], "Expired");
    assert_eq!(watch.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_future_version_waits_until_the_end() {
    let server = maps(&["a"]).await;
    let path = format!("{MAPS}?watch=1&resourceVersion=9000000000000000000&timeoutSeconds=2");
    let mut watch = server.watch(&path).await;
    server.patch("a", json!({"data": {"k": "w"}})).await;
    assert!(watch.all().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_with_time_and_before_the_end() {
    let server = maps(&["a"]).await;
    let path =
        format!("{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion=2");
    let mut watch = server.watch(&path).await;
    server.namespace("elsewhere").await;
    let version = server.get(MAPS).await.version();
    let mark = watch.next().await.unwrap();
    assert_eq!(
        (&mark["type"], &mark["object"]["metadata"]),
        (&json!("BOOKMARK"), &json!({"resourceVersion": version}))
    );
    server.namespace("further").await;
    assert_eq!(watch.all().await, ["BOOKMARK -"]);
}

#[tokio::test(start_paused = true)]
async fn no_bookmark_speaks_of_a_future_version() {
    let server = maps(&["a"]).await;
    let version = server.get(MAPS).await.version().parse::<u64>().unwrap() + 1;
    let path = format!(
        "{MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=100&resourceVersion={version}"
    );
    assert!(server.watch(&path).await.all().await.is_empty(), "it never gets there");
    let mut watch = server.watch(&path).await;
    let silence = timeout(Duration::from_secs(80), watch.next()).await;
    assert!(silence.is_err(), "{silence:?}");
    server.namespace("b").await;
    let mark = watch.next().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    assert_eq!(mark["object"]["metadata"], json!({"resourceVersion": version.to_string()}));
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn what_cannot_be_written_is_an_error_event_after_the_rest() {
    let server = maps(&["a"]).await;
    let version = server.get(MAPS).await.version();
    server.create("a", "b", &[("set", "x")]).await;
    let put = |name: &str, value: Bytes| {
        let key = format!("o/core/configmaps/a/{name}").into();
        Operation::Put { key, value }
    };
    let good = server.api.store.snapshot().get(b"o/core/configmaps/a/b").unwrap().value.clone();
    let operations = vec![
        put("bada", good),
        put("badb", Bytes::from_static(b"\xffnothing that was ever written")),
    ];
    server
        .api
        .store
        .txn(Txn { conditions: Vec::new(), operations, ..Txn::default() })
        .await
        .unwrap();
    server.create("a", "c", &[("set", "x")]).await;
    let check = async |query: &str, expect: &[&str]| {
        let mut watch = server.watch(&format!("{MAPS}?watch=1&{query}")).await;
        assert_eq!(watch.brief(expect.len()).await, expect, "{query}");
        let end = watch.next().await.unwrap();
        assert_eq!(
            (&end["type"], &end["object"]["kind"]),
            (&json!("ERROR"), &json!("Status")),
            "{query}"
        );
        assert_eq!(
            (&end["object"]["code"], &end["object"]["reason"]),
            (&json!(500), &json!("InternalError"))
        );
        assert_eq!(watch.next().await, None, "{query}");
    };
    // The value of `bada` is that of `b`, with its name.
    check("resourceVersion=0", &["ADDED a", "ADDED b", "ADDED b"]).await;
    check("labelSelector=set%3Dx", &["ADDED a", "ADDED b", "ADDED b"]).await;
    // Of a transaction all is told or nothing.
    check(&format!("resourceVersion={version}"), &["ADDED b"]).await;
    check(&format!("labelSelector=set%3Dx&resourceVersion={version}"), &["ADDED b"]).await;
}

#[tokio::test]
async fn draining_ends_watches() {
    let server = maps(&["a"]).await;
    let mut watch = server.watch(&format!("{MAPS}?watch=1")).await;
    assert_eq!(watch.brief(1).await, ["ADDED a"]);
    server.api.lifecycle.end_watches();
    assert_eq!(watch.next().await, None);
}

#[tokio::test]
async fn all_namespaces_one_name_and_the_old_paths() {
    let server = maps(&["a", "b"]).await;
    server.namespace("0").await;
    let mut all = server.watch("/api/v1/configmaps?watch=1").await;
    all.brief(2).await;
    let mut old = server.watch("/api/v1/watch/namespaces/a/configmaps/b").await;
    let mut none = server.watch("/api/v1/watch/namespaces/0/configmaps?timeoutSeconds=1").await;
    assert_eq!(old.brief(1).await, ["ADDED b"]);
    server.patch("a", json!({"data": {"k": "w"}})).await;
    server.create("0", "z", &[]).await;
    server.delete("b").await;
    assert_eq!(all.brief(3).await, ["MODIFIED a", "ADDED z", "DELETED b"]);
    assert_eq!(old.brief(1).await, ["DELETED b"]);
    assert_eq!(none.all().await, ["ADDED z"]);
    let answer =
        server.get("/api/v1/watch/namespaces/a/configmaps/b?fieldSelector=metadata.name%3Da").await;
    assert_eq!(
        answer.json()["message"],
        "fieldSelector metadata.name doesn't match requested name"
    );
    assert_eq!(server.get(&format!("{MAPS}/a?watch=1")).await.json()["kind"], "ConfigMap");
}

#[tokio::test]
async fn watchers_agree_and_a_slow_one_misses_nothing() {
    let server = Server::with_namespace().await;
    let mut watches = Vec::new();
    for _ in 0..3 {
        watches.push(server.watch(&format!("{MAPS}?watch=1&resourceVersion=1")).await);
    }
    server.create("a", "m", &[]).await;
    for round in 0..200 {
        server.patch("m", json!({"data": {"k": round.to_string()}})).await;
    }
    let mut seen = Vec::new();
    for watch in &mut watches {
        let mut versions = Vec::new();
        for _ in 0..201 {
            versions
                .push(watch.next().await.unwrap()["object"]["metadata"]["resourceVersion"].clone());
        }
        seen.push(versions);
    }
    assert_eq!(seen[0], (2..=202).map(|v: u64| json!(v.to_string())).collect::<Vec<_>>());
    assert!(seen[0] == seen[1] && seen[1] == seen[2]);
}

#[tokio::test(start_paused = true)]
async fn a_state_that_does_not_come_ends_the_stream() {
    let server = maps(&["a"]).await;
    for (seconds, waited) in [(1, 500), (60, 3000)] {
        let begin = tokio::time::Instant::now();
        let query = format!("{SYNC}&resourceVersion=1000000&timeoutSeconds={seconds}");
        let mut watch = server.watch(&format!("{MAPS}?{query}")).await;
        let event = watch.next().await.unwrap();
        assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(504)));
        assert_eq!(event["object"]["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
        assert_eq!(watch.next().await, None);
        assert_eq!(begin.elapsed(), Duration::from_millis(waited));
    }
}
