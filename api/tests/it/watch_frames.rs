//! Watch events in protobuf and CBOR: each says what its line in JSON says, for every kind.

use quorate_schema::{Graph, TypeId};
use quorate_store::{Operation, Txn};
use quorate_wire::protobuf::{Envelope, decode_message};
use quorate_wire::{cbor, stored};
use serde_json::{Value, json};

use crate::harness::Server;

const MAPS: &str = "/api/v1/namespaces/a/configmaps";
const SYNC: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const METADATA: &str = ";as=PartialObjectMetadata;g=meta.svc.io;v=v1";
/// The first bytes of every event in a CBOR sequence: the self-described tag, a map of two, and the
/// first key.
const EVENT: &[u8] = b"\xd9\xd9\xf7\xa2\x44type";

async fn server() -> Server {
    Server::with_gates("CBORServingAndStorage=true").await
}

/// The events of a sequence of CBOR items.
fn items(body: &[u8]) -> Vec<Value> {
    let starts: Vec<usize> = (0..body.len()).filter(|at| body[*at..].starts_with(EVENT)).collect();
    assert_eq!(starts.first().copied().unwrap_or_default(), 0, "{}", body.escape_ascii());
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    let items =
        starts.iter().zip(ends).map(|(start, end)| cbor::parse(&body[*start..end]).unwrap());
    items.map(|item| serde_json::from_slice(&quorate_wire::json::to_vec(&item)).unwrap()).collect()
}

/// The events of frames of protobuf, of objects of this type.
fn frames(graph: &Graph, ty: TypeId, mut rest: &[u8]) -> Vec<Value> {
    let mut events = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (frame, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        rest = after;
        // `type`, then `object` with its `raw`: fields 1, 2 and 1, all of bytes.
        assert_eq!(frame[0], 0x0a);
        let event = String::from_utf8_lossy(&frame[2..2 + usize::from(frame[1])]);
        let start = frame.windows(4).position(|bytes| bytes == b"k8s\0").unwrap();
        let envelope = Envelope::read(&frame[start..]).unwrap();
        let ty = match envelope.kind {
            "Status" | "PartialObjectMetadata" => {
                graph
                    .type_named(&format!("meta/v1.{}", envelope.kind))
                    .expect("a type of the machinery")
                    .id
            }
            _ => ty,
        };
        let mut object = decode_message(graph, ty, envelope.raw).unwrap();
        object.set_at(&["apiVersion"], envelope.api_version);
        object.set_at(&["kind"], envelope.kind);
        let object: Value = serde_json::from_slice(&quorate_wire::json::to_vec(&object)).unwrap();
        events.push(json!({"type": event, "object": object}));
    }
    assert!(rest.is_empty(), "a frame is cut off");
    events
}

/// A tree without what is empty: protobuf has no absent texts and numbers.
fn dense(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    };
    match value {
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), dense(value)));
            Value::Object(entries.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(dense).collect()),
        other => other.clone(),
    }
}

/// What a watch tells of objects of this type in JSON; the two other forms tell the same.
async fn check(server: &Server, path: &str, shape: &str, ty: TypeId) -> Vec<Value> {
    let lines = server.get_as(path, &format!("application/json{shape}")).await;
    assert_eq!(lines.status, 200, "{path}: {}", lines.text());
    let told: Vec<Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sequence = server.get_as(path, &format!("application/cbor{shape}")).await;
    assert_eq!(items(&sequence.body), told, "{path}{shape}");
    let framed = server.get_as(path, &format!("application/vnd.svc.protobuf{shape}")).await;
    let framed: Vec<Value> =
        frames(server.api.catalogue.load().graph(), ty, &framed.body).iter().map(dense).collect();
    assert_eq!(framed, told.iter().map(dense).collect::<Vec<_>>(), "{path}{shape}");
    told
}

fn types(events: &[Value]) -> String {
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    types.join(" ")
}

fn type_of_maps(server: &Server) -> TypeId {
    server.api.catalogue.load().find("", "v1", "configmaps").unwrap().ty()
}

