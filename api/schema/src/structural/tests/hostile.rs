//! Schemas and values that are meant to cost: each ends in an error or in bounded time.

use quorate_meta::{Map, SmolStr};

use super::*;
use crate::structural::limits::{MAX_DEPTH_SCHEMAS, MAX_SCHEMAS, MAX_TOLD, MAX_TOLD_BYTES};

fn object(properties: impl IntoIterator<Item = (String, Value)>) -> Value {
    let properties: Map =
        properties.into_iter().map(|(name, schema)| (SmolStr::from(name), schema)).collect();
    Value::Map(Map::from([("type", Value::from("object")), ("properties", Value::Map(properties))]))
}

fn text() -> Value {
    json(r#"{"type":"string"}"#)
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(object([]), |inner, _| object([("a".to_owned(), inner)]))
}

fn refused(schema: &Value) -> Vec<Cause> {
    try_compile(&base(Naming::Svc), schema, false).err().unwrap_or_default()
}

#[test]
fn depth() {
    let check = |levels: usize, expect: &[&str]| {
        assert_eq!(shown(&refused(&nested(levels))), expect, "{levels}")
    };
    check(MAX_DEPTH_SCHEMAS, &[]);
    check(MAX_DEPTH_SCHEMAS + 1, &["~: Forbidden: must not be nested deeper than 128 schemas"]);
    let mut logic = json("{}");
    for _ in 0..MAX_DEPTH_SCHEMAS {
        logic = Value::from([("not", logic)]);
    }
    assert_eq!(refused(&logic).len(), 1);
}

#[test]
fn width() {
    let wide = |count: usize| object((0..count).map(|at| (format!("p{at}"), text())));
    assert!(refused(&wide(10_000)).is_empty());
    assert_eq!(
        shown(&refused(&wide(MAX_SCHEMAS))),
        ["~: Forbidden: must not have more than 100000 schemas"]
    );
}

#[test]
fn a_long_name_above_many_problems_is_not_repeated() {
    let untyped = |count: usize| object((0..count).map(|at| (format!("p{at}"), json("{}"))));
    assert_eq!(refused(&object([("a".to_owned(), untyped(MAX_TOLD + 5))])).len(), MAX_TOLD);
    let causes = refused(&object([("k".repeat(1 << 19), untyped(100))]));
    assert!(
        causes.iter().map(|cause| cause.field.len()).sum::<usize>() <= 2 * MAX_TOLD_BYTES,
        "{}",
        causes.len()
    );
}

#[test]
fn a_large_enumeration_is_searched() {
    let values: Vec<Value> = (0..50_000).map(|at| Value::from(format!("v{at}"))).collect();
    let item =
        Value::from([("type", Value::from("string")), ("enum", Value::List(values.clone()))]);
    let list = Value::from([("type", Value::from("array")), ("items", item)]);
    let schema = try_compile(&base(Naming::Svc), &object([("l".to_owned(), list)]), false)
        .expect("a structural schema");
    assert!(schema.validate(&Value::from([("l", Value::List(values))])).is_empty());
    let bad: Vec<Value> = (0..10_000).map(|_| Value::from("no")).collect();
    let causes = schema.validate(&Value::from([("l", Value::List(bad))]));
    assert!(
        causes.iter().map(|cause| cause.message.len()).sum::<usize>() < 2 * MAX_TOLD_BYTES,
        "{}",
        causes.len()
    );
}

#[test]
fn logic_costs_steps() {
    let branches: Vec<Value> = (0..2_000).map(|_| json(r#"{"minLength":1000000}"#)).collect();
    let item = Value::from([("type", Value::from("string")), ("anyOf", Value::List(branches))]);
    let list = Value::from([("type", Value::from("array")), ("items", item)]);
    let schema = try_compile(&base(Naming::Svc), &object([("l".to_owned(), list)]), false)
        .expect("a structural schema");
    let items: Vec<Value> = (0..20_000).map(|_| Value::from("")).collect();
    let causes = schema.validate(&Value::from([("l", Value::List(items))]));
    assert_eq!(
        shown(&causes),
        [r#"<nil>: Invalid value: "": validation takes more than 20000000 steps"#]
    );
}

#[test]
fn words_of_wrong_types_are_no_panic() {
    for word in [
        "type",
        "properties",
        "items",
        "anyOf",
        "enum",
        "required",
        "default",
        "pattern",
        "x-svc-list-type",
        "maximum",
    ] {
        for value in [
            Value::Int(-1),
            Value::from("x"),
            Value::List(vec![Value::Null]),
            Value::Map(Map::new()),
            Value::Bool(true),
        ] {
            let mut schema = nested(2);
            schema.as_map_mut().expect("a map").insert(word, value);
            refused(&schema);
        }
    }
    refused(&Value::Null);
}
