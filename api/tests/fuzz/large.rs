//! Long bodies of one repeated word: their memory stays in proportion to the body.

use quorate_meta::Naming;
use quorate_registry::patch::JsonPatch;
use quorate_schema::Graph;
use quorate_wire::{cbor, json, protobuf, yaml};

/// Bytes of a body.
const BODY_BYTES: usize = 256 * 1024;
/// Bytes of memory that each byte of a body may take while it is read: a node of a tree for each
/// byte or two.
const PER_BYTE: u64 = 100;

fn check(name: &str, words: &[&[u8]], read: impl Fn(&[u8])) {
    for word in words {
        let body: Vec<u8> = word.iter().copied().cycle().take(BODY_BYTES).collect();
        let used = allocation_counter::measure(|| read(&body));
        assert!(
            used.bytes_max < PER_BYTE * BODY_BYTES as u64,
            "{name} takes {} bytes for {word:?}",
            used.bytes_max
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn long_bodies() {
    let graph = Graph::builtin(Naming::Svc.names());
    let ty = graph.type_named("core/v1.ConfigMap").expect("a type").id;
    check("json", &[b"[", b"{\"a\":", b"[0,", b"\"\\u", b"1", b" "], |body| {
        drop(json::parse(body))
    });
    check("json", &[b"0,"], |body| drop(json::parse(&[b"[", body, b"0]"].concat())));
    check("json", &[b"\"a\":0,"], |body| drop(json::parse(&[b"{", body, b"\"a\":0}"].concat())));
    check(
        "yaml",
        &[
            b"[",
            b"{",
            b"- ",
            b"a: ",
            b"? ",
            b"- - \n",
            b"&a ",
            b"*a ",
            b"'",
            b"\"\\",
            b"|\n",
            b"#",
            b" ",
            b"\n",
            b"a: 1\n",
            b"- 1\n",
            b"--- \n",
            b"!a ",
            b"%a\n",
            b"- &a 1\n- *a\n",
            b"a\n",
            b"- |\n  a\n",
            b"\t",
            b"a,",
        ],
        |body| drop(yaml::parse(body)),
    );
    check("yaml", &[b"0,", b"a: 0,"], |body| drop(yaml::parse(&[b"[", body, b"0]"].concat())));
    check(
        "cbor",
        &[b"\x81", b"\xf6", b"\x9f", b"\x5f", b"\x5f\x40", b"\xc1", b"\xa1\x60", b"\x00"],
        |body| drop(cbor::parse(body)),
    );
    check("cbor", &[b"\xf6", b"\x80", b"\x41a"], |body| {
        drop(cbor::parse(&[b"\x9f", body, b"\xff"].concat()))
    });
    check("cbor", &[b"\x41a\xf6"], |body| drop(cbor::parse(&[b"\xbf", body, b"\xff"].concat())));
    check("cbor", &[b"\x40"], |body| drop(cbor::parse(&[b"\x5f", body, b"\xff"].concat())));
    check(
        "protobuf",
        &[b"\x0a\x02\x0a\x00", b"\x12\x00", b"\x0b", b"\x08\x01", b"\x12\x04\x0a\x00\x12\x00"],
        |body| drop(protobuf::decode_message(&graph, ty, body)),
    );
    check("json to cbor", &[b"[", b"{\"a\":"], |body| {
        drop(cbor::encode(None, body, &mut Vec::new()))
    });
    check("json to cbor", &[b"0,"], |body| {
        drop(cbor::encode(None, &[b"[", body, b"0]"].concat(), &mut Vec::new()))
    });
    check("json to cbor", &[b"\"a\":0,"], |body| {
        drop(cbor::encode(None, &[b"{", body, b"\"a\":0}"].concat(), &mut Vec::new()))
    });
    let operations = |path: &[u8]| {
        let one = [br#"{"op":"add","path":""#, path, br#"","value":0},"#].concat();
        one.repeat(BODY_BYTES / one.len())
    };
    for path in [&b"/a"[..], &b"/a".repeat(200), &b"/a".repeat(BODY_BYTES / 4)] {
        check("json patch", &[&operations(path)], |body| {
            let body = body.strip_suffix(b",").unwrap_or(body);
            let Ok((document, _)) = json::parse(&[b"[", body, b"]"].concat()) else {
                return;
            };
            drop(JsonPatch::parse(document).map(|patch| patch.named()));
        });
    }
    let text = |read: fn(&str)| move |body: &[u8]| read(&String::from_utf8_lossy(body));
    check(
        "labels",
        &[b"a,", b"!", b"a in (", b"a in (b),", b"(", b" "],
        text(|body| drop(quorate_meta::LabelSelector::parse(body))),
    );
    check(
        "fields",
        &[b"a=b,", b"\\", b"=", b","],
        text(|body| drop(quorate_meta::FieldSelector::parse(body))),
    );
    check(
        "quantities",
        &[b"1", b"0", b".", b"-"],
        text(|body| {
            let _ = quorate_meta::Quantity::parse(body);
        }),
    );
}
