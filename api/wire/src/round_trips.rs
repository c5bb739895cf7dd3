//! Round trips of objects of every kind, through each encoding and through all of them in turn.

use std::collections::BTreeSet;

use quorate_meta::{Naming, Value};
use quorate_schema::{Graph, TypeId};

use crate::random::Random;
use crate::{cbor, json, protobuf, yaml};

/// Objects of each kind.
const SEEDS: u64 = 8;

/// The types of all kinds and of their lists.
fn types(graph: &Graph) -> BTreeSet<TypeId> {
    graph.kinds().iter().flat_map(|kind| [Some(kind.ty), kind.list_ty]).flatten().collect()
}

fn text(value: &Value) -> String {
    String::from_utf8(json::to_vec(value)).expect("the writer writes UTF-8")
}

fn through_cbor(graph: &Graph, ty: Option<TypeId>, value: &Value) -> Value {
    let mut out = Vec::new();
    let schema = ty.map(|ty| cbor::Schema { graph, ty });
    cbor::encode(schema, &json::to_vec(value), &mut out).expect("JSON becomes CBOR");
    cbor::parse(&out).expect("CBOR is read")
}

fn through_yaml(value: &Value) -> Value {
    let written = yaml::write(value);
    let (value, duplicates) =
        yaml::parse(written.as_bytes()).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(duplicates, []);
    value
}

fn through_protobuf(graph: &Graph, ty: TypeId, value: &Value) -> Value {
    let message = protobuf::encode_message(graph, ty, value).expect("an object becomes a message");
    protobuf::decode_message(graph, ty, &message).expect("a message is read")
}

#[test]
fn every_kind_in_every_syntax() {
    let graph = Graph::builtin(Naming::Svc.names());
    for (number, id) in (0u64..).zip(types(&graph)) {
        for seed in 0..SEEDS {
            let object = Random::new(&graph, seed * 1000 + number).object(id);
            let (name, expect) = (graph.ty(id).full_name(), text(&object));
            let check =
                |syntax: &str, back: &Value| assert_eq!(text(back), expect, "{name} in {syntax}");
            check("JSON", &json::parse(expect.as_bytes()).expect("JSON is read").0);
            check("YAML", &through_yaml(&object));
            check("CBOR", &through_cbor(&graph, Some(id), &object));
            check("CBOR without its schema", &through_cbor(&graph, None, &object));
            let numbered = graph.ty(id).fields.iter().all(|field| field.tag.is_some());
            let object = if numbered { through_protobuf(&graph, id, &object) } else { object };
            check("protobuf", &object);
            check("all of them", &through_yaml(&through_cbor(&graph, Some(id), &object)));
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn texts_that_look_like_something_else() {
    let texts = [
        "",
        " ",
        "~",
        "null",
        "Null",
        "true",
        "yes",
        "no",
        "on",
        "Off",
        "y",
        "n",
        "1",
        "-1",
        "+1",
        "1.0",
        "1e3",
        ".5",
        "0x1f",
        "0o17",
        "017",
        "1_000",
        ".inf",
        "-.Inf",
        ".nan",
        "2020-01-01",
        "2020-01-01T00:00:00Z",
        "12:30:45",
        "- a",
        "-",
        "? a",
        "a: b",
        "a:",
        ":a",
        ": ",
        "#a",
        "a #b",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "{a}",
        "[a]",
        "a,b",
        "'a'",
        "\"a\"",
        "\\",
        " a",
        "a ",
        "\ta",
        "a\t",
        "\n",
        "a\n",
        "\na",
        "a\n\n",
        "a\nb\n",
        "  a\n b",
        "a\r\nb",
        "\r",
        "\u{85}",
        "\u{2028}",
        "\u{feff}a",
        "\u{0}",
        "\u{7f}",
        "\u{1b}[0m",
        "---",
        "...",
        "--- a",
        "<<",
        "=",
        "\u{fffe}",
        "\u{1f600}",
    ];
    for text in texts {
        for value in [
            Value::from(text),
            Value::from([("k", Value::from(text))]),
            Value::from(vec![text, text]),
            Value::from([(text, Value::from([(text, vec![text])]))]),
        ] {
            assert_eq!(through_yaml(&value), value, "{text:?} in YAML: {}", yaml::write(&value));
        }
    }
}
