//! Quantities as expressions compute with them.
//!
//! Invariants: unlike the amounts of objects (`quorate_meta::Quantity`), decimal ones are not capped, and text without a
//! number is nothing rather than wrong.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use num_bigint::BigInt;

use super::amount::Amount;
use super::text::read;

/// An amount such as `100m` or `1.5Gi`.
#[derive(Debug, Clone)]
pub struct Quantity {
    pub(super) amount: Amount,
    pub(super) family: Family,
    /// The text it was read from, when that is its printed form.
    pub(super) text: Option<Arc<str>>,
}

/// A family of suffixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// `n` to `E`.
    Decimal,
    /// `Ki` to `Ei`.
    Binary,
    /// `e3`.
    Exponent,
}

impl Quantity {
    /// Reads a quantity; the error is what the expression fails with.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        read(text)
    }

    /// That many units.
    #[must_use]
    pub fn from_units(units: i64) -> Self {
        Self {
            amount: Amount::Small { value: units, scale: 0 },
            family: Family::Exponent,
            text: None,
        }
    }

    /// The sum, in the family of the first that is not nothing; `None` when the exponents are too far apart.
    #[must_use]
    pub fn add(&self, other: &Self) -> Option<Self> {
        Some(Self {
            amount: self.amount.add(&other.amount)?,
            family: self.family_with(other),
            text: None,
        })
    }

    /// The difference, in the family of the first that is not nothing; `None` when the exponents are too far apart.
    #[must_use]
    pub fn sub(&self, other: &Self) -> Option<Self> {
        Some(Self {
            amount: self.amount.sub(&other.amount)?,
            family: self.family_with(other),
            text: None,
        })
    }

    /// -1, 0 or 1.
    #[must_use]
    pub fn sign(&self) -> i64 {
        self.amount.sign()
    }

    /// The whole number it is, when it was given as one that fits.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        self.amount.as_integer()
    }

    /// A double near it; infinite where it is too large.
    #[must_use]
    pub fn as_approximate_float(&self) -> f64 {
        self.amount.to_double()
    }

    fn family_with(&self, other: &Self) -> Family {
        if self.amount.is_zero() { other.family } else { self.family }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
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
        self.amount.compare(&other.amount)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.amount.is_zero() {
            return f.write_str("0");
        }
        let (number, suffix) = self.printed();
        write!(f, "{number}{suffix}")
    }
}

impl Quantity {
    fn printed(&self) -> (BigInt, String) {
        let below =
            |bound: i64| self.amount.compare(&Amount::Small { value: bound, scale: 0 }).is_lt();
        let small = below(1024)
            && !below(-1023)
            && self.amount.compare(&(Self::from_units(-1024)).amount).is_gt();
        if self.family == Family::Binary
            && !small
            && let Some((number, power)) = self.amount.in_kibi()
        {
            return (number, suffix(&BINARY, power));
        }
        let (number, exponent) = self.amount.in_thousands();
        match self.family {
            Family::Exponent if exponent == 0 => (number, String::new()),
            Family::Exponent => (number, format!("e{exponent}")),
            // An exponent without a suffix is lost, as it is for the reference engine.
            _ => (number, suffix(&DECIMAL, exponent.wrapping_add(9) / 3)),
        }
    }
}

/// Suffixes of powers of 1000, from a billionth.
pub(super) const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes of powers of 1024.
pub(super) const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The suffix of a power, empty when none is known.
fn suffix(table: &[&str], power: i32) -> String {
    let known = usize::try_from(power).ok().and_then(|power| table.get(power));
    known.map_or_else(String::new, |suffix| (*suffix).to_owned())
}
