//! Numbers as the text form of metrics writes them: the shortest decimal that reads back as the
//! same, with an exponent below 0.0001 and from a million on.

use std::fmt::Write;

/// Digits before the point from which on a number has an exponent.
const LONGEST: i32 = 6;
/// The exponent below which a small number has one.
const SMALLEST: i32 = -4;

/// Writes a number.
pub(crate) fn write(out: &mut String, value: f64) {
    // Strings grow.
    let _ = match value {
        value if value.is_nan() => out.write_str("NaN"),
        value if value.is_infinite() => out.write_str(if value > 0.0 { "+Inf" } else { "-Inf" }),
        0.0 => out.write_char('0'),
        value => write_finite(out, value),
    };
}

fn write_finite(out: &mut String, value: f64) -> std::fmt::Result {
    let exponent = exponent_of(value);
    if (SMALLEST..LONGEST).contains(&exponent) {
        return write!(out, "{value}");
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    write!(out, "{digits}e{sign}{exponent:0>2}")
}

/// The power of ten of the first digit.
fn exponent_of(value: f64) -> i32 {
    let size = value.abs();
    // Most numbers are counts.
    if (1.0..1e6).contains(&size) {
        return 0;
    }
    let text = format!("{size:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let check = |value: f64, expect: &str| {
            let mut out = String::new();
            write(&mut out, value);
            assert_eq!(out, expect);
        };
        check(0.0, "0");
        check(-0.0, "0");
        check(1.0, "1");
        check(-3.5, "-3.5");
        check(0.005, "0.005");
        check(0.0001, "0.0001");
        check(1e-5, "1e-05");
        check(5e-7, "5e-07");
        check(999_999.0, "999999");
        check(1e6, "1e+06");
        check(1_050_000.0, "1.05e+06");
        check(1.234_567_89e8, "1.23456789e+08");
        check(1e100, "1e+100");
        check(f64::INFINITY, "+Inf");
        check(f64::NEG_INFINITY, "-Inf");
        check(f64::NAN, "NaN");
    }
}
