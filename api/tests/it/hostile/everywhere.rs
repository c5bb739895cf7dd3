//! Long lists and maps at every place that the schema knows: one request for each, with the rest of
//! its object as small as it goes.
//!
//! A part of them is tried, all of them with `HOSTILE_ALL=1`, which takes some minutes.
//! `HOSTILE_BYTES` prints how long bodies of that size take in every encoding, which is a second at
//! most.

use std::collections::HashSet;

use http::Method;
use quorate_schema::{Field, Graph, KindDef, Scalar, Shape, TypeId};
use quorate_wire::{cbor, protobuf, yaml};
use serde_json::{Map, Value, json};

use super::cases::{BYTES, MOST_MS};
use super::growth;
use crate::harness::Server;

/// Elements of the shorter of the two lists that are compared.
const SMALL: usize = 300;
/// Of so many places one is tried, unless this variable is set.
const EVERY: usize = 6;
const ALL: &str = "HOSTILE_ALL";

/// A place in a kind for a long list or map.
struct Place<'g> {
    kind: &'g KindDef,
    /// The fields that lead to it; lists on the way have one element.
    path: Vec<&'g Field>,
}

impl Place<'_> {
    fn name(&self) -> String {
        let path: Vec<&str> = self.path.iter().map(|field| field.name.as_ref()).collect();
        format!("{}.{}", self.kind.kind, path.join("."))
    }
}

/// The places of every kind, each field of each type once.
fn places(graph: &Graph) -> Vec<Place<'_>> {
    let (mut places, mut seen) = (Vec::new(), HashSet::new());
    for kind in
        graph.kinds().iter().filter(|kind| kind.storage_version.is_some() && !kind.off_by_default)
    {
        if kind.kind != "CustomResourceDefinition" && kind.has_verb("create") {
            find(graph, kind, kind.ty, &mut Vec::new(), &mut seen, &mut places);
        }
    }
    places
}

fn find<'g>(
    graph: &'g Graph,
    kind: &'g KindDef,
    ty: TypeId,
    path: &mut Vec<&'g Field>,
    seen: &mut HashSet<(TypeId, &'g str)>,
    places: &mut Vec<Place<'g>>,
) {
    for field in &graph.ty(ty).properties {
        if field.name == "status"
            || field.name == "managedFields"
            || !seen.insert((ty, field.name.as_ref()))
        {
            continue;
        }
        path.push(field);
        if matches!(field.shape, Shape::List(_) | Shape::Map(_)) {
            places.push(Place { kind, path: path.clone() });
        }
        if let Some(inner) = field.shape.message().filter(|id| graph.ty(*id).mixed.is_none()) {
            find(graph, kind, inner, path, seen, places);
        }
        path.pop();
    }
}

/// The smallest value of a form that sets what is required; texts end in `mark`.
fn smallest(graph: &Graph, shape: &Shape, mark: &str, depth: usize) -> Value {
    match shape {
        Shape::Scalar(scalar) => match scalar {
            Scalar::Bool => json!(true),
            Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString => {
                json!(mark.parse::<i64>().unwrap_or(1))
            }
            Scalar::Double => json!(1.5),
            Scalar::String | Scalar::Any => json!(format!("x{mark}")),
            Scalar::Bytes => json!("eA=="),
            Scalar::Time => json!("2026-01-01T00:00:00Z"),
            Scalar::MicroTime => json!("2026-01-01T00:00:00.000000Z"),
            Scalar::Quantity => json!("1"),
        },
        Shape::List(_) => json!([]),
        Shape::Map(_) => json!({}),
        Shape::Message(id) => message(graph, *id, mark, depth),
    }
}

fn message(graph: &Graph, ty: TypeId, mark: &str, depth: usize) -> Value {
    let mut map = Map::new();
    for field in &graph.ty(ty).properties {
        let key = matches!(field.name.as_ref(), "name" | "key");
        if depth < 8
            && (field.required || key)
            && !matches!(field.name.as_ref(), "apiVersion" | "status")
        {
            let value = match field.allowed.first() {
                Some(allowed) => json!(allowed),
                None => smallest(graph, &field.shape, mark, depth + 1),
            };
            map.insert(field.name.to_string(), value);
        }
    }
    Value::Object(map)
}

/// The value of the last field of a path, inside of everything around it.
fn nested(graph: &Graph, ty: TypeId, path: &[&Field], innermost: Value) -> Value {
    let Some((field, rest)) = path.split_first() else {
        return innermost;
    };
    let mut value = message(graph, ty, "", 0);
    let inner = match field.shape.message() {
        Some(id) if !rest.is_empty() => nested(graph, id, rest, innermost),
        _ => innermost,
    };
    value[field.name.as_ref()] = match &field.shape {
        Shape::List(_) if !rest.is_empty() => json!([inner]),
        Shape::Map(_) if !rest.is_empty() => json!({ "x": inner }),
        _ => inner,
    };
    value
}

/// An object with `count` elements in that place; all the same when they are to be.
fn body(graph: &Graph, place: &Place<'_>, count: usize, same: bool) -> Value {
    let shape = &place.path.last().expect("a field").shape;
    let mark = |at: usize| if same { "1".to_owned() } else { at.to_string() };
    let long = match shape {
        Shape::List(inner) => (0..count).map(|at| smallest(graph, inner, &mark(at), 0)).collect(),
        Shape::Map(inner) => Value::Object(
            (0..count).map(|at| (format!("x{at}"), smallest(graph, inner, &mark(at), 0))).collect(),
        ),
        _ => Value::Null,
    };
    let mut object = nested(graph, place.kind.ty, &place.path, long);
    object["metadata"]["name"] = json!("a");
    object["apiVersion"] = json!(place.kind.api_version());
    object["kind"] = json!(place.kind.kind);
    object
}

