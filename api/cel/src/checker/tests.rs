//! Tests of the checker: types of expressions, names, and errors.

use std::sync::Arc;

use super::{Reference, check};
use crate::ast::ExprKind;
use crate::environment::{Environment, Library, Release};
use crate::parser::{parse, parse_with};
use crate::types::Type;

fn environment() -> Environment {
    let list = |of| Type::List(Arc::new(of));
    Environment::new(Arc::new(Library::stored()))
        .with_variable("i", Type::Int)
        .with_variable("s", Type::String)
        .with_variable("d", Type::Dyn)
        .with_variable("l", list(Type::Int))
        .with_variable("ls", list(Type::String))
        .with_variable("m", Type::Map(Arc::new(Type::String), Arc::new(Type::Int)))
        .with_variable("w", Type::Wrapper(Arc::new(Type::Int)))
        .with_variable("a.b", Type::Bool)
}

/// Expects the type of an expression, or the messages of its errors.
fn expect(source: &str, expect: &str) {
    let ast = parse(source).expect("the expression is read");
    let found = match check(&environment(), ast) {
        Ok(checked) => checked.result_type().to_string(),
        Err(issues) => {
            issues.issues.iter().map(|issue| &*issue.message).collect::<Vec<_>>().join("; ")
        }
    };
    assert_eq!(found, expect, "{source}");
}

#[test]
fn types_are_inferred() {
    expect("[]", "list(dyn)");
    expect("{}", "map(dyn, dyn)");
    expect("[1] + []", "list(int)");
    expect("[] == [1] ? [] : ['a']", "list(string)");
    expect("l.map(x, string(x))", "list(string)");
    expect("m.transformMap(k, v, k + string(v))", "map(string, string)");
    expect("l.filter(x, x > 1)[0]", "int");
    expect("m.?a.orValue(2)", "int");
    expect("[?optional.of(1)]", "list(int)");
    expect("optional.none()", "optional_type(dyn)");
    expect("type(1)", "type(int)");
    expect("type", "type(type)");
    expect("d.a.b[0]", "dyn");
    expect("d + 1", "int");
    expect("d == 'a'", "bool");
    expect("dyn(1) + d", "dyn");
    expect("l.exists(x, x == i) && a.b", "bool");
}

#[test]
fn wrappers_go_with_null_and_what_they_wrap() {
    expect("w == null", "bool");
    expect("w + 1", "int");
    expect("w", "wrapper(int)");
    expect("i == null", "found no matching overload for '_==_' applied to '(int, null)'");
    expect("google.protobuf.Int64Value{value: 1}", "wrapper(int)");
}

#[test]
fn names_are_looked_up_whole_first() {
    expect("a.b", "bool");
    expect("a.c", "undeclared reference to 'a' (in container '')");
    expect("i.map(i, i)", {
        "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"
    });
    expect("['a'].map(i, i + 'b')", "list(string)");
    let ast = parse("a.b ? optional.of(1) : optional.none()").expect("the expression is read");
    let checked = check(&environment(), ast).expect("the types are right");
    let ExprKind::Call { arguments, .. } = &checked.ast.root.kind else {
        panic!("a conditional is a call")
    };
    assert!(matches!(&arguments[0].kind, ExprKind::Ident(name) if &**name == "a.b"));
    assert!(
        matches!(checked.reference(arguments[0].id), Some(Reference::Variable(name)) if &**name == "a.b")
    );
    assert!(
        matches!(&arguments[1].kind, ExprKind::Call { function, target: None, .. } if &**function == "optional.of")
    );
}

#[test]
fn containers_are_searched_from_the_inside() {
    let inside = environment().with_variable("x.y.i", Type::Double).in_container("x.y");
    for (source, expect) in [("i", "double"), (".i", "int"), ("s", "string")] {
        let checked =
            check(&inside, parse(source).expect("a name is read")).expect("a name is declared");
        assert_eq!(checked.result_type().to_string(), expect, "{source}");
    }
}

#[test]
fn calls_that_fit_no_overload_are_refused() {
    expect("1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'");
    expect("s.size(1)", "found no matching overload for 'size' applied to 'string.(int)'");
    expect("nope(1)", "undeclared reference to 'nope' (in container '')");
    expect(
        "s && 1",
        "expected type 'bool' but found 'string'; expected type 'bool' but found 'int'",
    );
    expect("i.x", "type 'int' does not support field selection");
}

#[test]
fn literals_are_of_one_type_and_can_be_right() {
    expect("[1, 'a']", "expected type 'int' but found 'string'");
    expect("[1, d]", "expected type 'int' but found 'dyn'");
    expect("{'a': 1, 'b': 'c'}", "expected type 'int' but found 'string'");
    expect("'%s %d'.format(['a', 1])", "string");
    expect("duration('x')", "invalid duration argument");
    expect("s.matches('(')", "invalid matches argument");
    expect("matches(s, '(')", "bool");
}

#[test]
fn releases_know_what_had_appeared_by_then() {
    let checks = |release, source: &str| {
        let library = Arc::new(Library::at(Release(release)));
        let ast = parse_with(source, library.macros()).expect("the expression is read");
        check(&Environment::new(library), ast).is_ok()
    };
    for (source, since) in [
        ("[1].all(i, v, v > i)", 32),
        ("[1].sortBy(x, -x) == [1]", 34),
        ("ip('::1') == ip('::1')", 30),
    ] {
        assert!(checks(since, source), "{source}");
        assert!(!checks(since - 1, source), "{source}");
    }
}
