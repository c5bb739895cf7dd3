//! Fuzz targets for the encodings: JSON, YAML, protobuf, CBOR, stored values.

use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::{Naming, Value};
use quorate_schema::Graph;
use quorate_wire::stored::StoredRef;
use quorate_wire::{cbor, json, protobuf, stored, yaml};

use crate::engine::{BASE_BYTES, Target};
use crate::words;

/// Nodes of a tree are larger than what they are read from.
const TREE: u64 = 160;

/// A few objects as JSON.
pub(crate) fn texts() -> Vec<Vec<u8>> {
    [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","labels":{"a":"b"},"managedFields":[{"manager":"f","operation":"Apply","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{}},"f:x":{"k:{\"a\":1}":{},"v:1":{},"i:3":{}}}}]},"data":{"k":"v","l":"line\nline"},"binaryData":{"b":"AAEC"}}"#,
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"100m","memory":"1Gi"}},"env":[{"name":"A","value":"\u00e9\ud83d\ude00"}]}]}}}}"#,
        r#"{"a":[1,-2,3.5,1e10,18446744073709551615,null,true,false,"",{},[]]}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn trees() -> Vec<Value> {
    texts().iter().map(|text| json::parse(text).expect("good JSON").0).collect()
}

#[test]
fn json_text() {
    Target {
        name: "json",
        corpus: texts(),
        words: words::JSON,
        base_bytes: BASE_BYTES,
        bytes_per_byte: TREE,
    }
    .run(|input| {
        if let Ok((value, _)) = json::parse(input) {
            let text = json::to_vec(&value);
            let again = json::parse(&text).expect("what is written is read").0;
            assert_eq!(json::to_vec(&again), text);
        }
    });
}

#[test]
fn yaml_text() {
    let mut corpus: Vec<Vec<u8>> =
        trees().iter().map(|tree| yaml::write(tree).into_bytes()).collect();
    corpus.push(
        b"a: &x {b: [1, 2]}\nc: *x\n<<: *x\nd: |+\n  text\n\ne: >-\n  folded\n  text\nf: 'it''s'\n? g\n: !!str 7\n"
            .to_vec(),
    );
    Target {
        name: "yaml",
        corpus,
        words: words::JSON,
        base_bytes: BASE_BYTES,
        bytes_per_byte: 2000,
    }
    .run(|input| {
        if let Ok((value, _)) = yaml::parse(input) {
            drop(yaml::parse(yaml::write(&value).as_bytes()));
        }
    });
}

#[test]
fn protobuf_messages() {
    let graph = Graph::builtin(Naming::Svc.names());
    let types = ["core/v1.ConfigMap", "apps/v1.Deployment", "core/v1.Pod"]
        .map(|name| graph.type_named(name).expect("a type").id);
    let mut corpus = Vec::new();
    for (tree, ty) in trees().iter().zip(types).take(2) {
        corpus.push(protobuf::encode(&graph, ty, tree).expect("writes"));
    }
    let mut turn = 0;
    Target {
        name: "protobuf",
        corpus,
        words: words::BINARY,
        base_bytes: BASE_BYTES,
        bytes_per_byte: TREE,
    }
    .run(|input| {
        turn += 1;
        let ty = types[turn % types.len()];
        if let Ok(value) = protobuf::decode(&graph, ty, input) {
            let message =
                protobuf::encode_message(&graph, ty, &value).expect("what is read is written");
            drop(protobuf::decode_message(&graph, ty, &message).expect("what is written is read"));
        }
        drop(protobuf::decode_message(&graph, ty, input));
    });
}

#[test]
fn cbor_items() {
    let mut corpus: Vec<Vec<u8>> = Vec::new();
    for text in texts() {
        let mut out = Vec::new();
        cbor::encode(None, &text, &mut out).expect("writes");
        corpus.push(out);
    }
    corpus.push(b"\xbf\x61a\x9f\x01\xf9\x3e\x00\xc0\x742013-03-21T20:04:00Z\xc1\x1a\x51\x4b\x67\xb0\xd6\x42\x00\x01\xff\x7f\x61b\xff\xf5\xff".to_vec());
    Target {
        name: "cbor",
        corpus,
        words: words::BINARY,
        base_bytes: BASE_BYTES,
        bytes_per_byte: TREE,
    }
    .run(|input| {
        if let Ok(value) = cbor::parse(input) {
            let mut out = Vec::new();
            cbor::encode(None, &json::to_vec(&value), &mut out).expect("what is read is written");
            let again = cbor::parse(&out).expect("what is written is read");
            assert_eq!(json::to_vec(&again), json::to_vec(&value));
        }
    });
}

#[test]
fn json_to_cbor() {
    let graph = Graph::builtin(Naming::Svc.names());
    let ty = graph.type_named("core/v1.ConfigMap").expect("a type").id;
    Target {
        name: "json to cbor",
        corpus: texts(),
        words: words::JSON,
        base_bytes: BASE_BYTES,
        bytes_per_byte: TREE,
    }
    .run(|input| {
        let mut out = Vec::new();
        let written = cbor::encode(Some(cbor::Schema { graph: &graph, ty }), input, &mut out);
        assert_eq!(written.is_ok(), json::parse(input).is_ok(), "both read the same texts");
        if written.is_ok() {
            drop(cbor::parse(&out).expect("what is written is read"));
        }
    });
}

#[test]
fn stored_values() {
    let mut tree = trees().remove(0);
    tree.set_at(&["metadata", "uid"], "u");
    let fields = [("metadata.name", "m".to_owned()), ("type", "t".to_owned())];
    let corpus = vec![stored::encode(&tree, &fields).expect("writes").to_vec()];
    Target {
        name: "stored values",
        corpus,
        words: words::JSON,
        base_bytes: BASE_BYTES,
        bytes_per_byte: TREE,
    }
    .run(|input| {
        let bytes = Bytes::copy_from_slice(input);
        let Ok(stored) = StoredRef::parse(&bytes) else {
            return;
        };
        let _ = (
            stored.name(),
            stored.field("type"),
            stored.labels().count(),
            stored.owner_references().count(),
        );
        let mut out = Vec::new();
        stored::splice_object(&mut out, &stored, "v1", "ConfigMap", 7);
        stored::splice_item(&mut out, &stored, 7);
        stored::splice_partial(&mut out, &stored, "meta.svc.io/v1", 7);
        drop(stored.to_value("v1", "ConfigMap", 7));
    });
}

/// The schema, shared by what follows.
pub(crate) fn graph() -> Arc<Graph> {
    Arc::new(Graph::builtin(Naming::Svc.names()))
}
