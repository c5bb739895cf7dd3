//! Expressions made to break the parser, the checker or the estimate: each is answered, in bounded time and stack.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quorate_cel::checker::check;
use quorate_cel::environment::{Environment, Library};
use quorate_cel::estimate::{UnknownSizes, estimate};
use quorate_cel::eval::Activation;
use quorate_cel::parser::{CODE_POINTS_MAX, parse};
use quorate_cel::program::{Limits, Program};
use quorate_cel::record::encode;
use quorate_cel::types::Type;
use quorate_cel::value::{Shape, Value};
use quorate_meta::Naming;

/// Longest that an expression may take here, in a build without optimizations on a busy machine.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Stack that must do; threads of a server have twice that.
const STACK_BYTES: usize = 2 << 20;

fn environment() -> Environment {
    Environment::new(Arc::new(Library::stored()))
        .with_variable("x", Type::Int)
        .with_variable("l", Type::List(Arc::new(Type::Int)))
        .with_variable("d", Type::Dyn)
}

/// Everything that is done with an expression before it runs; the text of its errors, if it has any.
fn compile(environment: &Environment, source: &str) -> Result<(), String> {
    let ast = parse(source).map_err(|issues| issues.to_string())?;
    assert!(ast.root == ast.clone().root);
    let checked = check(environment, ast).map_err(|issues| issues.to_string())?;
    estimate(&checked, &UnknownSizes);
    Ok(())
}

fn on_small_stack(source: String) -> Result<(), String> {
    let run = move || {
        let started = Instant::now();
        let result = compile(&environment(), &source);
        assert!(
            started.elapsed() < TIME_MAX,
            "{} bytes took {:?}",
            source.len(),
            started.elapsed()
        );
        result
    };
    let thread = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(run)
        .expect("a thread can be started");
    thread.join().expect("no expression breaks its thread")
}

fn expect_error(source: String, expect: &str) {
    let head: String = source.chars().take(40).collect();
    let error = on_small_stack(source).expect_err("the expression is refused");
    assert!(error.contains(expect), "{head}: {}", error.chars().take(300).collect::<String>());
}

#[test]
fn nesting_is_allowed_up_to_its_limit_and_no_further() {
    let forms: [(&str, &str, &str); 8] = [
        ("(", "x", ")"),
        ("[", "x", "]"),
        ("{1: ", "x", "}"),
        ("dyn(", "x", ")"),
        ("-(", "x", ")"),
        ("true ? x : (", "x", ")"),
        ("l.map(y, ", "x", ")[0]"),
        ("l.filter(y, [", "true", "][0]).size() == 1"),
    ];
    for (open, middle, close) in forms {
        let nested =
            |depth: usize| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
        let _ = on_small_stack(nested(120));
        for depth in [248, 249, 250, 300, 5_000] {
            let _ = on_small_stack(nested(depth));
        }
        expect_error(nested(5_000), "");
    }
    assert_eq!(on_small_stack(format!("{}x{}", "(".repeat(249), ")".repeat(249))), Ok(()));
    expect_error(
        format!("{}x{}", "(".repeat(250), ")".repeat(250)),
        "expression recursion limit exceeded: 250",
    );
    expect_error("x + ".repeat(251) + "x", "max recursion depth exceeded");
    expect_error("(".repeat(90_000), "expression recursion limit exceeded: 250");
    expect_error("[".repeat(90_000), "expression recursion limit exceeded: 250");
    expect_error("-1.f(".repeat(18_000), "");
}

#[test]
fn long_expressions_are_read_to_their_limit() {
    assert_eq!(on_small_stack(format!("[{}1]", "x, ".repeat(33_000))), Ok(()));
    assert_eq!(on_small_stack("true && ".repeat(12_000) + "true"), Ok(()));
    assert_eq!(on_small_stack(format!("'{}'", "é".repeat(CODE_POINTS_MAX - 2))), Ok(()));
    assert_eq!(on_small_stack(format!("{}x", "!".repeat(99_996)).replace('x', "true")), { Ok(()) });
    expect_error("x".repeat(CODE_POINTS_MAX + 1), {
        "expression code point size exceeds limit: size: 100001, limit 100000"
    });
    expect_error("x.a".to_owned() + &".a".repeat(49_000), "max recursion depth exceeded");
    expect_error("-1".to_owned() + &".a".repeat(49_000), "max recursion depth exceeded");
    expect_error("x".to_owned() + &" $".repeat(40_000), "1 more errors were truncated");
    expect_error(
        "[".to_owned() + &"1 2, ".repeat(19_000),
        "error recovery token lookahead limit exceeded: 256",
    );
    expect_error("(1 2) + ".repeat(11_000), "error recovery attempt limit exceeded: 30");
    expect_error(
        "[1 ".to_owned() + &") ".repeat(40_000),
        "error recovery token lookahead limit exceeded: 256",
    );
    expect_error("a.b.".repeat(24_000), "");
    expect_error("l.exists(".repeat(10_000), "");
    expect_error(
        "{".repeat(50_000) + &"}".repeat(50_000),
        "expression recursion limit exceeded: 250",
    );
}

#[test]
fn copies_of_receivers_do_not_grow_without_bound() {
    let chained = |calls: usize| format!("optional.of(x){}", ".optMap(y, y)".repeat(calls));
    assert_eq!(on_small_stack(chained(8)), Ok(()));
    expect_error(chained(60), "expression is too large after macro expansion");
}

