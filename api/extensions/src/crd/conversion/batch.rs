//! Which objects go into one review.

use std::ops::Range;

/// Objects of one review.
pub(super) const MAX_OBJECTS: usize = 500;
/// Bytes of the objects of one review: 2 MiB, as JSON. An object that is larger goes alone.
pub(super) const MAX_BYTES: usize = 2 << 20;

/// Splits objects of these sizes in bytes into reviews, in order.
pub(super) fn batches(sizes: &[usize]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, size) in sizes.iter().enumerate() {
        let is_full = index - start >= MAX_OBJECTS || bytes + size > MAX_BYTES;
        if index > start && is_full {
            all.push(start..index);
            (start, bytes) = (index, 0);
        }
        bytes += size;
    }
    if start < sizes.len() {
        all.push(start..sizes.len());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reviews_are_bounded() {
        let check = |sizes: &[usize], expect: &[Range<usize>]| {
            assert_eq!(batches(sizes), expect, "{} objects", sizes.len());
        };
        check(&[], &[]);
        check(&[1, 2, 3], std::slice::from_ref(&(0..3)));
        check(&[MAX_BYTES, 1], &[0..1, 1..2]);
        check(&[1, MAX_BYTES + 1, 1], &[0..1, 1..2, 2..3]);
        check(&[MAX_BYTES / 2, MAX_BYTES / 2, 1], &[0..2, 2..3]);
        check(&[1; MAX_OBJECTS + 1], &[0..MAX_OBJECTS, MAX_OBJECTS..MAX_OBJECTS + 1]);
    }
}