#[tokio::test(start_paused = true)]
async fn every_type_of_event_is_there_in_every_form() {
    let server = server().await;
    server.create("a", "m", &[]).await;
    let first = server.create("a", "n", &[("x", "1")]).await;
    server.create("a", "o", &[]).await;
    server.patch("n", json!({"data": {"k": "w"}})).await;
    server.delete("m").await;
    let ty = type_of_maps(&server);
    for shape in ["", METADATA] {
        let since = format!(
            "{MAPS}?watch=1&resourceVersion={first}&allowWatchBookmarks=true&timeoutSeconds=1"
        );
        assert_eq!(
            types(&check(&server, &since, shape, ty).await),
            "ADDED MODIFIED DELETED BOOKMARK",
            "{shape}"
        );
        let synced = check(&server, &format!("{MAPS}?{SYNC}&timeoutSeconds=1"), shape, ty).await;
        assert_eq!(types(&synced), "ADDED ADDED BOOKMARK", "{shape}");
        let annotations = &synced[2]["object"]["metadata"]["annotations"];
        assert_eq!(*annotations, json!({"svc.io/initial-events-end": "true"}), "{shape}");
        let selected = format!("{since}&labelSelector=x%3D1");
        assert_eq!(
            types(&check(&server, &selected, shape, ty).await),
            "MODIFIED BOOKMARK",
            "{shape}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_gone_is_told_in_every_form() {
    let server = server().await;
    server.create("a", "m", &[]).await;
    server.clock.advance(3_600_000);
    server.create("a", "n", &[]).await;
    server.create("a", "o", &[]).await;
    for shape in ["", METADATA] {
        let path = format!("{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1");
        let told = check(&server, &path, shape, type_of_maps(&server)).await;
        assert_eq!(types(&told), "ERROR", "{shape}");
        let status = &told[0]["object"];
        assert_eq!(
            (&status["kind"], &status["code"], &status["reason"]),
            (&json!("Status"), &json!(410), &json!("Expired"))
        );
    }
}

/// Puts an object into the store, of each kind that is stored, that has nothing but metadata.
async fn one_of_each(server: &Server) {
    let mut operations = Vec::new();
    for resource in server.api.catalogue.load().iter().filter(|resource| resource.is_stored_form())
    {
        let mut metadata = json!({"name": "o", "uid": "u", "labels": {"x": "1"}});
        metadata["creationTimestamp"] = json!("2030-01-01T00:00:00Z");
        if resource.namespaced {
            metadata["namespace"] = json!("a");
        }
        let value = stored::encode(&json!({ "metadata": metadata }).into(), &[]).unwrap();
        operations.push(Operation::Put { key: resource.key(Some("a"), "o"), value });
    }
    server
        .api
        .store
        .txn(Txn { conditions: Vec::new(), operations, ..Txn::default() })
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_kind_is_watched_in_every_form() {
    let server = server().await;
    one_of_each(&server).await;
    let mut kinds = 0;
    for resource in server.api.catalogue.load().iter().filter(|resource| resource.serves("watch")) {
        let root = if resource.group.is_empty() { "/api" } else { "/apis" };
        let path =
            format!("{root}/{}/{}?{SYNC}&timeoutSeconds=1", resource.api_version, resource.plural);
        let told = check(&server, &path, "", resource.ty()).await;
        let (mark, added) = told.split_last().unwrap();
        assert!(
            !added.is_empty() && added.iter().all(|event| event["type"] == "ADDED"),
            "{path}: {told:?}"
        );
        assert_eq!(mark["type"], "BOOKMARK", "{path}");
        for event in &told {
            let object = &event["object"];
            let found = (&object["apiVersion"], &object["kind"]);
            assert_eq!(found, (&json!(resource.api_version), &json!(resource.kind)), "{path}");
        }
        kinds += 1;
    }
    assert!(kinds > 40, "{kinds} kinds");
}
