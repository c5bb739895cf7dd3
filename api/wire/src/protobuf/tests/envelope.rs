//! The envelope, and whole bodies as clients send them.

use super::*;
use crate::protobuf::{
    Envelope, decode, encode, item_len, write_frame, write_item_head, write_object_frame,
};

#[test]
fn read_and_written() {
    let body = bytes("6b387300 0a 10 0a027631 120a 4e616d6573706163 6520 1203 616263 1a00 2200");
    let envelope = Envelope::read(&body).expect("an envelope");
    assert_eq!(
        (envelope.api_version, envelope.kind, envelope.raw),
        ("v1", "Namespace ", &b"abc"[..])
    );
    assert_eq!(hex(&envelope.write()), hex(&body));
    assert_eq!(Envelope::read(&bytes("6b387300 0a00")), Ok(Envelope::default()));
}

#[test]
fn refused() {
    let check = |hex: &str, expect: &str| {
        let error = Envelope::read(&bytes(hex)).expect_err("no envelope");
        assert_eq!(error.to_string(), expect, "{hex}");
    };
    check("", "protobuf: body does not begin with the expected prefix");
    check("6b3873", "protobuf: body does not begin with the expected prefix");
    check("6b387301 0a00", "protobuf: body does not begin with the expected prefix");
    check("6b387300", "protobuf: unexpected end of message");
    check("6b387300 0a05 0a", "protobuf: unexpected end of message");
    check("6b387300 0801", "protobuf: wrong wire type");
    check("6b387300 1a04 677a6970", "protobuf: unknown content encoding \"gzip\"");
}

#[test]
fn a_config_map() {
    let graph = Graph::builtin(Naming::Kubernetes.names());
    let id = graph.type_named("core/v1.ConfigMap").expect("a type").id;
    let object = value(
        r#"{"apiVersion":"v1","binaryData":{"b":"AQI="},"data":{"k":"v"},"kind":"ConfigMap",
            "metadata":{"name":"m","creationTimestamp":"2026-01-02T03:04:05Z"}}"#,
    );
    let body = encode(&graph, id, &object).expect("writes");
    let metadata = "0a016d 1200 1a00 2200 2a00 3200 3800 42 08 08a5ebdcca06 1000";
    let message = format!("0a 19 {metadata} 1206 0a016b 120176 1a07 0a0162 12020102");
    let envelope =
        format!("6b387300 0a0f 0a027631 1209 436f6e6669674d6170 122c {message} 1a00 2200");
    assert_eq!(hex(&body), hex(&bytes(&envelope)));
    assert_eq!(decode(&graph, id, &body), Ok(object));
}

#[test]
fn a_frame_with_an_object_is_one_with_its_body() {
    for length in [0, 1, 100, 127, 128, 16_383, 16_384, 70_000] {
        let raw = vec![7; length];
        let body = Envelope { api_version: "apps/v1", kind: "Deployment", raw: &raw }.write();
        let [mut expect, mut found] = [b"before".to_vec(), b"before".to_vec()];
        write_frame("ADDED", &body, &mut expect).expect("it is short");
        write_object_frame("ADDED", ("apps/v1", "Deployment"), &raw, &mut found).expect("too");
        assert_eq!(found, expect, "{length}");
        let mut item = Vec::new();
        write_item_head(length, &mut item);
        assert_eq!(item_len(length), item.len() + length);
    }
}
