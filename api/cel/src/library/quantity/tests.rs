//! Quantities as the reference engine reads, prints and adds them.

use super::*;

#[test]
fn printed_forms() {
    let check = |text: &str, expect: &str| {
        assert_eq!(Quantity::parse(text).unwrap().to_string(), expect, "{text:?}")
    };
    check("0", "0");
    check("-1", "-1");
    check("1.5", "1500m");
    check(".5", "500m");
    check("1k", "1k");
    check("1M", "1M");
    check("1T", "1T");
    check("1Ki", "1Ki");
    check("1Mi", "1Mi");
    check("1Ti", "1Ti");
    check("1Ei", "1Ei");
    check("1m", "1m");
    check("1500m", "1500m");
    check("1u", "1u");
    check("0.1n", "1n");
    check("1e3", "1e3");
    check("1E3", "1E3");
    check("1e-3", "1e-3");
    check("1e+3", "1e+3");
    check("1.5e3", "1500");
    check("Mi", "0");
    check("k", "0");
    check("+", "0");
    check("9223372036854775807", "9223372036854775807");
    check("9223372036854775808", "9223372036854775808");
    check("-9223372036854775808", "-9223372036854775808");
    check("-9223372036854775809", "-9223372036854775809");
    check("9223372036854775807k", "9223372036854775807k");
    check("1.0Gi", "1Gi");
    check("0.0000000001", "1n");
    check("1e20", "100e18");
    check("0.1", "100m");
    check("1.0", "1");
    check("1.00", "1");
    check("01", "01");
    check("00.5", "500m");
    check("1000k", "1M");
    check("1024Ki", "1Mi");
    check("2000m", "2");
    check("-0", "0");
    check("-0.0", "0");
    check("0m", "0");
    check("1.5Gi", "1536Mi");
    check("8Ei", "9223372036854775807");
    check("7.999999Ei", "9223370883933271201153024u");
    check("10E", "10E");
    check("-8Ei", "-9223372036854775807");
    check("1e18", "1e18");
    check("1e19", "10e18");
    check("1000E", "1");
    check("5.", "5.");
    check("1e99999999999", "10e1215752190");
    check("999999999999999999999999", "999999999999999999999999");
}

#[test]
fn texts_that_are_no_quantities() {
    let check = |text: &str, expect: &str| {
        assert!(Quantity::parse(text).unwrap_err().starts_with(expect), "{text:?}")
    };
    for text in
        ["", " ", "1 k", "1.2.3", "1,5", "0x10", "١", "1EiB", "1e3i", "NaN", "1_000", "1p", "1k "]
    {
        check(text, "quantities must match");
    }
    for text in ["1ki", "1K", "1e", "1i", "1mi", "--1", "1e99999999999999999999"] {
        check(text, "unable to parse quantity's suffix");
    }
    check("e-10", "unable to parse numeric part");
    check(&"9".repeat(30_000), "unable to parse numeric part");
    check("1234567890123456789e2000000000", "unable to parse numeric part");
}

#[test]
fn integers_and_doubles() {
    let check = |text: &str, integer: Option<i64>, double: f64| {
        let quantity = Quantity::parse(text).unwrap();
        assert_eq!(
            (quantity.as_integer(), quantity.as_approximate_float()),
            (integer, double),
            "{text}"
        );
    };
    check("0", Some(0), 0.0);
    check("1Ki", Some(1024), 1024.0);
    check("8E", Some(8_000_000_000_000_000_000), 8e18);
    check("10E", None, 1e19);
    check("1000m", None, 1.0);
    check("1.0", None, 1.0);
    check("8Ei", None, 9_223_372_036_854_775_807.0);
    check("9223372036854775807", None, 9_223_372_036_854_775_807.0);
    check("9223372036854775807k", None, 9.223372036854777e21);
    check("0.1n", None, 1e-9);
    check("1e400", None, f64::INFINITY);
    check("-1e400", None, f64::NEG_INFINITY);
    check("1.5Gi", None, 1_610_612_736.0);
    check("1e-9", None, 1e-9);
    assert!(Quantity::parse("0e400").unwrap().as_approximate_float().is_nan());
}

#[test]
fn sums_and_differences() {
    let of = |text: &str| Quantity::parse(text).unwrap();
    let check = |left: &str, right: &str, sum: &str, difference: &str| {
        assert_eq!(of(left).add(&of(right)).unwrap().to_string(), sum, "{left} + {right}");
        assert_eq!(of(left).sub(&of(right)).unwrap().to_string(), difference, "{left} - {right}");
    };
    check("50k", "20k", "70k", "30k");
    check("1Gi", "1G", "2073741824", "73741824");
    check("1", "1m", "1001m", "999m");
    check("9223372036854775807", "1", "9223372036854775808", "9223372036854775806");
    check("1e20", "1", "100000000000000000001", "99999999999999999999");
    check("8Ei", "8Ei", "18446744073709551614", "0");
    check("12E6", "1k", "12001e3", "11999e3");
    check("1Ki", "1m", "1024001m", "1023999m");
    check("0", "1Ki", "1Ki", "-1Ki");
    assert!(of("1e2000000000").add(&of("1")).is_none());
    let check = |left: &str, units: i64, sum: &str, difference: &str| {
        let units = Quantity::from_units(units);
        assert_eq!(of(left).add(&units).unwrap().to_string(), sum, "{left}");
        assert_eq!(of(left).sub(&units).unwrap().to_string(), difference, "{left}");
    };
    check("1m", i64::MIN, "-9223372036854775807999m", "9223372036854775808001m");
    check("-1", i64::MIN, "-9223372036854775809", "9223372036854775807");
    check("1Gi", i64::MAX, "9223372037928517631", "-9223372035781033983");
    check("50k", 20, "50020", "49980");
    // The reference engine negates the smallest integer to itself.
    check("1Gi", i64::MIN, "-8589934591Gi", "-8589934591Gi");
}

#[test]
fn order() {
    let check = |left: &str, right: &str, expect: std::cmp::Ordering| {
        let (left, right) = (Quantity::parse(left).unwrap(), Quantity::parse(right).unwrap());
        assert_eq!(
            (left.cmp(&right), right.cmp(&left)),
            (expect, expect.reverse()),
            "{left} {right}"
        );
    };
    check("1.5", "1500m", std::cmp::Ordering::Equal);
    check("1Ki", "1024", std::cmp::Ordering::Equal);
    check("1k", "1Ki", std::cmp::Ordering::Less);
    check("-1e2000000000", "1", std::cmp::Ordering::Less);
    check("1e2000000000", "1e1999999999", std::cmp::Ordering::Greater);
    check("-1e2000000000", "-5", std::cmp::Ordering::Less);
    check("0", "-0.0", std::cmp::Ordering::Equal);
}
