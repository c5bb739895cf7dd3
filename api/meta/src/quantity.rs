//! Quantities: amounts such as `100m`, `1.5Gi` and `2e3`, exact to a billionth.
//!
//! Invariants: an amount is a whole number of billionths, capped at the largest 64-bit integer in
//! both directions; finer amounts are rounded away from zero. The canonical form keeps the family
//! of suffixes of the input, with no fraction and the largest suffix that needs none; text in that
//! form already stays as it is.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Sub};

const NANO: i128 = 1_000_000_000;
/// The largest amount, in billionths.
const MAX_NANOS: i128 = i64::MAX as i128 * NANO;
/// Billionths of a thousandth.
const MILLI_NANOS: i128 = 1_000_000;
/// Digits up to which a decimal text in canonical form is kept.
const KEPT_DIGITS: usize = 18;

/// Suffixes of powers of 1000, from a billionth.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes of powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The family of suffixes of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// `n` to `E`.
    Decimal,
    /// `Ki` to `Ei`.
    Binary,
    /// `e3`, `E-2`.
    Exponent,
}

/// An amount. Equality ignores the way of writing.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    family: Family,
}

/// The parts of a text.
struct Parts<'t> {
    negative: bool,
    /// Digits before the point, without leading zeros but for a single one.
    whole: &'t str,
    fraction: &'t str,
    family: Family,
    exponent: i32,
}

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self { nanos: 0, family: Family::Decimal };

    /// That many whole units.
    pub fn from_units(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANO, family: Family::Decimal }
    }

    /// Reads a text; `None` when it is no quantity.
    pub fn parse(text: &str) -> Option<Self> {
        Parts::of(text).map(|parts| parts.amount())
    }

    /// The canonical form of a text; `None` when it is no quantity.
    pub fn canonical(text: &str) -> Option<String> {
        let parts = Parts::of(text)?;
        Some(if text == "0" || parts.is_kept() {
            text.to_owned()
        } else {
            parts.amount().to_string()
        })
    }

    /// The canonical form of a text, rounded up to thousandths; `None` when it is no quantity.
    pub fn canonical_in_milli(text: &str) -> Option<String> {
        let amount = Self::parse(text)?;
        let rounded = Self { nanos: round_up(amount.nanos, MILLI_NANOS) * MILLI_NANOS, ..amount };
        if rounded.nanos == amount.nanos {
            Self::canonical(text)
        } else {
            Some(rounded.to_string())
        }
    }

    /// Whether it is negative.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it is a number of whole units.
    pub fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// Whole units, rounded away from zero.
    pub fn units(self) -> i64 {
        i64::try_from(round_up(self.nanos, NANO)).unwrap_or(i64::MAX)
    }

    /// Thousandths, rounded away from zero.
    pub fn millis(self) -> i128 {
        round_up(self.nanos, MILLI_NANOS)
    }

    /// The family of the result of this and another: that of the first that is not zero.
    fn family_with(self, other: Self) -> Family {
        if self.is_zero() { other.family } else { self.family }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Add for Quantity {
    type Output = Self;

    /// The sum, in the family of the first that is not zero.
    fn add(self, other: Self) -> Self {
        let family = self.family_with(other);
        Self { nanos: (self.nanos + other.nanos).clamp(-MAX_NANOS, MAX_NANOS), family }
    }
}

impl Sub for Quantity {
    type Output = Self;

    /// The difference, in the family of the first that is not zero; it may be negative.
    fn sub(self, other: Self) -> Self {
        let family = self.family_with(other);
        Self { nanos: (self.nanos - other.nanos).clamp(-MAX_NANOS, MAX_NANOS), family }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let small = self.nanos.abs() < 1024 * NANO;
        match self.family {
            Family::Binary if !small => {
                let (mut number, mut power) = (round_up(self.nanos, NANO), 0);
                while number % 1024 == 0 && power + 1 < BINARY.len() {
                    (number, power) = (number / 1024, power + 1);
                }
                write!(f, "{number}{}", BINARY[power])
            }
            family => {
                let (mut number, mut power) = (self.nanos, 0);
                while number % 1000 == 0 && power + 1 < DECIMAL.len() {
                    (number, power) = (number / 1000, power + 1);
                }
                match (family, power) {
                    _ if number == 0 => f.write_str("0"),
                    (Family::Exponent, 3) => write!(f, "{number}"),
                    (Family::Exponent, _) => write!(f, "{number}e{}", power.cast_signed() * 3 - 9),
                    _ => write!(f, "{number}{}", DECIMAL[power]),
                }
            }
        }
    }
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = |text: &'t str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, rest) = unsigned.split_at(digits(unsigned));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole = whole.trim_start_matches('0');
        let (family, exponent) = suffix_of(suffix)?;
        let whole = if whole.is_empty() { "0" } else { whole };
        Some(Self { negative: text.starts_with('-'), whole, fraction, family, exponent })
    }

    /// Whether the text is in canonical form, by its digits alone.
    fn is_kept(&self) -> bool {
        let length = self.whole.len() + self.fraction.len();
        if self.family == Family::Binary {
            let power = usize::try_from(self.exponent).unwrap_or_default();
            let odd = self.whole.parse::<u64>().is_ok_and(|number| number % 8 != 0);
            return self.fraction.is_empty() && self.whole.len() + power * 3 < 15 && odd;
        }
        let scale = self.exponent - i32::try_from(self.fraction.len()).unwrap_or(i32::MAX);
        let digits = [self.whole, self.fraction].concat();
        let short = length <= KEPT_DIGITS && scale >= -9;
        short && scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
    }

    /// The amount, rounded and capped.
    fn amount(&self) -> Quantity {
        let digits = [self.whole, self.fraction].concat();
        let binary = self.family == Family::Binary;
        let scale = if binary { 0 } else { self.exponent }
            - i32::try_from(self.fraction.len()).unwrap_or(i32::MAX);
        let factor = if binary { 1024_i128.pow(self.exponent.unsigned_abs()) } else { 1 };
        let size = scaled(digits.trim_start_matches('0'), scale.saturating_add(9), factor);
        let family = if binary && size > 0 && size < NANO { Family::Decimal } else { self.family };
        Quantity { nanos: if self.negative { -size } else { size }, family }
    }
}

