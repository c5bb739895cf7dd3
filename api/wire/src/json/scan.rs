//! The search for the end of the plain part of a string, eight bytes at a time, and more of long
//! ones.
//!
//! The last eight bytes overlap others, which are known to be plain by then.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// A string that is plain up to here is taken for a long one.
const SHORT_BYTES: usize = 32;
/// Bytes of a long string that are looked at together, by vector instructions.
const BLOCK_BYTES: usize = 32;

/// Index of the first byte at or after `from` that is a quote, a backslash or a control character;
/// the length if none.
pub(super) fn plain_end(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let Some(last) = rest.last_chunk::<8>() else {
        return from + short_plain_end(rest);
    };
    let mut at = from;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        if let Some(index) = special_in(*chunk) {
            return at + index;
        }
        at += 8;
        if at - from == SHORT_BYTES {
            at = plain_blocks_end(text, at);
        }
    }
    special_in(*last).map_or(text.len(), |index| text.len() - 8 + index)
}

/// Where the first block with a special byte begins, or what is less than a block.
fn plain_blocks_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(block) = text.get(at..).and_then(|rest| rest.first_chunk::<BLOCK_BYTES>()) {
        if block.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        at += BLOCK_BYTES;
    }
    at
}

/// The same for fewer than eight bytes: the first four and the last four at once.
fn short_plain_end(text: &[u8]) -> usize {
    let (Some([a, b, c, d]), Some([e, f, g, h])) =
        (text.first_chunk::<4>(), text.last_chunk::<4>())
    else {
        return text.iter().position(|byte| is_special(*byte)).unwrap_or(text.len());
    };
    match special_in([*a, *b, *c, *d, *e, *f, *g, *h]) {
        Some(index) if index < 4 => index,
        Some(index) => text.len() + index - 8,
        None => text.len(),
    }
}

/// Without branches, for vector instructions.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Index of the first special byte.
fn special_in(bytes: [u8; 8]) -> Option<usize> {
    let special = special_bytes(u64::from_le_bytes(bytes));
    (special != 0).then(|| (special.trailing_zeros() / 8) as usize)
}

/// The high bit of every special byte; bits above the lowest one set may be wrong, which does not
/// matter here.
fn special_bytes(word: u64) -> u64 {
    let quote = word ^ (ONES * u64::from(b'"'));
    let backslash = word ^ (ONES * u64::from(b'\\'));
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    (zero_bytes(quote) | zero_bytes(backslash) | below_space) & HIGHS
}

fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_loop(text: Vec<u8>, from in 0usize..140) {
            let from = from.min(text.len());
            let expect = text[from..].iter().position(|byte| is_special(*byte)).map_or(text.len(), |at| at + from);
            prop_assert_eq!(plain_end(&text, from), expect);
        }

        #[test]
        fn finds_the_only_special_byte(len in 0usize..140, at in 0usize..140, byte in prop::sample::select(vec![0u8, 31, b'"', b'\\'])) {
            let mut text = vec![b'\xc3'; len];
            text.resize(len.max(at + 1), b' ');
            text[at] = byte;
            prop_assert_eq!(plain_end(&text, 0), at);
        }
    }
}
