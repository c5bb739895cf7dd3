//! Tests of YAML: manifests as users write them, limits, and round trips.

use proptest::prelude::*;
use quorate_meta::Value;
use serde_json::json;

use super::*;
use crate::json::tests::any_value;

fn read(text: &str) -> Value {
    let (value, duplicates) = parse(text.as_bytes()).expect(text);
    assert_eq!(duplicates, []);
    value
}

#[test]
fn manifests() {
    let check = |text: &str, expect: serde_json::Value| {
        assert_eq!(read(text), Value::from(expect), "{text}")
    };
    check(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # comment\ndata:\n  k: |\n    one\n    two\n",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "one\ntwo\n"}}),
    );
    check(
        "---\na: 0644\nb: yes\nc: \"yes\"\nd: 1.5\ne: ~\nf:\n",
        json!({"a": 420, "b": true, "c": "yes", "d": 1.5, "e": null, "f": null}),
    );
    check(
        "a: 2026-01-02\nb: 1:30\nc: 18446744073709551615",
        json!({"a": "2026-01-02", "b": "1:30", "c": u64::MAX}),
    );
    check("1: a\ntrue: b\n", json!({"1": "a", "true": "b"}));
    check(
        "{y: a, \"n\": b, Off: c, yes-it-is: d, 0x10: e, 1.50: f, ? 'no' : g}",
        json!({"true": "a", "n": "b", "false": "c", "yes-it-is": "d", "16": "e", "1.5": "f", "no": "g"}),
    );
    check("x: {y: {on: 1}}\n", json!({"x": {"true": {"true": 1}}}));
    check(
        "base: &base {x: 1}\ncopy: *base\nmerged:\n  <<: *base\n  z: 2\n",
        json!({"base": {"x": 1}, "copy": {"x": 1}, "merged": {"x": 1, "z": 2}}),
    );
    check(r#"{"json": [1, "two", {"three": null}]}"#, json!({"json": [1, "two", {"three": null}]}));
    check("", json!(null));
}

#[test]
fn comments_may_be_as_long_as_they_like() {
    let comments = "  # text\n".repeat(1_000);
    let text = format!("a:\n{comments}  b: 1\n{comments}c: 2\n");
    assert_eq!(read(&text), json!({"a": {"b": 1}, "c": 2}).into());
}

#[test]
fn repeated_keys_are_named_and_the_last_wins() {
    let check = |text: &str, duplicates: &[&str], expect: serde_json::Value| {
        let (value, found) = parse(text.as_bytes()).expect(text);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            (value, found),
            (Value::from(expect), duplicates.iter().map(ToString::to_string).collect()),
            "{text}"
        );
    };
    check(
        "kind: ConfigMap\ndata:\n  k: first\n  l: x\n  k: second\nkind: Other\n",
        &["line 5: key \"k\" already set in map", "line 6: key \"kind\" already set in map"],
        json!({"kind": "Other", "data": {"k": "second", "l": "x"}}),
    );
    check(
        "1: a\nk: x\n0x1: b\nk: z\n",
        &["line 3: key \"1\" already set in map", "line 4: key \"k\" already set in map"],
        json!({"1": "b", "k": "z"}),
    );
    check(
        "base: &base {x: 1, z: 1}\ncopy: {<<: *base, x: 2, x: 3}\n",
        &["line 2: key \"x\" already set in map"],
        json!({"base": {"x": 1, "z": 1}, "copy": {"x": 3, "z": 1}}),
    );
    check(
        "base: &base {x: 1, x: 2}\ncopy: {<<: *base}\n",
        &["line 1: key \"x\" already set in map"],
        json!({"base": {"x": 2}, "copy": {"x": 2}}),
    );
    check(
        "base: &base {1: a, k: x, 0x1: b, k: z}\ncopy: {<<: *base, 2: c, 2: d}\n",
        &[],
        json!({"base": {"1": "b", "k": "z"}, "copy": {"1": "b", "k": "z", "2": "d"}}),
    );
    check(
        "a: {b: 1, b: 18446744073709551615, c: [1.5, ~, true]}\n",
        &["line 1: key \"b\" already set in map"],
        json!({"a": {"b": u64::MAX, "c": [1.5, null, true]}}),
    );
}

#[test]
fn repeated_keys_are_told_with_their_paths() {
    let check = |text: &str, expect: &[&str]| {
        let (_, found) = parse(text.as_bytes()).expect(text);
        let paths: Vec<&str> = found.iter().map(|duplicate| duplicate.path.as_str()).collect();
        assert_eq!(paths, expect, "{text}");
    };
    check(
        "kind: A\nspec:\n  items:\n  - {name: a}\n  - {name: b, name: c}\n  x: 1\n  x: 2\nkind: B\n",
        &["spec.items[1].name", "spec.x", "kind"],
    );
    check("a: {b: 1, b: 2, b: 3}\n", &["a.b", "a.b"]);
    check("[[0, {a: 1, a: 2}]]", &["[0][1].a"]);
    check("{\"a\": {\"b\": 1, \"b\": 2}}", &["a.b"]);
    let (short, long) = ("k".repeat(1000), "k".repeat(2000));
    let path = format!("{short}.a.b");
    check(&format!("{short}:\n  a: {{b: 1, b: 2}}\n"), &[path.as_str()]);
    check(&format!("? {long}\n:\n  a: {{b: 1, b: 2}}\n"), &["a.b"]);
}