#[test]
fn types_do_not_grow_without_bound() {
    let doubled = |times: usize| format!("[1]{}", ".map(y, {y: y})".repeat(times));
    assert_eq!(on_small_stack(doubled(8)), Ok(()));
    expect_error(doubled(60), "type of expression has more than 10000 parts");
    expect_error(
        doubled(60) + " == " + &doubled(60),
        "type of expression has more than 10000 parts",
    );
    let bound = (1..60)
        .map(|n| format!("[[]].all(v{n}, v{} == [{{v{n}: v{n}}}] && ", n - 1))
        .collect::<String>();
    let bound = format!("[[]].all(v0, {bound}true{}", ")".repeat(60));
    let _ = on_small_stack(bound);
    let _ = on_small_stack(doubled(12) + &".sort()".repeat(200));
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn any_sequence_of_tokens_is_answered() {
    const WORDS: [&str; 48] = [
        "x", "l", "d", "1", "2u", "1.5", "'a'", "b'b'", "true", "null", "in", "(", ")", "[", "]",
        "{", "}", ".", ",", ":", "?", "-", "!", "+", "*", "/", "%", "==", "!=", "<", ">=", "&&",
        "||", "has", "all", "map", "optMap", "size", "`e`", "$", "=", "'", "\"", "if", "int", "é",
        "\n", "// c\n",
    ];
    let environment = environment();
    let mut numbers = Numbers(1);
    for _ in 0..4_000 {
        let words: Vec<&str> =
            (0..numbers.below(24)).map(|_| WORDS[numbers.below(WORDS.len())]).collect();
        let source = words.join(if numbers.below(2) == 0 { "" } else { " " });
        if let Err(error) = compile(&environment, &source) {
            assert!(error.starts_with("ERROR: <input>:"), "{source:?}: {error}");
        }
    }
}

#[test]
fn any_change_of_a_right_expression_is_answered() {
    const RIGHT: &str = "l.all(y, y > 0 && [1, 2].exists(z, z == y)) ? d.a.?b.orValue('c') == 'd' : {'k': -x}['k'] < 0x1F";
    let environment = environment();
    assert_eq!(compile(&environment, RIGHT), Ok(()));
    let mut numbers = Numbers(7);
    for _ in 0..4_000 {
        let mut bytes = RIGHT.as_bytes().to_vec();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(bytes.len());
            match numbers.below(3) {
                0 => drop(bytes.remove(at)),
                1 => bytes.insert(at, b"()[]{}.,?:'\"-!x1 "[numbers.below(17)]),
                _ => bytes.swap(at, RIGHT.len() / 2),
            }
        }
        let source = String::from_utf8(bytes).expect("only ASCII was changed");
        if compile(&environment, &source).is_ok() {
            evaluate(&environment, &source);
        }
    }
}

/// Evaluates an expression that compiles, with data and without; whatever it gives, it ends within its limits.
fn evaluate(environment: &Environment, source: &str) {
    let Ok(program) = Program::compile(environment, source) else {
        return; // A constant part of it fails.
    };
    let data = serde_json::json!({"a": {"b": "c"}, "k": [1, 2.5, null, {"d": "e"}]}).into();
    let list = Value::list(vec![Value::Int(1), Value::Int(i64::MIN)]);
    let bound = Activation::new(environment)
        .with(0, Value::Int(i64::MAX))
        .with(1, list)
        .with(2, Shape::DYN.read(&data));
    for activation in [&bound, &Activation::new(environment)] {
        let limits = Limits { cost_max: 10_000, interrupted: None };
        let evaluation = program.evaluate_within(activation, limits);
        if let Ok(value) = &evaluation.result {
            assert!(evaluation.cost <= limits.cost_max, "{source} cost {}", evaluation.cost);
            let _ = encode(value, Naming::Svc);
        }
    }
}

#[test]
fn any_composition_of_calls_is_evaluated() {
    const CALLS: [&str; 24] = [
        "size(@)",
        "@.size()",
        "@ + @",
        "@ - @",
        "@ * @",
        "@ / @",
        "@ == @",
        "@ < @",
        "[@, @]",
        "{'k': @}",
        "@[@]",
        "@.a",
        "@.?a",
        "@ in @",
        "string(@)",
        "int(@)",
        "double(@)",
        "@.map(i, @)",
        "@.filter(i, i == @)",
        "@.all(i, j, @)",
        "@ ? @ : @",
        "duration(@)",
        "@.matches('[a-c]+')",
        "'%s %d'.format([@, @])",
    ];
    const LEAVES: [&str; 8] = ["x", "l", "d", "1", "'ab'", "true", "null", "-9223372036854775808"];
    let environment = environment();
    let (mut numbers, mut evaluated) = (Numbers(3), 0);
    for _ in 0..3_000 {
        let mut source = "@".to_owned();
        for _ in 0..numbers.below(7) {
            source = source.replacen('@', CALLS[numbers.below(CALLS.len())], 1);
        }
        while source.contains('@') {
            source = source.replacen('@', LEAVES[numbers.below(LEAVES.len())], 1);
        }
        if compile(&environment, &source).is_ok() {
            evaluated += 1;
            evaluate(&environment, &source);
        }
    }
    assert!(evaluated > 250, "only {evaluated} compile");
}
