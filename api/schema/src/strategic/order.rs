//! The order of a merged list: patched elements in the order of the patch, the others at their
//! place among them as far as the original order defines it.

use quorate_meta::Value;

use super::identity::By;

/// Sorts `merged`. `wanted` names elements in their new order (some may not exist), `original` is
/// the old order.
pub(super) fn arrange(
    merged: Vec<Value>,
    wanted: &[Value],
    original: &[Value],
    by: By<'_>,
) -> Vec<Value> {
    let (wanted, original) = (by.places(wanted), by.places(original));
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| wanted.contains_key(&by.of(item)));
    named.sort_by_cached_key(|item| wanted.get(&by.of(item)).copied());
    others.sort_by_cached_key(|item| original.get(&by.of(item)).copied());
    let mut result = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (others.peek(), named.peek()) {
            (None, None) => return result,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(named)) => {
                match (original.get(&by.of(other)), original.get(&by.of(named))) {
                    (Some(other), Some(named)) => other < named,
                    _ => false,
                }
            }
        };
        result.extend(if other_first { others.next() } else { named.next() });
    }
}
