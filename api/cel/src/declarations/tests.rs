//! Rules over schemas: types, values and estimates.

use std::sync::Arc;

use quorate_meta::{Naming, Path, Value as Tree};
use quorate_schema::Graph;
use quorate_schema::structural::{self, Structural};

use super::*;
use crate::environment::{Environment, Library};
use crate::estimate::estimate;
use crate::eval::Activation;
use crate::program::{Limits, Program};
use crate::value::Value;
use crate::{checker, parser};

fn compile(properties: &str) -> Structural {
    let schema = format!(r#"{{"type": "object", "properties": {properties}}}"#);
    let schema: Tree = serde_json::from_str(&schema).unwrap();
    let base = Arc::new(Graph::builtin(Naming::Svc.names()));
    let options = structural::Options { base: &base, patterns: &pattern, has_status: false };
    structural::compile(&schema, &Path::new("schema"), options).unwrap()
}

fn environment(declarations: &SchemaDeclarations, schema: &Structural) -> Environment {
    let root = declarations.shape(schema.root()).unwrap().to_type();
    declarations.environment(Arc::new(Library::stored())).with_variable("self", root)
}

/// The static type of an expression over `self`, or the first line of its error.
fn check_type(properties: &str, source: &str, expect: &str) {
    let schema = compile(properties);
    let declarations = SchemaDeclarations::new(&schema);
    let environment = environment(&declarations, &schema);
    let found = match Program::compile(&environment, source) {
        Ok(program) => program.result_type().to_string(),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    };
    assert_eq!(found, expect, "{source}");
}

#[test]
fn places_have_the_types_of_their_schemas() {
    let all = r#"{
        "b": {"type": "boolean"}, "i": {"type": "integer"}, "n": {"type": "number"},
        "s": {"type": "string"}, "y": {"type": "string", "format": "byte"},
        "d": {"type": "string", "format": "date"}, "t": {"type": "string", "format": "date-time"},
        "l": {"type": "string", "format": "duration"},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "either": {"x-svc-int-or-string": true},
        "any": {"x-svc-preserve-unknown-fields": true},
        "object": {"type": "object", "properties": {"a-b": {"type": "string"}, "namespace": {"type": "integer"}}}}"#;
    let check = |source, expect| check_type(all, source, expect);
    check("self.b", "bool");
    check("self.i", "int");
    check("self.n", "double");
    check("self.s", "string");
    check("self.y", "bytes");
    check("self.d", "google.protobuf.Timestamp");
    check("self.t", "google.protobuf.Timestamp");
    check("self.l", "google.protobuf.Duration");
    check("self.list", "list(string)");
    check("self.map", "map(string, int)");
    check("self.either", "dyn");
    check("self.object.a__dash__b", "string");
    check("self.metadata.name", "string");
    check("self.kind", "string");
    check("self.object.__namespace__", "int");
    check("self.object.namespace", "int");
    check("self.any", "ERROR: <input>:1:5: undefined field 'any'");
    check("self.object.c", "ERROR: <input>:1:12: undefined field 'c'");
    check("self.metadata.labels", "ERROR: <input>:1:14: undefined field 'labels'");
}

#[test]
fn data_is_read_as_its_schema_says() {
    let schema = compile(
        r#"{"set": {"type": "array", "x-svc-list-type": "set", "items": {"type": "string"}},
            "namespace": {"type": "string"}, "number": {"type": "number"}, "day": {"type": "string", "format": "date"}}"#,
    );
    let declarations = SchemaDeclarations::new(&schema);
    let environment = environment(&declarations, &schema);
    let data: Tree = serde_json::from_str(
        r#"{"set": ["a", "b"], "namespace": "n", "number": 2, "day": "2024-02-29"}"#,
    )
    .unwrap();
    let check = |source: &str| {
        let program = Program::compile(&environment, source).unwrap();
        let shape = declarations.shape(schema.root()).unwrap();
        let activation = Activation::new(&environment).with(0, shape.read(&data));
        let result = program.evaluate_within(&activation, Limits::default()).result;
        assert!(matches!(result, Ok(Value::Bool(true))), "{source}: {result:?}");
    };
    check("self.set == ['b', 'a']");
    check("self.set + ['a'] == ['a', 'b']");
    check("self.number / 4.0 == 0.5");
    check("self.day.getDayOfMonth() == 28");
    check("has(self.namespace) && self.namespace == self.__namespace__");
    check("!has(self.metadata) && !has(self.kind)");
}

#[test]
fn estimates_know_the_limits_of_schemas() {
    let check = |properties: &str, source: &str, expect: (u64, u64)| {
        let schema = compile(properties);
        let declarations = SchemaDeclarations::new(&schema);
        let environment = environment(&declarations, &schema);
        let checked = checker::check(&environment, parser::parse(source).unwrap()).unwrap();
        let range = estimate(&checked, &declarations.sizes(schema.root()));
        assert_eq!((range.min, range.max), expect, "{source} over {properties}");
    };
    let text = |limit: &str| format!(r#"{{"s": {{"type": "string"{limit}}}}}"#);
    let contains = "self.s.contains('0123456789')";
    // Four bytes a character, ten of them a unit.
    check(&text(r#", "maxLength": 100"#), contains, (2, 42));
    check(&text(""), contains, (2, 2 + 314_573));
    check(&text(r#", "enum": ["a", "abcdefghijk"]"#), contains, (2, 4));
    let list = |limit: &str| {
        format!(r#"{{"l": {{"type": "array", "items": {{"type": "integer"}}{limit}}}}}"#)
    };
    let all = "self.l.all(i, i > 0)";
    let (of_none, of_ten, of_one) = (3, 3 + 10 * 5, 3 + 5);
    check(&list(r#", "maxItems": 10"#), all, (of_none, of_ten));
    check(&list(r#", "maxItems": 1"#), all, (of_none, of_one));
    check(&list(""), all, (of_none, 3 + 1_572_863 * 5));
}
