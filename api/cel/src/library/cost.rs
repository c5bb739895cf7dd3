//! Costs and estimates that functions of several libraries share.

use crate::overload::{ArgumentEstimate, CallEstimate, Range};
use crate::types::Type;
use crate::value::Value;

/// Characters of text that cost as much as one call, as a factor.
const TEXT_FACTOR: f64 = 0.1;

/// A tenth of the size of the first argument.
pub(super) fn tenth(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    size_of(arguments, 0).div_ceil(10)
}

/// A fifth of the size of the first argument.
pub(super) fn fifth(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    size_of(arguments, 0).saturating_mul(2).div_ceil(10)
}

/// Size of an argument; one without a size counts 1.
pub(super) fn size_of(arguments: &[Value<'_>], at: usize) -> u64 {
    arguments.get(at).map_or(1, Value::cost_size)
}

/// A tenth of the size of the first argument.
pub(super) fn estimated_tenth(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    CallEstimate { cost: estimated_size(arguments, 0).scaled(TEXT_FACTOR), size: None }
}

/// A tenth of the size of the first argument; the result is as large as that.
pub(super) fn estimated_tenth_sized(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    CallEstimate { size: Some(estimated_size(arguments, 0)), ..estimated_tenth(arguments) }
}

/// A fifth of the size of the first argument.
pub(super) fn estimated_fifth(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    CallEstimate { cost: estimated_size(arguments, 0).scaled(2.0 * TEXT_FACTOR), size: None }
}

/// Going through the first argument once: 1 for each element of a list and a tenth of its text, a tenth of anything else.
pub(super) fn estimated_traversal(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let Some((receiver, Type::List(element))) = arguments.first().map(|it| (it, it.value_type))
    else {
        return estimated_tenth(arguments);
    };
    let text = match **element {
        Type::String | Type::Bytes => {
            receiver.element_sizes.first().copied().unwrap_or(UNKNOWN).scaled(TEXT_FACTOR)
        }
        _ => exactly(0),
    };
    CallEstimate { cost: product(receiver.size, sum(exactly(1), text)), size: None }
}

/// What is known of the size of an argument.
pub(super) fn estimated_size(arguments: &[ArgumentEstimate<'_>], at: usize) -> Range {
    arguments.get(at).map_or(UNKNOWN, |argument| argument.size)
}

/// Nothing is known.
pub(super) const UNKNOWN: Range = Range { min: 0, max: u64::MAX };

/// The sums of both ends.
pub(super) fn sum(left: Range, right: Range) -> Range {
    Range { min: left.min.saturating_add(right.min), max: left.max.saturating_add(right.max) }
}

/// The products of both ends.
pub(super) fn product(left: Range, right: Range) -> Range {
    Range { min: left.min.saturating_mul(right.min), max: left.max.saturating_mul(right.max) }
}

/// Exactly `value`.
pub(super) const fn exactly(value: u64) -> Range {
    Range { min: value, max: value }
}
