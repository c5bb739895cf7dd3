//! Doubles as text.

/// The largest decimal exponent of a double that `string(double)` prints without one.
const LARGEST_PLAIN_EXPONENT: i32 = 5;
/// The largest decimal exponent of a double that messages show without one.
const LARGEST_SHOWN_EXPONENT: i32 = 20;
/// The smallest decimal exponent of a double that is printed without one.
const SMALLEST_PLAIN_EXPONENT: i32 = -4;

/// The shortest text that reads as `value`, as `string(double)` gives it: scientific from 10^6 and below 10^-4 on.
pub(crate) fn format_double(value: f64) -> String {
    format_from(value, LARGEST_PLAIN_EXPONENT)
}

/// The shortest text that reads as `value`, as messages show it: scientific from 10^21 and below 10^-4 on.
pub(crate) fn show_double(value: f64) -> String {
    format_from(value, LARGEST_SHOWN_EXPONENT)
}

fn format_from(value: f64, largest_plain: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (SMALLEST_PLAIN_EXPONENT..=largest_plain).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Reads a number as the reference engine's host does: decimal or hexadecimal, `inf`, `nan`; out of range is an error.
pub(crate) fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hexadecimal) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let value = parse_hexadecimal(hexadecimal)?;
        return Some(if text.starts_with('-') { -value } else { value });
    }
    let named = unsigned.starts_with(|first: char| first.is_ascii_alphabetic());
    if named {
        let not_a_number = unsigned.eq_ignore_ascii_case("nan");
        return if not_a_number && unsigned.len() != text.len() { None } else { text.parse().ok() };
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Hexadecimal digits with an optional point, and a binary exponent that has to be there.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value.mul_add(16.0, f64::from(digit.to_digit(16)?));
    }
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let value = value * 2.0_f64.powi(exponent.checked_sub(places)?);
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed() {
        let check = |value: f64, expect: &str| assert_eq!(format_double(value), expect);
        check(0.0, "0");
        check(-0.5, "-0.5");
        check(100.0, "100");
        check(1e6, "1e+06");
        check(123_456_789.0, "1.23456789e+08");
        check(1e20, "1e+20");
        check(0.0001, "0.0001");
        check(1e-5, "1e-05");
        check(f64::MAX, "1.7976931348623157e+308");
        check(f64::NEG_INFINITY, "-Inf");
        assert_eq!(show_double(1e6), "1000000");
        assert_eq!(show_double(1e21), "1e+21");
    }

    #[test]
    fn read() {
        let check =
            |text: &str, expect: Option<f64>| assert_eq!(parse_double(text), expect, "{text}");
        check("+1", Some(1.0));
        check(".5", Some(0.5));
        check("5.", Some(5.0));
        check("0x1p4", Some(16.0));
        check("-0x.8p1", Some(-1.0));
        check("1e400", None);
        check("1e-400", Some(0.0));
        check("inf", Some(f64::INFINITY));
        check("-Infinity", Some(f64::NEG_INFINITY));
        check("0x10", None);
        check("+nan", None);
        check(" 1", None);
        check("1_000", None);
        assert!(parse_double("nan").is_some_and(f64::is_nan));
    }
}
