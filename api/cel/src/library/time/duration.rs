//! Durations: a signed number of nanoseconds in 64 bits, about 292 years either way.
//!
//! Invariants: text is read and printed as the reference engine does it; whatever leaves 64 bits is an error and never
//! wraps.

use std::fmt;

use super::INTEGER_OVERFLOW;

const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_MINUTE: i64 = 60 * NANOS_PER_SECOND;
const NANOS_PER_HOUR: i64 = 60 * NANOS_PER_MINUTE;
/// The magnitude of the smallest duration, one more than that of the largest.
const MAX_MAGNITUDE: u64 = 1 << 63;

/// A span of time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(i64);

impl Duration {
    /// That many nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// `seconds` and `nanos`, which have the same sign; `None` when they do not fit.
    #[must_use]
    pub fn from_parts(seconds: i64, nanos: i32) -> Option<Self> {
        seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(i64::from(nanos)).map(Self)
    }

    /// Reads text such as `1h30m` or `-1.5s`; `None` when it is no duration.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Some(Self(0));
        }
        if rest.is_empty() {
            return None;
        }
        let magnitude = sum_of_terms(rest)?;
        match (negative, magnitude) {
            (true, _) => Some(Self((magnitude as i64).wrapping_neg())),
            (false, MAX_MAGNITUDE) => None,
            (false, _) => i64::try_from(magnitude).ok().map(Self),
        }
    }

    /// All of it in nanoseconds.
    #[must_use]
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds, towards zero.
    #[must_use]
    pub const fn whole_seconds(self) -> i64 {
        self.0 / NANOS_PER_SECOND
    }

    /// Nanoseconds after the whole seconds, with the same sign.
    #[must_use]
    pub fn subsecond_nanos(self) -> i32 {
        i32::try_from(self.0 % NANOS_PER_SECOND).expect("a remainder of a billion fits 32 bits")
    }

    /// The sum.
    pub fn checked_add(self, other: Self) -> Result<Self, &'static str> {
        self.0.checked_add(other.0).map(Self).ok_or(INTEGER_OVERFLOW)
    }

    /// The difference.
    pub fn checked_sub(self, other: Self) -> Result<Self, &'static str> {
        self.0.checked_sub(other.0).map(Self).ok_or(INTEGER_OVERFLOW)
    }

    /// All of it in hours.
    #[must_use]
    pub fn hours(self) -> i64 {
        self.in_units(NANOS_PER_HOUR) as i64
    }

    /// All of it in minutes.
    #[must_use]
    pub fn minutes(self) -> i64 {
        self.in_units(NANOS_PER_MINUTE) as i64
    }

    /// All of it in seconds; rounded as a double is, so that what lacks a nanosecond may count as whole.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.in_units(NANOS_PER_SECOND) as i64
    }

    /// All of it in milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> i64 {
        self.0 / NANOS_PER_MILLI
    }

    fn in_units(self, unit: i64) -> f64 {
        (self.0 / unit) as f64 + (self.0 % unit) as f64 / unit as f64
    }
}

impl fmt::Display for Duration {
    /// Seconds with the digits a double has for them, `90s`, `0.5s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.in_units(NANOS_PER_SECOND))
    }
}

/// The nanoseconds of `1h30m`, up to [`MAX_MAGNITUDE`].
fn sum_of_terms(mut rest: &str) -> Option<u64> {
    let mut sum = 0_u64;
    while !rest.is_empty() {
        if !rest.starts_with(|c: char| c == '.' || c.is_ascii_digit()) {
            return None;
        }
        let (whole, after) = leading_integer(rest)?;
        let has_whole = after.len() != rest.len();
        rest = after;
        let mut fraction = Fraction { digits: 0, scale: 1.0 };
        let mut has_fraction = false;
        if let Some(after) = rest.strip_prefix('.') {
            let (read, tail) = Fraction::leading(after);
            (fraction, has_fraction, rest) = (read, tail.len() != after.len(), tail);
        }
        if !has_whole && !has_fraction {
            return None;
        }
        let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = unit_of(&rest[..end])?;
        rest = &rest[end..];
        if whole > MAX_MAGNITUDE / unit {
            return None;
        }
        let mut term = whole * unit;
        if fraction.digits > 0 {
            term =
                term.checked_add((fraction.digits as f64 * (unit as f64 / fraction.scale)) as u64)?;
        }
        // Two terms of the greatest magnitude come out as none, as they do for the reference engine.
        sum = sum.wrapping_add(term);
        if term > MAX_MAGNITUDE || sum > MAX_MAGNITUDE {
            return None;
        }
    }
    Some(sum)
}

/// Digits after a point.
struct Fraction {
    digits: u64,
    /// Ten to the number of digits.
    scale: f64,
}

impl Fraction {
    /// The digits that `text` begins with, those beyond 64 bits left out, and what follows them.
    fn leading(text: &str) -> (Self, &str) {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let mut read = Self { digits: 0, scale: 1.0 };
        for digit in text[..end].bytes() {
            if read.digits > (MAX_MAGNITUDE - 1) / 10 {
                break;
            }
            let next = read.digits * 10 + u64::from(digit - b'0');
            if next > MAX_MAGNITUDE {
                break;
            }
            (read.digits, read.scale) = (next, read.scale * 10.0);
        }
        (read, &text[end..])
    }
}

/// The integer that `text` begins with (0 without a digit) and what follows it; `None` beyond [`MAX_MAGNITUDE`].
fn leading_integer(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut value = 0_u64;
    for digit in text[..end].bytes() {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        if value > MAX_MAGNITUDE {
            return None;
        }
    }
    Some((value, &text[end..]))
}

/// Nanoseconds of a unit.
fn unit_of(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}
