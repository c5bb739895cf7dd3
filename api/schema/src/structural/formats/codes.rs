//! Codes: binary data, UUIDs, colours, numbers with a check digit.

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn all_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// 24 hexadecimal digits.
pub(super) fn is_object_id(text: &str) -> bool {
    text.len() == 24 && all_hex(text)
}

/// Standard base64 with padding; no text at all is none.
pub(super) fn is_base64(text: &str) -> bool {
    let data = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let is_data = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !data.is_empty() && text.len().is_multiple_of(4) && data.bytes().all(is_data)
}

/// Five groups of hexadecimal digits, each with or without a dash before it.
fn uuid_groups(text: &str) -> Option<[&str; 5]> {
    let mut groups = [""; 5];
    let mut rest = text;
    for (at, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        rest = if at > 0 { rest.strip_prefix('-').unwrap_or(rest) } else { rest };
        groups[at] = rest.get(..length).filter(|group| all_hex(group))?;
        rest = &rest[length..];
    }
    rest.is_empty().then_some(groups)
}

fn is_uuid_of(text: &str, version: char, has_variant: bool) -> bool {
    uuid_groups(text).is_some_and(|groups| {
        groups[2].starts_with(version)
            && (!has_variant || groups[3].starts_with(['8', '9', 'a', 'b', 'A', 'B']))
    })
}

pub(super) fn is_uuid(text: &str) -> bool {
    uuid_groups(text).is_some()
}

pub(super) fn is_uuid3(text: &str) -> bool {
    is_uuid_of(text, '3', false)
}

pub(super) fn is_uuid4(text: &str) -> bool {
    is_uuid_of(text, '4', true)
}

pub(super) fn is_uuid5(text: &str) -> bool {
    is_uuid_of(text, '5', true)
}

/// Three or six hexadecimal digits, `#` before them or not.
pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && all_hex(digits)
}

/// `rgb(1, 2, 3)`, each at most 255.
pub(super) fn is_rgb_color(text: &str) -> bool {
    let inner = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        let is_part = |part: &&str| {
            all_digits(part)
                && (*part == "0" || !part.starts_with('0'))
                && part.parse::<u8>().is_ok()
        };
        parts.len() == 3 && parts.iter().all(is_part)
    })
}

/// Nine digits, in groups of three, two and four or together.
pub(super) fn is_social_security_number(text: &str) -> bool {
    let strip = |text: &'_ str| text.strip_prefix(['-', ' ']).map_or(text.len(), str::len);
    let Some((first, rest)) = text.split_at_checked(3) else {
        return false;
    };
    let rest = &rest[rest.len() - strip(rest)..];
    let Some((second, rest)) = rest.split_at_checked(2) else {
        return false;
    };
    let rest = &rest[rest.len() - strip(rest)..];
    [first, second, rest].into_iter().all(all_digits) && rest.len() == 4
}

/// The digits of a number that may be written with dashes and spaces.
fn bare(text: &str) -> String {
    text.chars().filter(|char| !matches!(char, '-' | ' ')).collect()
}

pub(super) fn is_isbn(text: &str) -> bool {
    is_isbn10(text) || is_isbn13(text)
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let bare = bare(text);
    if bare.len() != 10 || !all_digits(&bare[..9]) {
        return false;
    }
    let value = |byte: u8| {
        if byte == b'X' { 10 } else { u32::from(byte.wrapping_sub(b'0')) }
    };
    let is_last = |byte: u8| byte == b'X' || byte.is_ascii_digit();
    let sum: u32 = (1..).zip(bare.bytes()).map(|(weight, byte)| weight * value(byte)).sum();
    bare.bytes().last().is_some_and(is_last) && sum.is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let bare = bare(text);
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = bare
        .bytes()
        .zip(weights)
        .map(|(byte, weight)| weight * u32::from(byte.wrapping_sub(b'0')))
        .sum();
    bare.len() == 13 && all_digits(&bare) && sum.is_multiple_of(10)
}

/// A number of a known issuer with a right check digit (Luhn); all that is no digit is passed over.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| digits.starts_with(prefix));
    let is_issued = match digits.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let sum: u32 = (0..)
        .zip(digits.bytes().rev())
        .map(|(at, byte)| check_value(at, u32::from(byte - b'0')))
        .sum();
    is_issued && sum.is_multiple_of(10)
}

/// What a digit counts; every second one from the end counts twice, digit by digit.
fn check_value(at: usize, digit: u32) -> u32 {
    match (at % 2, digit * 2) {
        (0, _) => digit,
        (_, double) if double > 9 => double - 9,
        (_, double) => double,
    }
}
