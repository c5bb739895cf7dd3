//! Generated names: a suffix for `generateName`.

/// Characters of the suffix.
pub const GENERATED_SUFFIX_LEN: usize = 5;
/// Longest prefix that is kept, in bytes; longer ones are cut so that the name stays a DNS label.
pub const MAX_GENERATED_PREFIX_LEN: usize = super::MAX_LABEL_LEN - GENERATED_SUFFIX_LEN;

/// No vowels, so that no words come out, and no characters that look alike.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// `prefix`, cut when too long, plus a suffix made from `entropy`.
pub fn generate(prefix: &str, entropy: [u8; 8]) -> String {
    let mut end = prefix.len().min(MAX_GENERATED_PREFIX_LEN);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = String::with_capacity(end + GENERATED_SUFFIX_LEN);
    name.push_str(&prefix[..end]);
    let mut rest = u64::from_le_bytes(entropy);
    let base = ALPHABET.len() as u64;
    for _ in 0..GENERATED_SUFFIX_LEN {
        let digit = usize::try_from(rest % base).expect("a remainder below 27");
        name.push(char::from(ALPHABET[digit]));
        rest /= base;
    }
    name
}