/// Where objects of the kind are created, without a trace.
fn collection(kind: &KindDef) -> String {
    let root =
        if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let namespace = if kind.namespaced { "/namespaces/a" } else { "" };
    format!("{root}/{}{namespace}/{}?dryRun=All", kind.version, kind.resource)
}

#[tokio::test]
async fn long_lists_and_maps() {
    let server = Server::with_namespace().await;
    let graph = &*server.api.catalogue.load().graph().clone();
    let mut found = Vec::new();
    let step = if std::env::var_os(ALL).is_some() { 1 } else { EVERY };
    for place in places(graph).into_iter().step_by(step) {
        for same in [false, true] {
            let case = format!("{} {}", place.name(), if same { "alike" } else { "different" });
            let path = collection(place.kind);
            let excess = growth::excess(&case, SMALL, |count| {
                let body = body(graph, &place, count, same).to_string();
                let (server, path) = (&server, &path);
                async move {
                    server.send(Method::POST, path, &[], &body).await;
                }
            })
            .await;
            found.extend(excess);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test]
async fn bodies_of_too_many_parts_are_refused() {
    let server = Server::with_namespace().await;
    server.create("a", "c", &[]).await;
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c"}},"odd":[{}0]}}"#,
        "0,".repeat(240_000)
    );
    let (maps, map) =
        ("/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/a/configmaps/c?fieldManager=m");
    for (method, path, media) in [
        (Method::POST, maps, "application/json"),
        (Method::PUT, map, "application/yaml"),
        (Method::PATCH, map, "application/merge-patch+json"),
        (Method::PATCH, map, "application/apply-patch+yaml"),
    ] {
        let answer = server.send(method, path, &[("content-type", media)], &body).await;
        assert_eq!(answer.status, 413, "{media}: {}", answer.text());
    }
    // The same of a text that merges.
    let body = format!("<<: {{x: 1}}\n{}", "k: v\n".repeat(160_000));
    for (method, path, media) in [
        (Method::POST, maps, "application/yaml"),
        (Method::PUT, map, "application/yaml"),
        (Method::PATCH, map, "application/apply-patch+yaml"),
        (Method::DELETE, map, "application/yaml"),
    ] {
        let answer = server.send(method, path, &[("content-type", media)], &body).await;
        assert_eq!(answer.status, 413, "{media}: {}", answer.text());
    }
}

/// An object in one of the encodings.
fn encoded(graph: &Graph, place: &Place<'_>, media: &str, object: &Value) -> Vec<u8> {
    match media {
        "application/yaml" => yaml::write(&object.clone().into()).into_bytes(),
        "application/cbor" => {
            let mut out = Vec::new();
            cbor::encode(None, object.to_string().as_bytes(), &mut out).unwrap();
            out
        }
        "application/json" => object.to_string().into_bytes(),
        // What a type does not take has no form in protobuf.
        _ => protobuf::encode(graph, place.kind.ty, &object.clone().into()).unwrap_or_default(),
    }
}

/// The most elements that fit into so many bytes, encoded.
fn filled(graph: &Graph, place: &Place<'_>, media: &str, same: bool, bytes: usize) -> Vec<u8> {
    let of = |count: usize| encoded(graph, place, media, &body(graph, place, count, same));
    let each = of(2 * SMALL).len().saturating_sub(of(SMALL).len()).div_ceil(SMALL).max(1);
    let mut count = bytes / each;
    loop {
        let body = of(count);
        if body.len() <= bytes {
            return body;
        }
        count = count * 19 / 20;
    }
}

#[tokio::test]
async fn the_time_of_long_lists_and_maps() {
    let Some(bytes) = std::env::var(BYTES).ok().and_then(|text| text.parse().ok()) else {
        return;
    };
    let server = Server::with_gates("CBORServingAndStorage=true").await;
    let graph = &*server.api.catalogue.load().graph().clone();
    let all = std::env::var_os(ALL).is_some();
    let mut slow = Vec::new();
    for media in
        ["application/json", "application/yaml", "application/cbor", "application/vnd.svc.protobuf"]
    {
        let step = if all && media == "application/json" { 1 } else { EVERY };
        let mut times = Vec::new();
        for place in places(graph).into_iter().step_by(step) {
            for same in [false, true] {
                let body = filled(graph, &place, media, same, bytes);
                let (path, begin) = (collection(place.kind), growth::worked());
                let answer =
                    server.send(Method::POST, &path, &[("content-type", media)], &body).await;
                let ms = (growth::worked() - begin) / 1_000_000;
                assert!(
                    !answer.status.is_server_error(),
                    "{media}: {}: {}",
                    place.name(),
                    answer.text()
                );
                times.push((
                    ms,
                    place.name(),
                    same,
                    answer.status.as_u16(),
                    body.len(),
                    answer.body.len(),
                ));
            }
        }
        times.sort();
        let too_long = times.iter().filter(|(ms, ..)| *ms > MOST_MS);
        slow.extend(
            too_long.map(|(ms, name, same, ..)| {
                format!("{media}: {name}, alike {same}: {ms} ms of work")
            }),
        );
        for (ms, name, same, status, bytes, answer) in times.iter().rev().take(8) {
            println!(
                "{media}: {name}, alike {same}: {bytes} bytes: {ms} ms of work, {status}, answer of {answer} bytes"
            );
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