#[test]
fn of_very_many_repeated_keys_the_first_are_named_and_the_last_wins() {
    use crate::json::MAX_DUPLICATES;
    let rows: String = (0..2 * MAX_DUPLICATES)
        .map(|at| format!("  k: {at}\n  l{at}: {{x: 0, x: {at}}}\n"))
        .collect();
    let (value, found) = parse(format!("a:\n{rows}b: 1\nb: 2\n").as_bytes()).expect("well-formed");
    // Two in each row but the first, in which only x is one.
    let named: Vec<(u64, &str)> =
        found.iter().map(|duplicate| (duplicate.line, duplicate.key.as_str())).collect();
    assert_eq!(named[..4], [(3, "x"), (4, "k"), (5, "x"), (6, "k")]);
    assert_eq!(named.len(), MAX_DUPLICATES);
    let last = 2 * MAX_DUPLICATES - 1;
    assert_eq!(value.at(&["a", "k"]), Some(&Value::from(last as i64)));
    assert_eq!(value.at(&["a", &format!("l{last}"), "x"]), Some(&Value::from(last as i64)));
    assert_eq!(value.at(&["b"]), Some(&Value::from(2)));
}

#[test]
fn refused_texts_say_why_in_one_line() {
    for text in [
        "a: [1, 2",
        "a:\n\t- b",
        "a: 1\n---\nb: 2\n",
        "a: *nowhere",
        "a: b: c",
        "\"unclosed",
        "a: .inf",
        "? [x]\n: 1",
        "~: 1",
    ] {
        let error = parse(text.as_bytes()).expect_err(text).to_string();
        assert!(
            error.starts_with("yaml: ") && !error.contains('\n') && error.len() > 10,
            "{text}: {error}"
        );
    }
    assert!(parse(b"a: \xff").is_err());
    assert_eq!(parse(b"a: 1\nb: [1\n").map_err(|error| error.line > 0), Err(true));
}

#[test]
fn limits_hold() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
    assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    assert!(parse(&vec![b' '; MAX_BYTES + 1]).is_err());
    let error = parse("k: v\n".repeat(MAX_NODES / 2).as_bytes())
        .expect_err("the map itself is one too many");
    assert_eq!(error.to_string(), "yaml: text has more than 300000 keys and values");
    let too_many = |text: &str| parse(text.as_bytes()).map_err(|error| error.too_many);
    assert_eq!(too_many(&"k: v\n".repeat(MAX_NODES / 2)), Err(true));
    assert_eq!(too_many(&format!("[{}]", "[],".repeat(MAX_NODES))), Err(true));
    assert_eq!(too_many(&nested(MAX_DEPTH + 1)), Err(false));
    let merging = |pairs: usize| format!("<<: {{x: 1}}\n{}", "k: v\n".repeat(pairs));
    assert!(parse(merging(MAX_MERGING_NODES / 2 - 4).as_bytes()).is_ok());
    let error =
        parse(merging(MAX_MERGING_NODES / 2).as_bytes()).expect_err("too many to be read again");
    assert_eq!(error.to_string(), "yaml: text has more than 50000 keys and values");
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let previous = format!("*a{}, ", level - 1).repeat(10);
        bomb += &format!("a{level}: &a{level} [{previous}]\n");
    }
    assert!(parse(bomb.as_bytes()).is_err());
}

#[test]
fn written_form() {
    let value = Value::from(
        json!({"kind": "X", "a": [{"b": "yes", "c": 1}], "e": {}, "s": "two\nlines\n"}),
    );
    let text = write(&value);
    assert!(text.starts_with("a:\n"), "{text}");
    assert_eq!(read(&text), value);
}

#[test]
fn texts_that_look_like_something_else_are_quoted() {
    for text in [
        "yes",
        "NO",
        "on",
        "Off",
        "y",
        "N",
        "null",
        "~",
        "",
        "0644",
        "0x1f",
        "0o7",
        "1e3",
        "1_000",
        ".inf",
        "-",
        "<<",
        "a: b",
        "#",
        " x",
        "2026-01-02",
        "=",
        "*a",
        "&a",
        "!a",
        "%",
        "@",
        "`",
        "'",
        "\"",
        "\u{7f}",
        "\u{85}",
        "\u{feff}",
        "-1",
        "+1",
        "true",
        "---",
        "a #b",
        "...",
        "?",
        "0b1",
    ] {
        let value = Value::from([("k", text)]);
        let written = write(&value);
        assert_eq!(read(&written), value, "{written}");
        let key = Value::from([(text, 1)]);
        let written = write(&key);
        assert_eq!(read(&written), key, "{written}");
    }
    for text in ["yes", "on", "y", "N", "0644", "~", "1_000"] {
        assert!(
            !write(&Value::from([("k", text)])).contains(&format!(": {text}\n")),
            "{text} must be quoted for older readers"
        );
    }
}

proptest! {
    #[test]
    fn written_values_read_back(value in any_value()) {
        let text = write(&value);
        prop_assert_eq!(parse(text.as_bytes()), Ok((value, Vec::new())), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a:\\-\\[\\]{},&*!|>'\"# \n0~<]{0,30}") {
        let _ = parse(text.as_bytes());
    }
}

#[test]
fn aliases_of_a_large_text_are_bounded() {
    let large = "x".repeat(1 << 20);
    let aliases = vec!["*a"; 64].join(", ");
    let text = format!("a: &a {large}\nb: [{aliases}]\n");
    assert!(parse(text.as_bytes()).is_err());
}
