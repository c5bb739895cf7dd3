//! Durations in query parameters: `30s`, `1m30s`, `1.5h`.
//!
//! Invariant: the messages are those of Go's `time.ParseDuration`, which clients know. Not here:
//! what a duration is for.

use quorate_meta::quoted;
use quorate_registry::Error as ApiError;
use thiserror::Error;

/// Each unit in nanoseconds.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// Digits after the point that can matter: an hour has fewer nanoseconds than this has places.
const FRACTION_DIGITS: usize = 18;

/// A text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("time: {problem} duration {}", quoted(.text))]
pub struct DurationError {
    problem: String,
    text: String,
}

/// The nanoseconds of a duration.
pub(super) fn nanoseconds(text: &str) -> Result<i64, DurationError> {
    let wrong = |problem: String| DurationError { problem, text: text.to_owned() };
    let invalid = || wrong("invalid".into());
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0_i128;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let (unit, after) = after
            .split_at(after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len()));
        if unit.is_empty() {
            return Err(wrong("missing unit in".into()));
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(wrong(format!("unknown unit {} in", quoted(unit))));
        };
        total += scaled(whole, fraction, *scale).ok_or_else(invalid)?;
        rest = after;
        if total > i128::from(i64::MAX) + 1 {
            return Err(invalid());
        }
    }
    let signed = if text.starts_with('-') { -total } else { total };
    i64::try_from(signed).map_err(|_| invalid())
}

/// The digits that a text begins with, and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `whole.fraction` times `scale`; `None` when that is far too much.
fn scaled(whole: &str, fraction: &str, scale: i128) -> Option<i128> {
    let number = |text: &str| {
        if text.is_empty() { Some(0) } else { text.parse::<u64>().ok().map(i128::from) }
    };
    let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let places = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    Some(number(whole)? * scale + number(fraction)? * scale / places)
}

impl From<DurationError> for ApiError {
    fn from(error: DurationError) -> Self {
        Self::bad_request(format!("invalid timeout specified in the request URL - {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_duration() {
        let check = |text: &str, expect: i64| assert_eq!(nanoseconds(text), Ok(expect), "{text}");
        check("0", 0);
        check("+0", 0);
        check("0s", 0);
        check("30s", 30_000_000_000);
        check("1m30s", 90_000_000_000);
        check("1.5h", 5_400_000_000_000);
        check(".5s", 500_000_000);
        check("5.s", 5_000_000_000);
        check("-5ms", -5_000_000);
        check("7us8µs9μs1ns", 24_001);
        check("0.0000000000000000000001h", 0);
        check("9223372036854775807ns", i64::MAX);
        check("-9223372036854775808ns", i64::MIN);
    }

    #[test]
    fn what_is_none() {
        let check = |text: &str, expect: &str| {
            assert_eq!(
                nanoseconds(text).map_err(|error| error.to_string()),
                Err(format!("time: {expect}")),
                "{text}"
            );
        };
        check("", "invalid duration \"\"");
        check("-", "invalid duration \"-\"");
        check("abc", "invalid duration \"abc\"");
        check(".s", "invalid duration \".s\"");
        check("5", "missing unit in duration \"5\"");
        check("1m5", "missing unit in duration \"1m5\"");
        check("5d", "unknown unit \"d\" in duration \"5d\"");
        check("5 s", "unknown unit \" s\" in duration \"5 s\"");
        check("9223372036854775808ns", "invalid duration \"9223372036854775808ns\"");
        check("99999999999999999999s", "invalid duration \"99999999999999999999s\"");
        check("3000000h", "invalid duration \"3000000h\"");
    }
}
