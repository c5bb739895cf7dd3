//! Amounts: 64-bit numbers with a power of ten while they fit, decimals of any length beyond.
//!
//! Invariants: the two representations are kept apart as the reference engine keeps them, since only a small amount can be
//! an integer for expressions.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::decimal::{Decimal, without_factors};

/// How much.
#[derive(Debug, Clone)]
pub(super) enum Amount {
    /// `value` times ten to the power of `scale`.
    Small {
        /// The number.
        value: i64,
        /// The exponent.
        scale: i32,
    },
    /// What does not fit.
    Large(Decimal),
}

impl Amount {
    pub(super) fn is_zero(&self) -> bool {
        self.sign() == 0
    }

    pub(super) fn sign(&self) -> i64 {
        match self {
            Self::Small { value, .. } => value.signum(),
            Self::Large(decimal) => decimal.sign(),
        }
    }

    /// The whole number that a small amount with no negative exponent is.
    pub(super) fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Small { value, scale } => scaled_up(*value, u32::try_from(*scale).ok()?),
            Self::Large(_) => None,
        }
    }

    /// The nearest double, by way of the number without its exponent.
    pub(super) fn to_double(&self) -> f64 {
        let (base, exponent) = match self {
            Self::Small { value, scale } => (*value as f64, *scale),
            // A decimal text is rounded correctly.
            Self::Large(Decimal { unscaled, scale }) => {
                (unscaled.to_string().parse().unwrap_or(f64::NAN), scale.saturating_neg())
            }
        };
        if exponent == 0 { base } else { base * power_of_ten(exponent) }
    }

    pub(super) fn to_decimal(&self) -> Decimal {
        match self {
            Self::Small { value, scale } => Decimal::new(*value, scale.wrapping_neg()),
            Self::Large(decimal) => decimal.clone(),
        }
    }

    /// The sum; `None` when the exponents are too far apart.
    pub(super) fn add(&self, other: &Self) -> Option<Self> {
        if let (
            Self::Small { value: left, scale },
            Self::Small { value: right, scale: other_scale },
        ) = (self, other)
            && let Some(sum) = small_sum(*left, *scale, *right, *other_scale)
        {
            return Some(sum);
        }
        self.to_decimal().add(&other.to_decimal()).map(Self::Large)
    }

    /// The difference; `None` when the exponents are too far apart.
    pub(super) fn sub(&self, other: &Self) -> Option<Self> {
        if let (Self::Small { value: left, scale }, Self::Small { value: right, scale: other_scale }) = (self, other)
            // The smallest number is its own negative for the reference engine.
            && let Some(difference) = small_sum(*left, *scale, right.wrapping_neg(), *other_scale)
        {
            return Some(difference);
        }
        self.to_decimal().sub(&other.to_decimal()).map(Self::Large)
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small { value: left, scale }, Self::Small { value: right, scale: other })
                if scale == other =>
            {
                left.cmp(right)
            }
            _ => self.to_decimal().compare(&other.to_decimal()),
        }
    }

    /// A whole number of which this is the product with a power of 1000, and that power's exponent of ten.
    pub(super) fn in_thousands(&self) -> (BigInt, i32) {
        let Decimal { unscaled, scale } = self.to_decimal();
        let (number, times) = without_factors(&unscaled, 10);
        let exponent = times.wrapping_sub(scale);
        let rest = exponent.rem_euclid(3);
        (number * 10_u32.pow(rest.unsigned_abs()), exponent.wrapping_sub(rest))
    }

    /// A whole number of which this is the product with a power of 1024, and that power; `None` when it is no whole number.
    pub(super) fn in_kibi(&self) -> Option<(BigInt, i32)> {
        let decimal = self.to_decimal();
        let whole = decimal.rounded(0)?;
        whole.compare(&decimal).is_eq().then(|| without_factors(&whole.unscaled, 1024))
    }
}

/// The sum of two small amounts, unless it has to be large.
fn small_sum(left: i64, scale: i32, right: i64, other: i32) -> Option<Amount> {
    let small = |value, scale| Amount::Small { value, scale };
    match scale.cmp(&other) {
        _ if right == 0 => Some(small(left, scale)),
        _ if left == 0 => Some(small(right, other)),
        Ordering::Equal => left.checked_add(right).map(|sum| small(sum, scale)),
        Ordering::Greater => {
            let left = scaled_up(left, scale.wrapping_sub(other).cast_unsigned())?;
            left.checked_add(right).map(|sum| small(sum, other))
        }
        Ordering::Less => {
            let right = scaled_up(right, other.wrapping_sub(scale).cast_unsigned())?;
            left.checked_add(right).map(|sum| small(sum, scale))
        }
    }
}

/// `value` times ten to the power of `places`.
fn scaled_up(value: i64, places: u32) -> Option<i64> {
    match (value, places) {
        (_, 0) | (0, _) => Some(value),
        (i64::MIN, _) => None,
        _ => value.checked_mul(10_i64.checked_pow(places)?),
    }
}

/// Ten to the power of `exponent`, as the product of two powers that doubles hold exactly or nearly.
fn power_of_ten(exponent: i32) -> f64 {
    let power = |exponent: i32| format!("1e{exponent}").parse::<f64>().unwrap_or(f64::NAN);
    match exponent {
        0..=308 => power(exponent % 32) * power(exponent / 32 * 32),
        -323..0 => power(exponent / 32 * 32) / power(-exponent % 32),
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}
