//! The transcoder writes what the encoder of trees writes, to the byte, or nothing.

use std::sync::Arc;

use proptest::prelude::*;
use quorate_meta::{GroupVersionKind, Map};

use super::round_trip::types;
use super::*;
use crate::json;
use crate::protobuf::{Transcoder, encode_message};
use crate::random::Random;

fn transcoder() -> (Transcoder, TypeId) {
    let (graph, id) = all();
    (Transcoder::new(Arc::new(graph)), id)
}

/// What the encoder makes of a text.
fn encoded(graph: &Graph, id: TypeId, text: &[u8]) -> Option<Vec<u8>> {
    encode_message(graph, id, &json::parse(text).ok()?.0).ok()
}

#[test]
fn what_fits_is_written_as_the_encoder_does() {
    let (transcoder, id) = transcoder();
    let check = |text: &str| {
        let expect = encoded(transcoder.graph(), id, text.as_bytes()).expect(text);
        let found = transcoder.message(id, text.as_bytes());
        assert_eq!(found.as_deref().map(hex), Some(hex(&expect)), "{text}");
    };
    for text in [
        "{}",
        r#"{"flag":true,"int":-1,"long":9223372036854775807}"#,
        r#"{"long":-9223372036854775808,"ratio":0.5}"#,
        r#"{"ratio":3}"#,
        r#"{"ratio":18446744073709551615}"#,
        r#"{"at":"2026-01-02T03:04:05Z","exactly":"2026-01-02T03:04:05.678901Z"}"#,
        r#"{"at":"1969-12-31T23:59:59Z","exactly":"0001-01-01T00:00:00.000000Z"}"#,
        r#"{"at":null,"int":null,"labels":null,"numbers":null,"text":null}"#,
        r#"{"amount":"1.5Gi","port":"http"}"#,
        r#"{"port":-8080}"#,
        r#"{"blob":"AAE=","free":{"a":[1,"]}\"",{"b":null}],"c":1e+21}}"#,
        r#"{"blob":"","free":"text \" ] }"}"#,
        r#"{"free":-1.5}"#,
        r#"{"deep":"inline","hidden":"not written","late":"far"}"#,
        r#"{"extra":{"a":["x","y"],"b":[]},"verbs":["get","list"]}"#,
        r#"{"inner":{"a":1,"b":"b","next":{"next":{}}},"inner_by_name":{"x":{},"y":{"a":2}}}"#,
        r#"{"inners":[{},{"b":"\n\u0001\u00e9"}],"numbers":[0,1,300],"texts":["","\"","é"]}"#,
        r#"{"inners":[],"labels":{},"numbers":[],"texts":[],"verbs":[]}"#,
        r#"{"labels":{"":"empty","\"quoted\"":"1","a":""}}"#,
        r#"{"0unknown":{"a":[{}]},"flag":false,"unknown":[1,2],"zz":"z"}"#,
        r#"{"inner":{"0":0,"b":"x","zz":null}}"#,
    ] {
        check(text);
    }
}

