//! Formatted values, and what is wrong with format strings.

use super::*;
use crate::library::time::{Duration, Timestamp};
use crate::value::{Table, Value};

fn check(text: &str, arguments: Vec<Value<'_>>, expect: Result<&str, &str>) {
    let printed = format(text, &List::from(arguments));
    assert_eq!(printed.as_deref().map_err(|error| &**error), expect, "{text}");
}

fn printed(text: &str, argument: Value<'_>, expect: &str) {
    check(text, vec![argument], Ok(expect));
}

#[test]
fn text_and_clauses() {
    check("abc%%", vec![], Ok("abc%"));
    check("é%d😀", vec![Value::Int(1)], Ok("é1😀"));
    check("%s-%s", vec![Value::string("a"), Value::string("%s"), Value::Null], Ok("a-%s"));
    check("%.2s|%.3x", vec![Value::string("abc"), Value::Int(255)], Ok("abc|ff"));
    check("%s", vec![], Err("index 0 out of range"));
    check("a%", vec![Value::Null], Err("unexpected end of string"));
    let clause = |text: &str, expect: &str| {
        check(
            text,
            vec![Value::Int(1)],
            Err(&format!("could not parse formatting clause: {expect}")),
        );
    };
    clause("%q", "unrecognized formatting clause \"q\"");
    clause("%é", "unrecognized formatting clause \"Ã\"");
    clause("%05d", "unrecognized formatting clause \"0\"");
    clause("%.", "error while parsing precision: could not find end of precision specifier");
    let conversion = "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing";
    clause("%.s", &format!("{conversion} \"\": invalid syntax"));
    clause(
        "%.99999999999999999999f",
        &format!("{conversion} \"99999999999999999999\": value out of range"),
    );
    clause("%.32768f", "error while parsing precision: precision is above 32767");
}

#[test]
fn fixed_and_scientific() {
    printed("%f", Value::Double(12345.678), "12,345.678000");
    printed("%.0f", Value::Double(2.5), "2");
    printed("%.2f", Value::Double(0.125), "0.12");
    printed("%.2f", Value::Double(-1_234_567.891), "-1,234,567.89");
    printed("%.3f", Value::Double(999.9999), "1,000.000");
    printed("%.20f", Value::Double(0.1), "0.10000000000000000555");
    printed("%.300f", Value::Double(1.5), &format!("1.5{}", "0".repeat(43)));
    printed("%.256f", Value::Double(2.0), "2");
    printed("%f", Value::string("NaN"), "NaN");
    printed("%f", Value::Double(f64::NEG_INFINITY), "-∞");
    printed("%e", Value::Double(1500.0), "1.500000×10⁰³");
    printed("%.10e", Value::Double(-2.5e100), "-2.500000×10¹⁰⁰");
    printed("%.20e", Value::Double(1.5e-7), "      1.500000×10⁻⁰⁷");
    printed("%e", Value::Double(f64::NAN), "   NaN");
    printed("%.0e", Value::string("Infinity"), "∞");
    check(
        "%f",
        vec![Value::string("1.5")],
        Err(
            "error during formatting: fixed-point clause can only be used on doubles, was given string",
        ),
    );
}

#[test]
fn digits() {
    printed("%d", Value::Int(i64::MIN), "-9223372036854775808");
    printed("%b", Value::Int(-5), "-101");
    printed("%b", Value::Bool(true), "1");
    printed("%x", Value::Int(i64::MIN), "-8000000000000000");
    printed("%X", Value::string("jk"), "6A6B");
    printed("%x", Value::bytes(*b"\xff\0"), "ff00");
    printed("%o", Value::Uint(u64::MAX), "1777777777777777777777");
    check(
        "%x",
        vec![Value::Double(1.0)],
        Err(
            "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double",
        ),
    );
}

#[test]
fn values_as_text() {
    let numbers = [0.1, 1e10, f64::NAN, f64::INFINITY].map(Value::Double).to_vec();
    printed("%s", Value::list(numbers), "[0.100000, 10000000000.000000, \"NaN\", \"+Inf\"]");
    printed("%s", Value::Double(1e20), "1e+20");
    let timed = vec![
        Value::Timestamp(Timestamp::parse("2022-05-06T07:08:09.5Z").unwrap()),
        Value::Duration(Duration::parse("4830.25s").unwrap()),
    ];
    printed(
        "%s",
        Value::list(timed),
        "[timestamp(\"2022-05-06T07:08:09.5Z\"), duration(\"4830.25s\")]",
    );
    let mut table = Table::default();
    table.insert(Value::string("b"), Value::list(vec![Value::Int(1), Value::Null]));
    table.insert(Value::Uint(2), Value::string("a\"\0"));
    table.insert(Value::Bool(true), Value::bytes(*b"x"));
    printed("%s", Value::map(table), r#"{"b":[1, null], 2:"a\"\x00", true:b"x"}"#);
    let error =
        "could not convert argument \"invalid UTF-8 in bytes, cannot convert to string\" to string";
    check("%s", vec![Value::bytes(*b"\xff")], Err(&format!("error during formatting: {error}")));
    let mut nested = Value::Null;
    for _ in 0..300 {
        nested = Value::list(vec![nested]);
    }
    check(
        "%s",
        vec![nested],
        Err("error during formatting: lists and maps are nested more than 250 deep"),
    );
}
