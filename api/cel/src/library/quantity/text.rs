//! The text of quantities, read as the reference engine reads it.

use num_bigint::BigInt;

use super::amount::Amount;
use super::decimal::{Decimal, MAX_DIGITS};
use super::value::{BINARY, DECIMAL, Family, Quantity};

const MALFORMED: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NO_NUMBER: &str = "unable to parse numeric part of quantity";
const UNKNOWN_SUFFIX: &str = "unable to parse quantity's suffix";
/// Letters of suffixes.
const SUFFIX_LETTERS: &str = "eEinumkKMGTP";
/// Digits that always fit 64 bits.
const SMALL_DIGITS: usize = 18;
/// The exponent of the smallest amount that is kept.
const NANO: i32 = -9;

/// The parts of a text.
struct Parts<'t> {
    negative: bool,
    /// Sign, digits and point.
    value: &'t str,
    /// Digits before the point without leading zeros, `0` when there are none.
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

/// Reads a quantity.
pub(super) fn read(text: &str) -> Result<Quantity, &'static str> {
    if text.is_empty() {
        return Err(MALFORMED);
    }
    let parts = split(text)?;
    let (family, exponent) = suffix_of(parts.suffix).ok_or(UNKNOWN_SUFFIX)?;
    if let Some((amount, is_printed_form)) = small(&parts, family, exponent) {
        let text = is_printed_form.then(|| text.into());
        return Ok(Quantity { amount, family, text });
    }
    large(&parts, family, exponent)
}

fn split(text: &str) -> Result<Parts<'_>, &'static str> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let bare = unsigned.trim_start_matches('0');
    if bare.is_empty() {
        return Ok(Parts { negative, value: "0", whole: "0", fraction: "", suffix: "" });
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = bare.split_at(digits(bare));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(after) => after.split_at(digits(after)),
        None => ("", rest),
    };
    let letters = suffix.find(|c| !SUFFIX_LETTERS.contains(c)).unwrap_or(suffix.len());
    let exponent = suffix[letters..].strip_prefix(['+', '-']).unwrap_or(&suffix[letters..]);
    if digits(exponent) != exponent.len() {
        return Err(MALFORMED);
    }
    let value = &text[..text.len() - suffix.len()];
    Ok(Parts {
        negative,
        value,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        suffix,
    })
}

/// Family and power (of ten, or of two) of a suffix.
fn suffix_of(suffix: &str) -> Option<(Family, i32)> {
    let power = |table: &[&str]| {
        table.iter().position(|known| *known == suffix).and_then(|at| i32::try_from(at).ok())
    };
    if let Some(power) = power(&DECIMAL) {
        return Some((Family::Decimal, power * 3 + NANO));
    }
    if let Some(power) = power(&BINARY) {
        return Some((Family::Binary, power * 10));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // What does not fit is cut, as it is by the reference engine.
    Some((Family::Exponent, exponent as i32))
}

/// The amount, when it has few digits, and whether the text is its printed form.
fn small(parts: &Parts<'_>, family: Family, exponent: i32) -> Option<(Amount, bool)> {
    let Parts { whole, fraction, .. } = parts;
    let length = whole.len() + fraction.len();
    let binary = family == Family::Binary;
    let few = if binary {
        // A power of 1024 has three digits or a little more.
        fraction.is_empty() && i64::from(exponent * 3 / 10) + 1 + length as i64 <= 15
    } else {
        length <= SMALL_DIGITS
    };
    let power = if binary { 0 } else { exponent };
    let scale = power.wrapping_sub(i32::try_from(fraction.len()).ok()?);
    if !few || scale < NANO {
        return None;
    }
    let digits = [*whole, *fraction].concat();
    let number: i64 = digits.parse().ok()?;
    let factor = if binary { 1_i64.checked_shl(exponent.unsigned_abs())? } else { 1 };
    let size = number.checked_mul(factor)?;
    let is_printed_form = if binary {
        number & 7 != 0
    } else {
        scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
    };
    let value = if parts.negative { -size } else { size };
    Some((Amount::Small { value, scale }, is_printed_form))
}

/// The amount as a decimal: rounded away from zero to billionths, binary ones capped.
fn large(parts: &Parts<'_>, mut family: Family, exponent: i32) -> Result<Quantity, &'static str> {
    let mut decimal = Decimal::parse(parts.value).ok_or(NO_NUMBER)?;
    match family {
        Family::Binary => decimal.unscaled <<= exponent,
        _ => decimal.scale = decimal.scale.wrapping_sub(exponent),
    }
    if decimal.sign() != 0 {
        decimal = decimal.rounded(-NANO).ok_or(NO_NUMBER)?;
    }
    if family == Family::Binary {
        let (sign, size) =
            (decimal.sign(), Decimal::new(decimal.unscaled.magnitude().clone(), decimal.scale));
        let (most, one) = (Decimal::new(i64::MAX, 0), Decimal::new(1, 0));
        if size.compare(&most).is_gt() {
            decimal = Decimal::new(BigInt::from(i64::MAX) * sign, 0);
        }
        if size.compare(&one).is_lt() && sign != 0 {
            family = Family::Decimal;
        }
    }
    debug_assert!(
        decimal.unscaled.bits() <= u64::from(MAX_DIGITS) * 8,
        "the number of digits is bounded"
    );
    Ok(Quantity { amount: Amount::Large(decimal), family, text: None })
}
