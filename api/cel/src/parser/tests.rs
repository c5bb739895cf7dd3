//! Tests of the parser: shapes of trees, literals, macros, and errors.

use super::{Macros, parse, parse_with};
use crate::ast::{Comprehension, Entry, Expr, ExprKind, FieldEntry, Literal};
use crate::environment::Release;

/// A tree as text: calls as `f(a, b)`, receivers before a dot, folds as `fold(range, variables, accumulator, ...)`.
fn show(expr: &Expr) -> String {
    let all = |list: &[Expr]| list.iter().map(show).collect::<Vec<_>>().join(", ");
    match &expr.kind {
        ExprKind::Literal(literal) => show_literal(literal),
        ExprKind::Ident(name) => name.to_string(),
        ExprKind::Select { operand, field, test_only: false } => {
            format!("{}.{field}", show(operand))
        }
        ExprKind::Select { operand, field, test_only: true } => {
            format!("has({}.{field})", show(operand))
        }
        ExprKind::Call { function, target: None, arguments } => {
            format!("{function}({})", all(arguments))
        }
        ExprKind::Call { function, target: Some(target), arguments } => {
            format!("{}.{function}({})", show(target), all(arguments))
        }
        ExprKind::List { elements, optional } if optional.is_empty() => {
            format!("[{}]", all(elements))
        }
        ExprKind::List { elements, optional } => format!("[{}]?{optional:?}", all(elements)),
        ExprKind::Map(entries) => {
            let show_entry = |Entry { key, value, optional, .. }: &Entry| {
                format!("{}{}: {}", if *optional { "?" } else { "" }, show(key), show(value))
            };
            format!("{{{}}}", entries.iter().map(show_entry).collect::<Vec<_>>().join(", "))
        }
        ExprKind::Message { type_name, fields } => {
            let show_field = |FieldEntry { name, value, optional, .. }: &FieldEntry| {
                format!("{}{name}: {}", if *optional { "?" } else { "" }, show(value))
            };
            format!(
                "{type_name}{{{}}}",
                fields.iter().map(show_field).collect::<Vec<_>>().join(", ")
            )
        }
        ExprKind::Comprehension(fold) => show_fold(fold),
    }
}

fn show_fold(fold: &Comprehension) -> String {
    let second = fold.second_variable.as_ref().map_or(String::new(), |name| format!("/{name}"));
    let parts = [&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result].map(show);
    let [range, initial, condition, step, result] = parts;
    let (variable, accumulator) = (&fold.variable, &fold.accumulator);
    format!(
        "fold({variable}{second} in {range}, {accumulator} = {initial}, {condition}, {step}, {result})"
    )
}

fn show_literal(literal: &Literal) -> String {
    match literal {
        Literal::Null => "null".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Int(value) => value.to_string(),
        Literal::Uint(value) => format!("{value}u"),
        Literal::Double(value) => format!("{value:?}"),
        Literal::String(text) => format!("{text:?}"),
        Literal::Bytes(bytes) => format!("b{bytes:?}"),
    }
}

fn check(source: &str, expect: &str) {
    let found = parse(source).map_or_else(|issues| issues.to_string(), |ast| show(&ast.root));
    assert_eq!(found, expect, "{source}");
}

#[test]
fn operators_bind_as_the_grammar_says() {
    check("1 + 2 * 3 - 4", "_-_(_+_(1, _*_(2, 3)), 4)");
    check("a == b && c != d || !e", "_||_(_&&_(_==_(a, b), _!=_(c, d)), !_(e))");
    check("a < b == c", "_==_(_<_(a, b), c)");
    check("a in b.c[0]", "@in(a, _[_](b.c, 0))");
    check("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))");
    check("a && b && c && d", "_&&_(_&&_(a, b), _&&_(c, d))");
    check("a && b && c", "_&&_(_&&_(a, b), c)");
}