/// `digits * factor * 10^scale`, rounded up and capped.
fn scaled(digits: &str, scale: i32, factor: i128) -> i128 {
    if digits.is_empty() {
        return 0;
    }
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if length.saturating_add(scale) > 30 {
        return MAX_NANOS;
    }
    // Digits that only decide about rounding are left out, so that the rest fits.
    let kept = usize::try_from((length.saturating_add(scale) + 20).clamp(0, length).min(38))
        .unwrap_or_default();
    let mut number: i128 = if kept == 0 { 0 } else { digits[..kept].parse().unwrap_or(i128::MAX) };
    let mut rest = digits[kept..].bytes().any(|digit| digit != b'0');
    let mut scale = scale.saturating_add(length - i32::try_from(kept).unwrap_or(i32::MAX));
    while number > i128::MAX / factor && scale < 0 {
        rest |= number % 10 != 0;
        (number, scale) = (number / 10, scale + 1);
    }
    number = number.saturating_mul(factor);
    while scale < 0 && number != 0 {
        rest |= number % 10 != 0;
        (number, scale) = (number / 10, scale + 1);
    }
    for _ in 0..scale.max(0) {
        number = number.saturating_mul(10);
    }
    (number.saturating_add(i128::from(rest))).min(MAX_NANOS)
}

fn suffix_of(suffix: &str) -> Option<(Family, i32)> {
    let power = |table: &[&str]| {
        table.iter().position(|known| *known == suffix).and_then(|at| i32::try_from(at).ok())
    };
    if let Some(power) = power(&DECIMAL) {
        return Some((Family::Decimal, power * 3 - 9));
    }
    if let Some(power) = power(&BINARY) {
        return Some((Family::Binary, power));
    }
    let digits = suffix.strip_prefix(['e', 'E'])?;
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    let number = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    // More digits exceed every cap.
    let exponent =
        digits.parse().unwrap_or(if digits.starts_with('-') { i32::MIN / 2 } else { i32::MAX / 2 });
    number.then_some((Family::Exponent, exponent))
}

