//! Protobuf answers: objects, lists short and long, watches, refusals, metadata alone. Each says
//! what JSON says.

use http::Method;
use quorate_meta::Naming;
use quorate_schema::Graph;
use quorate_wire::protobuf::{Envelope, decode_message};
use serde_json::{Value, json};

use crate::harness::{Answer, Server};

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SVC: &str = "application/vnd.svc.protobuf";
/// Longer than what is kept while a list is counted.
const LONG_BYTES: usize = 3 * 1024 * 1024;

/// The tree in a body: its kind, and the message as the type with this neutral name.
fn read(body: &[u8], ty: &str) -> (String, Value) {
    let graph = Graph::builtin(Naming::Svc.names());
    let envelope = Envelope::read(body).unwrap();
    let value = decode_message(&graph, graph.type_named(ty).unwrap().id, envelope.raw).unwrap();
    let mut out = Vec::new();
    quorate_wire::json::write(&value, &mut out);
    (format!("{} {}", envelope.api_version, envelope.kind), serde_json::from_slice(&out).unwrap())
}

/// A tree without what is empty: protobuf has no absent texts, JSON leaves empty ones out.
fn dense(value: &Value) -> Value {
    let empty = |value: &Value| {
        matches!(value, Value::Null)
            || value == ""
            || value == 0
            || value.as_object().is_some_and(serde_json::Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    match value {
        Value::Object(map) => {
            let entries =
                map.iter().filter(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind"));
            let entries = entries.map(|(key, value)| (key.clone(), dense(value)));
            Value::Object(entries.filter(|(_, value)| !empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(dense).collect()),
        other => other.clone(),
    }
}

async fn get(server: &Server, path: &str, media: &str) -> Answer {
    let answer = server.get_as(path, media).await;
    assert_eq!(answer.header("content-type"), media.split(';').next().unwrap());
    answer
}

async fn check(server: &Server, path: &str, ty: &str, kind: &str) {
    let answer = get(server, path, SVC).await;
    let (found, tree) = read(&answer.body, ty);
    let json = server.get(path).await;
    assert_eq!((answer.status, found.as_str()), (json.status, kind), "{path}");
    assert_eq!(dense(&tree), dense(&json.json()), "{path}");
}

#[tokio::test]
async fn an_answer_says_what_its_json_says() {
    let server = Server::with_namespace().await;
    for name in ["m", "n"] {
        server.create("a", name, &[("x", "1")]).await;
    }
    check(&server, &format!("{MAPS}/m"), "core/v1.ConfigMap", "v1 ConfigMap").await;
    check(&server, "/api/v1/namespaces/a", "core/v1.Namespace", "v1 Namespace").await;
    check(&server, MAPS, "core/v1.ConfigMapList", "v1 ConfigMapList").await;
    check(
        &server,
        &format!("{MAPS}?labelSelector=x%3D2"),
        "core/v1.ConfigMapList",
        "v1 ConfigMapList",
    )
    .await;
    check(&server, &format!("{MAPS}/none"), "meta/v1.Status", "v1 Status").await;
    check(&server, "/apis", "meta/v1.APIGroupList", "v1 APIGroupList").await;
    check(&server, "/api", "meta/v1.APIVersions", " APIVersions").await;
    let kubernetes =
        get(&server, &format!("{MAPS}/m"), "application/vnd.kubernetes.protobuf").await;
    assert_eq!(read(&kubernetes.body, "core/v1.ConfigMap").0, "v1 ConfigMap");
}

#[tokio::test]
async fn a_page_brings_its_token() {
    let server = Server::with_namespace().await;
    for name in ["m", "n", "o"] {
        server.create("a", name, &[]).await;
    }
    let page = get(&server, &format!("{MAPS}?limit=2"), SVC).await;
    let (_, tree) = read(&page.body, "core/v1.ConfigMapList");
    assert_eq!(
        (tree["items"].as_array().unwrap().len(), &tree["metadata"]["remainingItemCount"]),
        (2, &json!(1))
    );
    let token = tree["metadata"]["continue"].as_str().unwrap();
    let rest = server.get(&format!("{MAPS}?limit=2&continue={token}")).await;
    assert_eq!(rest.names(), ["o"]);
}

#[tokio::test]
async fn a_long_list_arrives_whole() {
    let server = Server::with_namespace().await;
    let count = 8;
    for number in 0..count {
        let body = json!({"metadata": {"name": format!("m{number}")}, "data": {"k": "x".repeat(LONG_BYTES / count)}});
        assert_eq!(server.send(Method::POST, MAPS, &[], body.to_string()).await.status, 201);
    }
    let answer = get(&server, MAPS, SVC).await;
    assert!(answer.body.len() > LONG_BYTES);
    let (_, tree) = read(&answer.body, "core/v1.ConfigMapList");
    let items = tree["items"].as_array().unwrap();
    assert_eq!(items.len(), count);
    assert!(
        items.iter().all(|item| item["data"]["k"].as_str().unwrap().len() == LONG_BYTES / count)
    );
    // Objects of this size are not kept; their sizes are, for each version.
    assert_eq!(get(&server, MAPS, SVC).await.body, answer.body);
    for turn in ["1", "22"] {
        server.patch("m3", json!({"data": {"turn": turn}})).await;
        check(&server, MAPS, "core/v1.ConfigMapList", "v1 ConfigMapList").await;
    }
}

#[tokio::test]
async fn metadata_alone() {
    let server = Server::with_namespace().await;
    server.create("a", "m", &[("x", "1")]).await;
    let one = format!("{SVC};as=PartialObjectMetadata;g=meta.svc.io;v=v1");
    let (kind, tree) =
        read(&get(&server, &format!("{MAPS}/m"), &one).await.body, "meta/v1.PartialObjectMetadata");
    assert_eq!(
        (kind.as_str(), &tree["metadata"]["name"]),
        ("meta.svc.io/v1 PartialObjectMetadata", &json!("m"))
    );
    let many = format!("{SVC};as=PartialObjectMetadataList;g=meta.svc.io;v=v1");
    let (kind, tree) =
        read(&get(&server, MAPS, &many).await.body, "meta/v1.PartialObjectMetadataList");
    assert_eq!(kind, "meta.svc.io/v1 PartialObjectMetadataList");
    assert_eq!(tree["items"][0]["metadata"]["labels"], json!({"x": "1"}));
    let table = server.get_as(MAPS, &format!("{SVC};as=Table;g=meta.svc.io;v=v1")).await;
    assert_eq!(table.status, 406, "tables have no protobuf form");
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_made_of_frames() {
    let server = Server::with_namespace().await;
    let first = server.create("a", "m", &[]).await;
    server.create("a", "n", &[]).await;
    let path = format!("{MAPS}?watch=1&resourceVersion={first}&timeoutSeconds=1");
    let answer = server.get_as(&path, SVC).await;
    assert_eq!(answer.header("content-type"), format!("{SVC};stream=watch"));
    let (length, frame) = answer.body.split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, frame.len(), "one event, one frame");
    // `type`, then `object` with its `raw`: fields 1, 2 and 1, all of bytes.
    assert_eq!(&frame[..7], b"\x0a\x05ADDED");
    let start = frame.windows(4).position(|bytes| bytes == b"k8s\0").unwrap();
    let (kind, tree) = read(&frame[start..], "core/v1.ConfigMap");
    assert_eq!((kind.as_str(), &tree["metadata"]["name"]), ("v1 ConfigMap", &json!("n")));
}

/// The bodies of all frames of a watch that has ended, with the types of their events.
fn frames(mut body: &[u8], ty: &str) -> Vec<(String, Value)> {
    let mut events = Vec::new();
    while let Some((length, rest)) = body.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        let kind = String::from_utf8_lossy(&frame[2..2 + usize::from(frame[1])]).into_owned();
        let start = frame.windows(4).position(|bytes| bytes == b"k8s\0").unwrap();
        events.push((kind, read(&frame[start..], ty).1));
        body = rest;
    }
    events
}

#[tokio::test]
async fn what_is_kept_is_never_stale() {
    let server = Server::with_namespace().await;
    for name in ["m", "n"] {
        server.create("a", name, &[("x", "1")]).await;
    }
    let [one, both] = [format!("{MAPS}/m"), MAPS.to_owned()];
    for turn in 0..3 {
        // The first read makes the message, the second one finds it.
        for _ in 0..2 {
            check(&server, &both, "core/v1.ConfigMapList", "v1 ConfigMapList").await;
            check(&server, &one, "core/v1.ConfigMap", "v1 ConfigMap").await;
        }
        let patched = server.patch("m", json!({"data": {"turn": turn.to_string()}})).await;
        let old = format!("{MAPS}?resourceVersion={patched}&resourceVersionMatch=Exact&limit=9");
        check(&server, &both, "core/v1.ConfigMapList", "v1 ConfigMapList").await;
        // A dry run answers with an object that is nowhere stored, under a version that is.
        let body = json!({"metadata": {"name": "m"}, "data": {"dry": "run"}}).to_string();
        let dry = format!("{one}?dryRun=All");
        let answer = server.send(Method::PUT, &dry, &[("accept", SVC)], body).await;
        assert_eq!(read(&answer.body, "core/v1.ConfigMap").1["data"], json!({"dry": "run"}));
        check(&server, &one, "core/v1.ConfigMap", "v1 ConfigMap").await;
        server.patch("m", json!({"data": {"later": turn.to_string()}})).await;
        check(&server, &both, "core/v1.ConfigMapList", "v1 ConfigMapList").await;
        // An older state after a newer one has been kept.
        check(&server, &old, "core/v1.ConfigMapList", "v1 ConfigMapList").await;
        check(&server, &one, "core/v1.ConfigMap", "v1 ConfigMap").await;
    }
    let text = server.get("/metrics").await.text();
    let number = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert!(number("quorate_protobuf_cache_lookups_total{result=\"hit\"}") >= 9, "{text}");
    assert!(number("quorate_protobuf_cache_lookups_total{result=\"miss\"}") >= 8);
    assert!(number("quorate_protobuf_cache_size_bytes") > 0);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_stops_to_match_is_told_as_it_matched() {
    let server = Server::with_namespace().await;
    let first = server.create("a", "m", &[("x", "1")]).await;
    let last = server.patch("m", json!({"metadata": {"labels": {"x": "2"}}})).await;
    let watch =
        |query: &str| format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={first}{query}");
    let check = async |query: &str, expect: &str, label: &str| {
        let answer = server.get_as(&watch(query), SVC).await;
        let events = frames(&answer.body, "core/v1.ConfigMap");
        let [(kind, object)] = &events[..] else { panic!("{events:?}") };
        let metadata = &object["metadata"];
        let found = (kind.as_str(), &metadata["labels"]["x"], &metadata["resourceVersion"]);
        assert_eq!(found, (expect, &json!(label), &json!(last)), "{query}");
    };
    // Both are told with the same revision, and only one of them is the version of it.
    for _ in 0..2 {
        check("&labelSelector=x%3D1", "DELETED", "1").await;
        check("", "MODIFIED", "2").await;
        check("&labelSelector=x%3D2", "ADDED", "2").await;
    }
}

#[tokio::test]
async fn each_version_has_a_message_of_its_own() {
    let server = Server::with_namespace().await;
    let scalers = |version: &str| {
        format!("/apis/autoscaling/{version}/namespaces/a/horizontalpodautoscalers")
    };
    let scaler = json!({"metadata": {"name": "h"}, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "minReplicas": 1, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70,
    }});
    let answer = server.send(Method::POST, &scalers("v1"), &[], scaler.to_string()).await;
    assert_eq!(answer.status, 201);
    for _ in 0..2 {
        for version in ["v1", "v2"] {
            let (list, one) = (scalers(version), format!("{}/h", scalers(version)));
            let ty = format!("autoscaling/{version}.HorizontalPodAutoscaler");
            let kind = format!("autoscaling/{version} HorizontalPodAutoscaler");
            check(&server, &one, &ty, &kind).await;
            check(&server, &list, &format!("{ty}List"), &format!("{kind}List")).await;
        }
    }
}
