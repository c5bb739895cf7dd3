//! Costs and estimates of the functions of text.

use crate::ast::Literal;
use crate::library::cost::{UNKNOWN, estimated_size, exactly, product, sum};
use crate::overload::{ArgumentEstimate, CallEstimate, Range};
use crate::types::Type;
use crate::value::Value;

/// A fifth of the result.
pub(super) fn cost_of_joining(_arguments: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
    result.map_or(1, Value::cost_size).saturating_mul(2).div_ceil(10)
}

/// Twice the text; the result may be longer or shorter by what is replaced, as often as that fits.
pub(super) fn estimate_of_replacing(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let [text, old, new] = [0, 1, 2].map(|at| estimated_size(arguments, at));
    let most = match () {
        () if old.min == 0 => (text.max.saturating_add(1), text.max),
        () if new.max <= old.min => (0, text.max),
        () => (times(text.max, old.min), 0),
    };
    let least = match () {
        () if old.max == 0 => (text.min.saturating_add(1), text.min),
        () if old.max <= new.min => (0, text.min),
        () => (times(text.min, old.max), 0),
    };
    let (count, kept) = (Range { min: least.0, max: most.0 }, Range { min: least.1, max: most.1 });
    CallEstimate { cost: text.scaled(0.2), size: Some(sum(product(count, new), kept)) }
}

/// How often a part fits, the last time perhaps not whole; counted in doubles.
fn times(whole: u64, part: u64) -> u64 {
    (whole as f64 / part as f64).ceil() as u64
}

/// Twice the text; the result has at most as many parts as there are characters, or as a literal limit allows.
pub(super) fn estimate_of_splitting(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let text = estimated_size(arguments, 0);
    let limit = match arguments.get(2).and_then(|argument| argument.literal) {
        Some(Literal::Int(limit)) => u64::try_from(*limit).ok(),
        _ => None,
    };
    CallEstimate {
        cost: text.scaled(0.2),
        size: Some(Range { min: 0, max: limit.unwrap_or(text.max) }),
    }
}

/// All elements and the separators between them.
pub(super) fn estimate_of_joining(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let list = estimated_size(arguments, 0);
    let mut size = match arguments.first() {
        Some(receiver) if matches!(receiver.value_type, Type::List(_)) => {
            product(list, receiver.element_sizes.first().copied().unwrap_or(UNKNOWN))
        }
        // Of what is not known to be a list only the separators count.
        _ => exactly(0),
    };
    if arguments.len() > 1 {
        let separators = Range { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
        size = sum(size, product(estimated_size(arguments, 1), separators));
    }
    CallEstimate { cost: size.scaled(0.1), size: Some(size) }
}

/// Every character may need an escape, and two quotes are added; what does not fit 64 bits wraps, as for the reference engine.
pub(super) fn estimate_of_quoting(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let text = estimated_size(arguments, 0);
    let size =
        Range { min: text.min.wrapping_add(2), max: text.max.wrapping_mul(2).wrapping_add(2) };
    CallEstimate { cost: text.scaled(0.1), size: Some(size) }
}