#[test]
fn signs_belong_to_numbers_and_pairs_cancel() {
    check("-1", "-1");
    check("- 1", "-1");
    check("--1", "1");
    check("---1", "-_(1)");
    check("-(1)", "-_(1)");
    check("1 - -1", "_-_(1, -1)");
    check("!!a", "a");
    check("!!!a", "!_(a)");
    check("-1.5.x", "-1.5.x");
    check("-9223372036854775808", "-9223372036854775808");
    check("-0x8000000000000000", "-9223372036854775808");
}

#[test]
fn literals_mean_what_they_say() {
    check("[0x1Fu, 1e3, .5, 'a\\u00e9\\x41\\101\\n', r'\\n', '''a\r\nb''']", {
        "[31u, 1000.0, 0.5, \"aéAA\\n\", \"\\\\n\", \"a\\nb\"]"
    });
    check("b'\\xff\\377é'", "b[255, 255, 195, 169]");
    check("\"\"\"a\"b\"\"\"", "\"a\\\"b\"");
    check("'\\U0001F600'", "\"😀\"");
}

#[test]
fn members_calls_and_aggregates() {
    check("a.b.c(d, e)[f]", "_[_](a.b.c(d, e), f)");
    check(".a.?b[?c]", "_[?_](_?._(.a, \"b\"), c)");
    check("[a, ?b, c,]", "[a, b, c]?[1]");
    check("[,]", "[]");
    check("{'a': 1, ?b: c,}", "{\"a\": 1, ?b: c}");
    check("a.b.C{d: 1, ?e: f,}", "a.b.C{d: 1, ?e: f}");
    check(".A{}", ".A{}");
}

#[test]
fn macros_become_folds() {
    check("has(a.b)", "has(a.b)");
    check(
        "a.all(x, x)",
        "fold(x in a, __result__ = true, @not_strictly_false(__result__), _&&_(__result__, x), __result__)",
    );
    check(
        "a.exists(x, x)",
        "fold(x in a, __result__ = false, @not_strictly_false(!_(__result__)), _||_(__result__, x), __result__)",
    );
    check(
        "a.exists_one(x, x)",
        "fold(x in a, __result__ = 0, true, _?_:_(x, _+_(__result__, 1), __result__), _==_(__result__, 1))",
    );
    check("a.map(x, x)", "fold(x in a, __result__ = [], true, _+_(__result__, [x]), __result__)");
    check(
        "a.filter(x, y)",
        "fold(x in a, __result__ = [], true, _?_:_(y, _+_(__result__, [x]), __result__), __result__)",
    );
    check(
        "a.transformMap(k, v, f, w)",
        "fold(k/v in a, __result__ = {}, true, _?_:_(f, cel.@mapInsert(__result__, k, w), __result__), __result__)",
    );
    check(
        "a.transformMapEntry(k, v, w)",
        "fold(k/v in a, __result__ = {}, true, cel.@mapInsert(__result__, w), __result__)",
    );
    check(
        "a.optMap(x, y)",
        "_?_:_(a.hasValue(), optional.of(fold(#unused in [], x = a.value(), false, x, y)), optional.none())",
    );
    check("a.all(x)", "a.all(x)");
    check("existsOne(x, y)", "existsOne(x, y)");
}

#[test]
fn macros_that_an_environment_lacks_are_calls() {
    let macros = Macros::at(Release(28));
    assert_eq!(Macros::at(Release::CURRENT), Macros::default());
    for source in ["a.exists(x, y, z)", "a.optMap(x, y)", "a.sortBy(x, y)"] {
        let ast = parse_with(source, macros).expect("a call is read");
        assert_eq!(show(&ast.root), source);
    }
}

#[test]
fn errors_stand_at_their_places() {
    check(
        "a.all(1, true) + if",
        "ERROR: <input>:1:7: argument must be a simple name\n | a.all(1, true) + if\n | ......^\n\
         ERROR: <input>:1:18: reserved identifier: if\n | a.all(1, true) + if\n | .................^",
    );
    check(
        "1 +",
        "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', \
         'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^",
    );
    check("(1", "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^");
    check(
        "1 2",
        "ERROR: <input>:1:3: Syntax error: extraneous input '2' expecting <EOF>\n | 1 2\n | ..^",
    );
}
