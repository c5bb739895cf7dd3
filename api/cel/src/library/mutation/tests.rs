//! Objects and patches that expressions of mutating policies build.

use std::sync::Arc;

use quorate_meta as data;

use super::*;
use crate::environment::{Environment, Library};
use crate::eval::Activation;
use crate::program::{Budget, Program};

/// Compiles and evaluates an expression of a mutating policy, and gives its value to `read`; the error's text when it fails.
fn evaluated<T>(expression: &str, read: impl FnOnce(&Value<'_>) -> T) -> Result<T, String> {
    let environment = Environment::new(Arc::new(Library::stored().with_mutation()));
    let program = Program::compile(&environment, expression).map_err(|error| error.to_string())?;
    let activation = Activation::new(&environment);
    let evaluation = program.evaluate(&activation, &mut Budget::new(10_000_000));
    evaluation.result.map(|value| read(&value)).map_err(|error| error.to_string())
}

fn json(value: &data::Value) -> String {
    match value {
        data::Value::Map(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", json(value))).collect();
            format!("{{{}}}", fields.join(","))
        }
        data::Value::List(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
        }
        data::Value::Int(value) => value.to_string(),
        data::Value::String(text) => format!("{text:?}"),
        value => format!("{value:?}"),
    }
}

#[test]
fn values_of_expressions() {
    let check = |expression: &str, expect: &str| {
        let found = evaluated(expression, |value| match value {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::String(text) | Value::Type(text) => text.to_string(),
            value => value.type_name().to_owned(),
        });
        assert_eq!(found.as_deref(), Ok(expect), "{expression}");
    };
    check("jsonpatch.escapeKey('k8s.io/my~label')", "k8s.io~1my~0label");
    check("Object{intList: [1, 2, 3]}.intList.sum()", "6");
    check(
        "Object{spec: Object.spec{replicas: 3}} == Object{spec: Object.spec{replicas: 1 + 2}}",
        "true",
    );
    check("Object{a: 1} == Object{a: 2}", "false");
    check("dyn(Object{}) == dyn(Object.spec{})", "false");
    check("dyn(Object{}) == dyn({})", "false");
    check("has(Object{a: 1}.a) && !has(Object{a: 1}.b)", "true");
    check("Object{}.?existing.hasValue()", "false");
    check("type(Object.spec{})", "Object.spec");
    check("JSONPatch{op: 'add', path: '/a', value: 3}.value == 3", "true");
    check("JSONPatch{op: 'add'} == JSONPatch{op: 'add'}", "true");
    check("Object{?spec: optional.ofNonZeroValue(Object.spec{})}", "Object");
}

#[test]
fn expressions_that_do_not_compile() {
    let check = |expression: &str, expect: &str| {
        let error = evaluated(expression, |_| ()).unwrap_err();
        assert!(error.contains(expect), "{expression}: {error}");
    };
    check("Invalid{}", "undeclared reference to 'Invalid'");
    check("Objects{}", "undeclared reference to 'Objects'");
    check("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'");
    check("JSONPatch{operation: 'add'}", "undefined field 'operation'");
    check("JSONPatch{op: dyn(1)}", "unexpected type int for JSONPatchType 'op' field");
    let plain = Environment::new(Arc::new(Library::stored()));
    for expression in ["Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a')"] {
        assert!(Program::compile(&plain, expression).is_err(), "{expression}");
    }
}

#[test]
fn operations_of_patches() {
    let check = |expression: &str, expect: Result<&str, &str>| {
        let printed = |operation: PatchOperation| {
            let PatchOperation { op, path, from, value } = operation;
            format!("{op} {path} {from} {}", value.as_ref().map(json).unwrap_or_default())
        };
        let found = evaluated(expression, |value| {
            let operations = patch_operations(value).map_err(|error| error.to_string())?;
            Ok::<_, String>(operations.into_iter().map(printed).collect::<Vec<_>>().join("; "))
        });
        assert_eq!(found.unwrap().as_deref().map_err(|error| &**error), expect, "{expression}");
    };
    check("[JSONPatch{op: 'add', path: '/a', value: {'b': [1]}}]", Ok("add /a  {b:[1]}"));
    check(
        "[JSONPatch{value: b'a'}, JSONPatch{value: duration('1s')}]",
        Ok("   \"YQ==\";    \"1s\""),
    );
    check("[JSONPatch{op: 'move', from: '/a', path: '/b'}, JSONPatch{}]", Ok("move /b /a ;    "));
    check("[JSONPatch{op: 'add', value: 9007199254740993}]", Ok("add   \"9007199254740993\""));
    check("[JSONPatch{op: 'add', value: Object.x{a: 1u}}]", Ok("add   {a:1}"));
    check("[JSONPatch{op: 'add', value: int}]", Err("type has no form in JSON"));
    check(
        "[JSONPatch{op: 'add', value: {1: 2}}]",
        Err("keys of maps have to be strings, but one is of type int"),
    );
    check("[1]", Err("type mismatch: expected JSONPatch, but got int"));
    check(
        "1",
        Err("type mismatch: JSONPatchType.expression should evaluate to array, but got int"),
    );
}

#[test]
fn objects_that_are_applied() {
    let check = |expression: &str, expect: Result<&str, &str>| {
        let found = evaluated(expression, |value| {
            applied_object(value)
                .map(|map| json(&data::Value::Map(map)))
                .map_err(|error| error.to_string())
        });
        assert_eq!(found.unwrap().as_deref().map_err(|error| &**error), expect, "{expression}");
    };
    check("Object{}", Ok("{}"));
    check(
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}, spec: Object.spec{items: [Object.spec.items{n: 1}]}}",
        Ok("{metadata:{labels:{a:\"b\"}},spec:{items:[{n:1}]}}"),
    );
    check(
        "Object{spec: Object.metadata{}}",
        Err(
            "type mismatch: unexpected type name \"Object.metadata\", expected \"Object.spec\", which matches field name path from root \
         Object type",
        ),
    );
    check(
        "Object.spec{}",
        Err(
            "type mismatch: unexpected type name \"Object.spec\", expected \"Object\", which matches field name path from root Object type",
        ),
    );
    check("{'a': 1}", Err("unsupported return type from ApplyConfiguration expression: map"));
}
