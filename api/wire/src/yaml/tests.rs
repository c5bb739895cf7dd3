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
        &["line 3: key 1 already set in map", "line 4: key \"k\" already set in map"],
        json!({"1": "b", "k": "z"}),
    );
    check(
        "base: &base {x: 1, z: 1}\ncopy: {<<: *base, x: 2, x: 3}\n",
        &["line 2: key \"x\" already set in map", "line 2: key \"x\" already set in map"],
        json!({"base": {"x": 1, "z": 1}, "copy": {"x": 3, "z": 1}}),
    );
    check(
        "base: &base {x: 1, x: 2}\ncopy: {<<: *base}\n",
        &["line 1: key \"x\" already set in map", "line 1: key \"x\" already set in map"],
        json!({"base": {"x": 2}, "copy": {"x": 2}}),
    );
    check(
        "base: &base {1: a, k: x, 0x1: b, k: z}\ncopy: {<<: *base, 2: c, 2: d}\n",
        &[
            "line 1: key 1 already set in map",
            "line 1: key \"k\" already set in map",
            "line 1: key 1 already set in map",
            "line 1: key \"k\" already set in map",
            "line 2: key 2 already set in map",
        ],
        json!({"base": {"1": "b", "k": "z"}, "copy": {"1": "b", "k": "z", "2": "d"}}),
    );
    check(
        "a: {b: 1, b: 18446744073709551615, c: [1.5, ~, true]}\n",
        &["line 1: key \"b\" already set in map"],
        json!({"a": {"b": u64::MAX, "c": [1.5, null, true]}}),
    );
    // The line is that of the value, and keys of two types are two keys.
    check(
        "a:\n  b: 1\na:\n  c: 2\n",
        &["line 4: key \"a\" already set in map"],
        json!({"a": {"c": 2}}),
    );
    check(
        "a: {1: x, true: v, 1.5: z, 1.5: w}",
        &["line 1: key 1.5 already set in map"],
        json!({"a": {"1": "x", "true": "v", "1.5": "w"}}),
    );
    check("{1: a, \"1\": b}", &[], json!({"1": "b"}));
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
    assert_eq!(named[..4], [(3, "\"x\""), (4, "\"k\""), (5, "\"x\""), (6, "\"k\"")]);
    assert_eq!(named.len(), MAX_DUPLICATES);
    let last = 2 * MAX_DUPLICATES - 1;
    assert_eq!(value.at(&["a", "k"]), Some(&Value::from(last as i64)));
    assert_eq!(value.at(&["a", &format!("l{last}"), "x"]), Some(&Value::from(last as i64)));
    assert_eq!(value.at(&["b"]), Some(&Value::from(2)));
}

#[test]
fn numbers_without_a_fraction_are_integers() {
    let check = |text: &str, expect: Value| assert_eq!(read(text), expect, "{text}");
    check("3.0", 3.into());
    check("1e1", 10.into());
    check("0008", 8.into());
    check("{\"a\": 3.0, \"b\": [1e2, 1.5]}", json!({"a": 3, "b": [100, 1.5]}).into());
    check("1e19", 10_000_000_000_000_000_000u64.into());
    check("1e20", Value::Float(1e20));
    check("1e21", Value::Float(1e21));
    check("-0.0", 0.into());
    check("5e98765", "5e98765".into());
}

#[test]
fn scalars_go_on_over_lines() {
    let check = |text: &str, expect: serde_json::Value| {
        assert_eq!(read(text), Value::from(expect), "{text}")
    };
    // Quoted text need not be indented, plain text as little as one column.
    check("a: \"one\ntwo\n\n  three\"\n", json!({"a": "one two\nthree"}));
    check("a:\n  b: 'one\ntwo'\nc: 1\n", json!({"a": {"b": "one two"}, "c": 1}));
    check("a: one\n two\n  three # c\nb: 1\n", json!({"a": "one two three", "b": 1}));
    check("- a:\n    x &&\n    y\n- b\n", json!([{"a": "x && y"}, "b"]));
    check("a: \"x\\\n  y\"\n", json!({"a": "xy"}));
    check("a: {b: 1,\nc: [x,\ny y\n  y, ],\n}\n", json!({"a": {"b": 1, "c": ["x", "y y y"]}}));
    check("a:\n- 1\n- 2\nb:\t3\n", json!({"a": [1, 2], "b": 3}));
    check("a: >-\n  x\n  y\n\n  z\nb: |+\n  k\n\n", json!({"a": "x y\nz", "b": "k\n\n"}));
    check("a: |2\n   x\n  y\n", json!({"a": " x\ny\n"}));
    check("\"a\": b\n? c\n: d\n? e\n", json!({"a": "b", "c": "d", "e": null}));
}