/// The quotient, rounded away from zero.
fn round_up(number: i128, unit: i128) -> i128 {
    number / unit + if number % unit == 0 { 0 } else { number.signum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_forms() {
        let check = |text: &str, expect: &str| {
            assert_eq!(Quantity::canonical(text).as_deref(), Some(expect), "{text}")
        };
        for text in [
            "0", "1", "100m", "1e3", "1E3", "1k", "1024", "1Ki", "1048576", "1G", "12e6", "-1",
            "3E", "3Ei",
        ] {
            check(text, text);
        }
        check("1000m", "1");
        check("0.5", "500m");
        check("1.5", "1500m");
        check("1.5k", "1500");
        check("1000", "1k");
        check("1024Ki", "1Mi");
        check("2.5Gi", "2560Mi");
        check("0.5Gi", "512Mi");
        check("0.1Ki", "102400m");
        check("1.1Ki", "1127");
        check("1.000000000000000000000000001Ei", "1152921504606846977");
        check("1000M", "1G");
        check("00", "0");
        check("0m", "0");
        check("0e5", "0");
        check("007", "007");
        check("1000e3", "1e6");
        check("1.2345", "1234500u");
        check(".5", "500m");
        check("-0.5", "-500m");
        check("0.0000000001", "1n");
        check("1e-12", "1e-9");
        check("9223372036854775808", "9223372036854775807");
        check("1e400", "9223372036854775807");
        check("1e-2147483648", "1e-9");
        check(&"9".repeat(1000), "9223372036854775807");
        check(&format!("0.{}1", "0".repeat(1000)), "1n");
    }

    #[test]
    fn rounded_to_thousandths() {
        let check = |text: &str, expect: &str| {
            assert_eq!(Quantity::canonical_in_milli(text).as_deref(), Some(expect))
        };
        check("1.2345", "1235m");
        check("-1.2345", "-1235m");
        check("1n", "1m");
        check("1E3", "1E3");
        check("1000u", "1m");
    }

    #[test]
    fn what_is_no_quantity() {
        for text in
            ["", "x", "1KI", "1kb", "1..5", "0x1", "--1", "1e", "1e+", ".", "-", "1 ", "1ee3"]
        {
            assert!(Quantity::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn amounts() {
        let amount = |text: &str| Quantity::parse(text).unwrap();
        assert_eq!(amount("1024Mi"), amount("1Gi"));
        assert_eq!(amount("1000m"), Quantity::from_units(1));
        assert!(
            amount("1") < amount("1001m") && amount("-1").is_negative() && amount("0e9").is_zero()
        );
        assert!(amount("2").is_whole() && !amount("1500m").is_whole());
        assert_eq!((amount("1500m").units(), amount("-1500m").units()), (2, -2));
        assert_eq!((amount("1Ki") + amount("1Ki")).to_string(), "2Ki");
        assert_eq!((Quantity::ZERO + amount("1Mi")).to_string(), "1Mi");
        assert_eq!((amount("500m") + amount("1Ki")).to_string(), "1024500m");
        assert_eq!((amount("9E") + amount("9E")).to_string(), "9223372036854775807");
        assert_eq!((amount("2Ki") - amount("1Ki")).to_string(), "1Ki");
        assert_eq!((amount("1") - amount("1500m")).to_string(), "-500m");
        assert_eq!((Quantity::ZERO - amount("1Mi")).to_string(), "-1Mi");
        assert_eq!((amount("-9E") - amount("9E")).to_string(), "-9223372036854775807");
        assert_eq!(
            (amount("1500u").millis(), amount("-1500u").millis(), amount("1Ki").millis()),
            (2, -2, 1_024_000)
        );
    }
}
