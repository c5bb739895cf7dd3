//! Values read from JSON text, beside those read from a tree.

use std::sync::Arc;

use quorate_meta as data;
use quorate_meta::Naming;

use crate::record::encode;
use crate::value::{Field, ListSemantics, ListShape, ObjectShape, Shape, Value};

#[test]
fn text_and_tree_read_alike() {
    let check = |json: &str| {
        let tree: data::Value = serde_json::from_str::<serde_json::Value>(json).unwrap().into();
        let (left, right) = (Shape::DYN.read_json(json.as_bytes()), Shape::DYN.read(&tree));
        assert_eq!(encode(&left, Naming::Svc), encode(&right, Naming::Svc), "{json}");
        assert_eq!(left.equals(&right), Ok(true), "{json}");
        assert_eq!(left.size(), right.size(), "{json}");
    };
    check("null");
    check("true");
    check("-12");
    check("18446744073709551615");
    check("1.5e3");
    check(r#""a b""#);
    check(r#""\"\\\/\b\n\u00e4\ud83d\ude00""#);
    check("[]");
    check("{}");
    check(r#"[1, [2, {"a": [3]}], "x,]}"]"#);
    check(r#"{"a": 1, "b": {"c": "}"}, "d\"e": [true, false]}"#);
}

#[test]
fn fields_and_elements_are_found() {
    let value =
        Shape::DYN.read_json(br#"{"spec": {"replicas": 3, "x\u0061": "y"}, "list": [10, 20]}"#);
    let Value::Map(map) = value else { panic!("a map") };
    let Some(Value::Map(spec)) = map.get_str("spec") else { panic!("a map") };
    assert!(matches!(spec.get_str("replicas"), Some(Value::Int(3))));
    assert_eq!(spec.get_str("xa").unwrap().as_str(), Some("y"));
    assert!(spec.get_str("none").is_none());
    let Some(Value::List(list)) = map.get_str("list") else { panic!("a list") };
    assert!(matches!(list.get(1), Some(Value::Int(20))));
    assert!(list.get(2).is_none());
}

#[test]
fn declared_data_reads_as_declared() {
    let shape = Shape::Object(Arc::new(ObjectShape::new(
        "T",
        vec![
            Field { name: "a__dash__b".into(), key: "a-b".into(), shape: Shape::Double },
            Field { name: "at".into(), key: "at".into(), shape: Shape::Timestamp },
            Field {
                name: "tags".into(),
                key: "tags".into(),
                shape: Shape::List(Arc::new(ListShape {
                    element: Shape::String,
                    semantics: ListSemantics::Set,
                })),
            },
        ],
    )));
    let json = br#"{"a-b": 1, "at": "2024-01-02T03:04:05Z", "tags": ["x", "y"], "hidden": 1}"#;
    let other = br#"{"a-b": 1.0, "at": "2024-01-02T03:04:05Z", "tags": ["y", "x"], "hidden": 2}"#;
    let (left, right) = (shape.read_json(json), shape.read_json(other));
    let Value::Map(map) = &left else { panic!("a map") };
    assert!(matches!(map.get_str("a__dash__b"), Some(Value::Double(1.0))));
    assert!(matches!(map.get_str("at"), Some(Value::Timestamp(_))));
    assert!(map.get_str("hidden").is_none());
    assert_eq!(map.iter().count(), 3);
    assert_eq!(left.equals(&right), Ok(false), "undeclared fields differ");
    assert_eq!(left.equals(&shape.read_json(json)), Ok(true));
}

#[test]
fn what_is_no_json_is_no_panic() {
    let check = |text: &[u8]| {
        let value = Shape::DYN.read_json(text);
        let _ = encode(&value, Naming::Svc);
        let _ = value.equals(&value);
    };
    for text in [
        &b""[..],
        b"{",
        b"[1,",
        b"{\"a\"",
        b"{\"a\":",
        b"\"\\",
        b"\"\\u12",
        b"[[[[",
        b"}",
        b"-",
        b"\xff",
        b"[,]",
        b"{:}",
    ] {
        check(text);
    }
    check(&b"[".repeat(100_000));
}
