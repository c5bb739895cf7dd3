//! Decimal numbers of any length: digits and how many of them follow the point.
//!
//! Invariant: never longer than [`MAX_DIGITS`] by more than one operation, so that every operation is quick.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// Most digits of a number, and most places between the points of two numbers that meet.
pub(super) const MAX_DIGITS: u32 = 20_000;

/// `unscaled` times ten to the power of minus `scale`.
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    pub(super) unscaled: BigInt,
    pub(super) scale: i32,
}

impl Decimal {
    pub(super) fn new(unscaled: impl Into<BigInt>, scale: i32) -> Self {
        Self { unscaled: unscaled.into(), scale }
    }

    /// Reads digits with a sign and a point; `None` without a digit or with too many.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_DIGITS as usize {
            return None;
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = [whole, fraction].concat();
        let unscaled = digits.parse().ok()?;
        Some(Self { unscaled, scale: i32::try_from(fraction.len()).ok()? })
    }

    pub(super) fn sign(&self) -> i64 {
        match self.unscaled.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    /// The sum; `None` when the points are too far apart.
    pub(super) fn add(&self, other: &Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        Some(Self { unscaled: self.digits_at(scale)? + other.digits_at(scale)?, scale })
    }

    /// The difference; `None` when the points are too far apart.
    pub(super) fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&Self { unscaled: -&other.unscaled, scale: other.scale })
    }

    /// With exactly `scale` digits after the point, rounded away from zero; `None` when that would be too long.
    pub(super) fn rounded(&self, scale: i32) -> Option<Self> {
        if scale >= self.scale {
            return Some(Self { unscaled: self.digits_at(scale)?, scale });
        }
        let unit = power_of_ten(i64::from(self.scale) - i64::from(scale));
        // Beyond its digits a number is less than one unit.
        let Some(unit) = unit else {
            return Some(Self::new(self.sign(), scale));
        };
        let (quotient, rest) = (&self.unscaled / &unit, &self.unscaled % &unit);
        let carry = if rest.sign() == Sign::NoSign { 0 } else { self.sign() };
        Some(Self { unscaled: quotient + carry, scale })
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let signs = self.sign().cmp(&other.sign());
        if signs.is_ne() || self.sign() == 0 {
            return signs;
        }
        let scale = self.scale.max(other.scale);
        match (self.digits_at(scale), other.digits_at(scale)) {
            (Some(left), Some(right)) => left.cmp(&right),
            // The points are farther apart than either number is long, so the magnitudes differ.
            _ => {
                let larger = self.magnitude().cmp(&other.magnitude());
                if self.sign() < 0 { larger.reverse() } else { larger }
            }
        }
    }

    /// Digits before the point, below zero for leading zeros after it.
    fn magnitude(&self) -> i64 {
        i64::try_from(self.unscaled.magnitude().to_string().len()).unwrap_or(i64::MAX)
            - i64::from(self.scale)
    }

    /// The number as digits with `scale` of them after the point, of which there are at least as many as now.
    fn digits_at(&self, scale: i32) -> Option<BigInt> {
        let places = i64::from(scale) - i64::from(self.scale);
        if self.unscaled.sign() == Sign::NoSign {
            return Some(BigInt::ZERO);
        }
        Some(&self.unscaled * power_of_ten(places)?)
    }
}

/// Ten to the power of `places`; `None` beyond [`MAX_DIGITS`].
fn power_of_ten(places: i64) -> Option<BigInt> {
    let places = u32::try_from(places).ok().filter(|places| *places <= MAX_DIGITS)?;
    Some(BigInt::from(10).pow(places))
}

/// `number` without its factors `factor`, and how many those were; zero has none.
pub(super) fn without_factors(number: &BigInt, factor: u32) -> (BigInt, i32) {
    let (mut number, mut times) = (number.clone(), 0);
    while number.sign() != Sign::NoSign && (&number % factor).sign() == Sign::NoSign {
        (number, times) = (number / factor, times + 1);
    }
    (number, times)
}
