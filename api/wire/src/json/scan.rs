//! Finding the end of the plain part of a string, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Index of the first byte at or after `from` that is a quote, a backslash or a control character; the length if none.
pub(super) fn plain_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let special = special_bytes(u64::from_le_bytes(*chunk));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    rest.iter().position(|byte| is_special(*byte)).map_or(text.len(), |index| at + index)
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..=0x1f)
}

/// The high bit of every special byte; bits above the lowest one set may be wrong, which does not matter here.
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
        fn agrees_with_a_plain_loop(text: Vec<u8>, from in 0usize..40) {
            let from = from.min(text.len());
            let expect = text[from..].iter().position(|byte| is_special(*byte)).map_or(text.len(), |at| at + from);
            prop_assert_eq!(plain_end(&text, from), expect);
        }

        #[test]
        fn finds_the_only_special_byte(len in 0usize..40, at in 0usize..40, byte in prop::sample::select(vec![0u8, 31, b'"', b'\\'])) {
            let mut text = vec![b'\xc3'; len];
            text.resize(len.max(at + 1), b' ');
            text[at] = byte;
            prop_assert_eq!(plain_end(&text, 0), at);
        }
    }
}
