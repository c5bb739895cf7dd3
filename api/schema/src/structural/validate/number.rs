//! Bounds of numbers. Whole numbers are compared with whole bounds, all others as floating-point numbers.

use quorate_meta::Value;

use super::Validator;
use crate::structural::node::Constraints;

/// Greatest whole number that every floating-point number below it can be told from.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
/// Relative difference below which a quotient counts as whole.
const EPSILON: f64 = 1e-9;

impl Validator<'_> {
    pub(super) fn number(&mut self, constraints: Option<&Constraints>, value: &Value) {
        let Some(constraints) = constraints else {
            return;
        };
        if let Some(factor) = constraints.multiple_of.filter(|factor| !is_multiple(value, *factor))
        {
            let factor = bound_text(value, factor);
            self.invalid(value.clone(), || format!("should be a multiple of {factor}"));
        }
        if let Some(min) = constraints.minimum {
            let exclusive = constraints.exclusive_minimum;
            let order = compare(value, min);
            if order.is_some_and(|order| order.is_lt() || (exclusive && order.is_eq())) {
                let than = if exclusive { "greater than" } else { "greater than or equal to" };
                let min = bound_text(value, min);
                self.invalid(value.clone(), || format!("should be {than} {min}"));
            }
        }
        if let Some(max) = constraints.maximum {
            let exclusive = constraints.exclusive_maximum;
            let order = compare(value, max);
            if order.is_some_and(|order| order.is_gt() || (exclusive && order.is_eq())) {
                let than = if exclusive { "less than" } else { "less than or equal to" };
                let max = bound_text(value, max);
                self.invalid(value.clone(), || format!("should be {than} {max}"));
            }
        }
    }
}

fn compare(value: &Value, bound: f64) -> Option<std::cmp::Ordering> {
    match value {
        Value::Int(value) => Some(value.cmp(&truncated(bound))),
        value => value.as_f64()?.partial_cmp(&bound),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "bounds of whole numbers lose their fraction, and saturate"
)]
fn truncated(bound: f64) -> i64 {
    bound as i64
}

fn is_multiple(value: &Value, factor: f64) -> bool {
    match value {
        Value::Int(value) if is_whole(factor) && factor != 0.0 => {
            value.checked_rem(truncated(factor)).unwrap_or(0) == 0
        }
        value => value.as_f64().is_none_or(|value| factor == 0.0 || is_whole(value / factor)),
    }
}

/// Whether a number is whole, but for what arithmetic lost.
pub(super) fn is_whole(number: f64) -> bool {
    if !number.is_finite() || number.abs() > MAX_EXACT {
        return false;
    }
    let (whole, size) = (number.trunc(), number.abs());
    whole.total_cmp(&number).is_eq() || (number - whole).abs() / (size + whole.abs()) < EPSILON
}

/// A bound in a message: whole beside a whole number, else in its shortest form, with an exponent when it is very large or small.
fn bound_text(value: &Value, bound: f64) -> String {
    if matches!(value, Value::Int(_)) && is_whole(bound) {
        return truncated(bound).to_string();
    }
    let size = bound.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return bound.to_string();
    }
    let text = format!("{bound:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("+", exponent), |rest| ("-", rest));
    format!("{digits}e{sign}{exponent:0>2}")
}