#[test]
fn what_is_not_read_is_left_to_the_encoder() {
    let (transcoder, id) = transcoder();
    let check = |text: &str| {
        assert_eq!(transcoder.message(id, text.as_bytes()), None, "{text}");
    };
    for text in [
        // Not as it is written: order, repetition, space, escapes in names.
        r#"{"int":1,"flag":true}"#,
        r#"{"int":1,"int":2}"#,
        r#"{"int": 1}"#,
        r#"{"\u0069nt":1}"#,
        r#"{"labels":{"b":"","a":""}}"#,
        r#"{"labels":{"a":"1","a":"2"}}"#,
        // Of another type.
        r#"{"int":"1"}"#,
        r#"{"int":1.5}"#,
        r#"{"int":18446744073709551615}"#,
        r#"{"text":1}"#,
        r#"{"at":"yesterday"}"#,
        r#"{"blob":"?"}"#,
        r#"{"texts":["a",null]}"#,
        r#"{"texts":{}}"#,
        r#"{"inner":[]}"#,
        r#"{"labels":[]}"#,
        r#"{"verbs":[1]}"#,
        "[]",
        "null",
        // No JSON.
        "",
        "{",
        r#"{"int":1"#,
        r#"{"int":1}}"#,
        r#"{"int":1,}"#,
        r#"{"int"}"#,
        r#"{"texts":["a",]}"#,
        r#"{"text":"a}"#,
        r#"{"free":{"a":[}"#,
        r#"{"text":"\q"}"#,
        "{\"text\":\"\u{1}\"}",
    ] {
        check(text);
    }
    let mut broken = br#"{"text":"a"}"#.to_vec();
    broken[9] = 0xff;
    assert_eq!(transcoder.message(id, &broken), None, "not UTF-8");
    let deep = format!("{}{}", r#"{"next":"#.repeat(300), "{}".to_owned() + &"}".repeat(300));
    let inner = transcoder.graph().type_named("core/v1.Inner").expect("a type").id;
    assert_eq!(transcoder.message(inner, deep.as_bytes()), None, "too deep");
}

/// The value with something wrong or unusual at one of its places.
fn spoiled(value: &Value, random: &mut Random<'_>) -> Value {
    match value {
        Value::Map(map) if !map.is_empty() && random.index(4) > 0 => {
            let at = random.index(map.len() as u64);
            let spoil = |(place, (key, value)): (usize, (&str, &Value))| {
                let value = if place == at { spoiled(value, random) } else { value.clone() };
                (key.to_owned(), value)
            };
            let mut map: Map = map.iter().enumerate().map(spoil).collect();
            if random.coin() {
                map.insert("aUnknown", Value::List(vec![Value::Null, value.clone()]));
            }
            Value::Map(map)
        }
        Value::List(items) if !items.is_empty() && random.index(4) > 0 => {
            let at = random.index(items.len() as u64);
            let mut items = items.clone();
            items[at] = spoiled(&items[at], random);
            Value::List(items)
        }
        _ => [
            Value::Null,
            Value::from(7),
            Value::from("text"),
            Value::Bool(true),
            Value::List(Vec::new()),
            Value::Map(Map::new()),
            Value::Float(0.5),
            Value::UInt(u64::MAX),
        ][random.index(8)]
        .clone(),
    }
}

/// A sample of every kind that is stored.
const SAMPLES: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../node/tests/it/samples/every.yaml"));

#[test]
fn every_sample() {
    let transcoder = Transcoder::new(Arc::new(Graph::builtin(Naming::Kubernetes.names())));
    let graph = transcoder.graph();
    let metadata = graph.type_named("meta/v1.PartialObjectMetadata").expect("a type").id;
    let mut kinds = 0;
    for sample in SAMPLES.split("\n---\n") {
        let (mut object, _) = crate::yaml::parse(sample.as_bytes()).expect(sample);
        let text = |name: &str| object.str_at(&[name]).unwrap_or_default().to_owned();
        let version = quorate_meta::GroupVersion::parse(&text("apiVersion")).expect(sample);
        let kind = GroupVersionKind::new(version.group, version.version, text("kind"));
        let Some(kind) = graph.kind(&kind) else { continue };
        quorate_schema::decode(graph, kind.ty, &mut object).expect(sample);
        for id in [kind.ty, metadata] {
            let text = json::to_vec(&object);
            let found = transcoder.message(id, &text);
            assert_eq!(found, encoded(graph, id, &text), "{sample}");
            assert!(found.is_some(), "{sample}");
        }
        kinds += 1;
    }
    assert!(kinds > 50, "{kinds}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_kind(seed: u64) {
        let transcoder = Transcoder::new(Arc::new(Graph::builtin(Naming::Svc.names())));
        let graph = transcoder.graph();
        for (number, id) in (0u64..).zip(types(graph)) {
            let mut random = Random::new(graph, seed.wrapping_add(number));
            let object = random.object(id);
            let text = json::to_vec(&object);
            let expect = encoded(graph, id, &text);
            prop_assert!(expect.is_some());
            prop_assert_eq!(transcoder.message(id, &text), expect, "{}", graph.ty(id).full_name());
            // What does not fit is refused, or written like the encoder does.
            let text = json::to_vec(&spoiled(&object, &mut random));
            if let Some(found) = transcoder.message(id, &text) {
                let name = graph.ty(id).full_name();
                prop_assert_eq!(Some(found), encoded(graph, id, &text), "{}", name);
            }
        }
    }

    #[test]
    fn hostile_text(text: Vec<u8>, cut in 0usize..200, byte: u8) {
        let (transcoder, id) = transcoder();
        let _ = transcoder.message(id, &text);
        let mut json = br#"{"at":"2026-01-02T03:04:05Z","blob":"AAE=","free":{"a":["x"]},"inner":{"a":1},"labels":{"a":"b"},"texts":["a\n"],"verbs":["get"]}"#.to_vec();
        let at = cut % json.len();
        json[at] = byte;
        let _ = transcoder.message(id, &json);
        json.truncate(at);
        prop_assert_eq!(transcoder.message(id, &json), None);
    }
}
