//! Results and costs of expressions, as a release-1.35 server gives them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use quorate_meta as data;

use crate::environment::{Environment, Library, Release};
use crate::eval::{Activation, EvalError};
use crate::library::standard::show;
use crate::program::{Budget, Limits, Program};
use crate::types::Type;
use crate::value::{Shape, Value};

/// An environment with `self`, of no declared type.
fn environment() -> Environment {
    Environment::new(Arc::new(Library::stored())).with_variable("self", Type::Dyn)
}

fn tree(json: &str) -> data::Value {
    serde_json::from_str::<serde_json::Value>(json).unwrap().into()
}

/// Evaluates `source` where `self` is `{"n": 3, "s": "text", "list": [1, 2, 3], "map": {"a": 1}, "nothing": null}`, from a
/// tree and from JSON text.
fn check(source: &str, expect: &str, cost: u64) {
    let json = r#"{"n": 3, "s": "text", "list": [1, 2, 3], "map": {"a": 1}, "nothing": null}"#;
    let environment = environment();
    let program = match Program::compile(&environment, source) {
        Ok(program) => program,
        Err(error) => return assert_eq!(format!("{}: {error}", error.stage()), expect, "{source}"),
    };
    let tree = tree(json);
    for value in [Shape::DYN.read(&tree), Shape::DYN.read_json(json.as_bytes())] {
        let activation = Activation::new(&environment).with(0, value);
        let evaluation = program.evaluate_within(&activation, Limits::default());
        let found =
            evaluation.result.map_or_else(|error| format!("error: {error}"), |value| shown(&value));
        assert_eq!((found.as_str(), evaluation.cost), (expect, cost), "{source}");
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::List(list) => {
            let items: Vec<String> = list.iter().map(|item| shown(&item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", show(&key), shown(&value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Optional(None) => "none".to_owned(),
        Value::Optional(Some(held)) => format!("some {}", shown(held)),
        value => show(value),
    }
}

#[test]
fn fields_and_indices() {
    check("self.n", "3", 2);
    check("self.n <= 5", "true", 3);
    check("self.map.a", "1", 3);
    check("self.map['a']", "1", 3);
    check("self.list[1]", "2", 3);
    check("self.list[self.n - 1]", "3", 6);
    check("self.list[5]", "error: index out of bounds: 5", 3);
    check("self.none", "error: no such key: none", 2);
    check("has(self.none)", "false", 1);
    check("has(self.map.a)", "true", 2);
    check("has(self.none.a)", "error: no such key: none", 1);
    check("self.nothing == null", "true", 3);
    check("self.?none.orValue(7)", "7", 1);
    check("self.?map.?a", "some 1", 3);
    check("self.s[0]", "error: no such key: 0", 3);
}

#[test]
fn logic_absorbs_errors() {
    check("self.none == 1 || true", "true", 3);
    check("true || self.none == 1", "true", 0);
    check("self.none == 1 && false", "false", 3);
    check("self.none == 1 && self.other == 1", "error: no such key: none", 6);
    check("self.n == 3 ? 'yes' : 'no'", "yes", 3);
    check("self.n ? 1 : 2", "error: no such overload", 2);
}

#[test]
fn loops() {
    check("self.list.all(x, x > 0)", "true", 18);
    check("self.list.exists(x, x == 2)", "true", 18);
    check("self.list.exists_one(x, x == 2)", "true", 12);
    check("self.list.map(x, x * 2)", "[2, 4, 6]", 45);
    check("self.list.filter(x, x > 1)", "[2, 3]", 35);
    check("self.map.map(k, k)", "[a]", 16);
    check("self.list.map(x, x / 0)", "error: division by zero", 45);
    check("self.list.all(x, x / 0 > 0)", "error: division by zero", 21);
    check("self.n.all(x, true)", "error: got 'types.Int', expected iterable type", 2);
    check("self.list.transformList(i, v, i * v)", "[0, 2, 6]", 48);
    check("self.list.transformMap(i, v, v > 1, v)", "{1: 2, 2: 3}", 17);
    // The type of the keys is not known before, so that the call counts 1.
    check("[self.n].sortBy(x, -x)", "[3]", 30);
    check("[1, 2].sortBy(x, -x)", "[2, 1]", 50);
}

#[test]
fn constants_are_folded() {
    check("[1, 2, 3]", "[1, 2, 3]", 0);
    check("2 in [1, 2, 3]", "true", 0);
    check("self.n in [1, 2, 3]", "true", 2);
    check("self.n in []", "false", 0);
    check("int('5')", "5", 0);
    check("false && int('x') == 1", "program: type conversion error from 'string' to 'int'", 0);
    check("'abc' + 'd'", "abcd", 1);
    check("{'a': 1}.a", "1", 2);
}

#[test]
fn numbers() {
    check("self.n + 9223372036854775807", "error: integer overflow", 3);
    check("dyn(1) == 1.0", "true", 1);
    check("dyn(1u) < 1.5", "true", 1);
    check("dyn('a') < 1", "error: no such overload", 1);
    check("string(1e21)", "1e+21", 0);
    check("7 % self.n", "1", 3);
}

#[test]
fn an_evaluation_ends_at_its_limits() {
    let environment = environment();
    let program =
        Program::compile(&environment, "lists.range(1000).all(x, lists.range(1000).all(y, true))")
            .unwrap();
    let activation = Activation::new(&environment);
    let evaluation = program.evaluate_within(&activation, Limits::default());
    assert_eq!(
        (evaluation.result.unwrap_err(), evaluation.cost),
        (EvalError::CostLimit, 1_000_001)
    );
    let interrupted = AtomicBool::new(true);
    let limits = Limits { interrupted: Some(&interrupted), ..Limits::default() };
    assert_eq!(
        program.evaluate_within(&activation, limits).result.unwrap_err(),
        EvalError::Interrupted
    );
}

#[test]
fn evaluations_share_a_budget() {
    let environment = environment();
    let program = Program::compile(&environment, "lists.range(100).size() > 0").unwrap();
    let activation = Activation::new(&environment);
    let mut budget = Budget::new(200);
    let cost = program.evaluate(&activation, &mut budget).cost;
    assert_eq!(budget.left(), 200 - cost);
    program.evaluate(&activation, &mut budget);
    assert_eq!(budget.left(), 0);
    assert!(!budget.spend(1));
}

#[test]
fn a_variable_without_a_value_is_an_error() {
    let environment = environment();
    let program = Program::compile(&environment, "self.n").unwrap();
    let activation = Activation::new(&environment);
    let evaluation = program.evaluate_within(&activation, Limits::default());
    assert_eq!(
        (evaluation.result.unwrap_err().to_string().as_str(), evaluation.cost),
        ("no such attribute(s): self", 1)
    );
}

#[test]
fn programs_are_shared_between_threads() {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Program>();
}

#[test]
fn new_expressions_have_what_their_release_has() {
    let compiles = |release: u16, source: &str| {
        let environment = Environment::new(Arc::new(Library::at(Release(release))));
        Program::compile(&environment, source).is_ok()
    };
    let check = |source: &str, since: u16| {
        assert_eq!(
            (compiles(since - 1, source), compiles(since, source)),
            (false, true),
            "{source}"
        );
    };
    check("optional.of(1).hasValue()", 29);
    check("dyn(1) == 1 && 1 < 2.0", 29);
    check("sets.contains([1], [1])", 29);
    check("[1].transformMap(i, v, v) == {}", 32);
    check("[1, 2].slice(0, 1) == [1]", 34);
    check("[1].first().hasValue()", 34);
    check("[2, 1].sortBy(x, x) == [1, 2]", 34);
}