#[test]
fn the_first_document_counts() {
    let check = |text: &[u8], expect: serde_json::Value| {
        let (value, _) = parse(text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
        assert_eq!(value, Value::from(expect), "{text:?}")
    };
    check(b"a: 1\n---\n", json!({"a": 1}));
    check(b"a: 1\n---\nb: 2\n", json!({"a": 1}));
    check(b"---\n---\nb: 2\n", json!(null));
    check(b"a: 1\n...\n", json!({"a": 1}));
    check(b"a: 1\n...\nb: [\n", json!({"a": 1}));
    check(b"%YAML 1.1\n---\na: 1\n", json!({"a": 1}));
    check(b"# text\n\n--- # more\na: 1\n", json!({"a": 1}));
    check(b"# text\n", json!(null));
    check(b"\xef\xbb\xbfa: 1\n", json!({"a": 1}));
    check(b"\xff\xfea\0:\0 \x001\0", json!({"a": 1}));
    check(b"\xfe\xff\0a\0:\0 \x001", json!({"a": 1}));
    check(b"a: 1\r\nb: 2\r\n", json!({"a": 1, "b": 2}));
}

#[test]
fn maps_are_merged_where_they_stand() {
    let check = |text: &str, expect: serde_json::Value| {
        let (value, _) = parse(text.as_bytes()).expect(text);
        assert_eq!(value.at(&["c"]), Some(&Value::from(expect)), "{text}")
    };
    check("b: &b {x: 1, z: 1}\nc: {x: 2, <<: *b}\n", json!({"x": 1, "z": 1}));
    check("b: &b {x: 1, z: 1}\nc: {<<: *b, x: 2}\n", json!({"x": 2, "z": 1}));
    check("b: [&p {x: 1}, &q {x: 2, z: 2}]\nc: {<<: [*p, *q]}\n", json!({"x": 1, "z": 2}));
    check("c: {<<: {x: 1}, !!merge <<: {z: 1}, \"<<\": 1}\n", json!({"x": 1, "z": 1, "<<": 1}));
    check("k: &k z\nc: {*k : 1}\n", json!({"z": 1}));
    check("x: &a 1\ny: &a 2\nc: *a\n", json!(2));
}

#[test]
fn refused_texts_say_why() {
    let check = |text: &[u8], expect: &str| {
        assert_eq!(
            parse(text).map_err(|error| error.to_string()),
            Err(expect.to_owned()),
            "{text:?}"
        )
    };
    check(b"a: [1, 2", "yaml: line 1: did not find expected ',' or ']'");
    check(b"{", "yaml: line 1: did not find expected node content");
    check(b"a: 1\nb: {c", "yaml: line 2: did not find expected ',' or '}'");
    check(b"a:\n\t- b", "yaml: line 2: found character that cannot start any token");
    check(b"a: b\n\tc\n", "yaml: line 2: found a tab character that violates indentation");
    check(b"a: *nowhere", "yaml: unknown anchor 'nowhere' referenced");
    check(b"a: &a [*a]", "yaml: anchor 'a' value contains itself");
    check(b"a: b: c", "yaml: mapping values are not allowed in this context");
    check(b"a: 1\nb: c: d", "yaml: line 2: mapping values are not allowed in this context");
    check(b"a: 1\n b: 2\n", "yaml: line 2: mapping values are not allowed in this context");
    check(b"a: 1\n- b\n", "yaml: line 1: did not find expected key");
    check(b"\"unclosed", "yaml: found unexpected end of stream");
    check(b"a:\n- \"b", "yaml: line 2: found unexpected end of stream");
    check(b"-\t2", "yaml: found character that cannot start any token");
    check(b"a: @b", "yaml: found character that cannot start any token");
    check(b"a: \x01", "yaml: control characters are not allowed");
    check(b"a: \xff", "yaml: invalid leading UTF-8 octet");
    check(b"a: \xc3(", "yaml: invalid trailing UTF-8 octet");
    check(b"a: \xc3", "yaml: incomplete UTF-8 octet sequence");
    check(b"\xff\xfea", "yaml: incomplete UTF-16 character");
    check(b"\xff\xfe\0\xd8", "yaml: unexpected low surrogate area");
    check(b"a: .inf", "json: unsupported value: +Inf");
    check(b"a: -.inf", "json: unsupported value: -Inf");
    check(b"a: .nan", "json: unsupported value: NaN");
    check(b"? [x]\n: 1", "yaml: invalid map key");
    check(b"~: 1", "unsupported map key: interface {}(nil)");
    check(b"<<: 1", "yaml: map merge requires map or sequence of maps as the value");
    check(b"x: &x 1\n<<: [*x]", "yaml: map merge requires map or sequence of maps as the value");
    check(b"a: !!int b", "yaml: cannot decode !!str `b` as a !!int");
}

#[test]
fn limits_hold() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(MAX_DEPTH - 1).as_bytes()).is_ok());
    assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    assert!(parse(&vec![b' '; MAX_BYTES + 1]).is_err());
    let mut aliased = "a0: &a0 [x]\n".to_owned();
    for level in 1..=MAX_DEPTH {
        aliased += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert!(parse(aliased.as_bytes()).is_err());
    let error = parse("k: v\n".repeat(MAX_NODES / 2).as_bytes())
        .expect_err("the map itself is one too many");
    assert_eq!(error.to_string(), "yaml: text has more than 300000 keys and values");
    let too_many = |text: &str| parse(text.as_bytes()).map_err(|error| error.too_many);
    assert_eq!(too_many(&"k: v\n".repeat(MAX_NODES / 2)), Err(true));
    assert_eq!(too_many(&format!("[{}]", "[],".repeat(MAX_NODES))), Err(true));
    assert_eq!(too_many(&nested(MAX_DEPTH + 1)), Err(false));
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

#[test]
fn the_last_line_needs_no_break() {
    let check = |text: &str, expect: &str| {
        let (value, _) = parse(text.as_bytes()).unwrap();
        assert_eq!(value.str_at(&["a"]), Some(expect), "{text:?}");
    };
    for (style, broken, unbroken) in [
        ("|", "b\n", "b"),
        ("|-", "b", "b"),
        ("|+", "b\n", "b"),
        (">", "b\n", "b"),
        (">-", "b", "b"),
    ] {
        check(&format!("a: {style}\n  b\n"), broken);
        check(&format!("a: {style}\n  b"), unbroken);
    }
    check("a: b", "b");
    check("a: \"b\"", "b");
    check("a: |\n  b\nc: |\n  d", "b\n");
    assert!(parse(b"a: \"b\\").is_err());
}
