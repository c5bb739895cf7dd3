//! Character classes: `[a-z]`, `[[:alpha:]]`, `\d`, `\p{Greek}`.
//!
//! Invariant: what is written for the crate `regex` names every character by its number, so that nothing in it means more
//! than it does for RE2: no set operators, no Unicode digits or spaces.

use std::fmt::Write as _;

use super::error::{Kind, RegexError};
use super::{escape, unicode};

/// Classes with a letter: what they hold, as ranges.
const PERL: [(char, &str); 3] = [('d', "0-9"), ('s', "\\t\\n\\f\\r\\x20"), ('w', "0-9A-Za-z_")];

/// Classes with a name.
const POSIX: [(&str, &str); 14] = [
    ("alnum", "0-9A-Za-z"),
    ("alpha", "A-Za-z"),
    ("ascii", "\\x00-\\x7F"),
    ("blank", "\\t\\x20"),
    ("cntrl", "\\x00-\\x1F\\x7F"),
    ("digit", "0-9"),
    ("graph", "\\x21-\\x7E"),
    ("lower", "a-z"),
    ("print", "\\x20-\\x7E"),
    ("punct", "\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E"),
    ("space", "\\t\\n\\x0B\\f\\r\\x20"),
    ("upper", "A-Z"),
    ("word", "0-9A-Za-z_"),
    ("xdigit", "0-9A-Fa-f"),
];

/// The first code point that is no character, and the last.
const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// Ranges of a class that is named by a property of Unicode, about.
const PROPERTY_RANGES: usize = 700;
/// Characters that a range takes when it is written.
const WRITTEN_RANGE: usize = 8;

/// How many ranges a written class has, about.
pub(super) fn ranges(written: &str) -> usize {
    let properties = written.matches("\\p{").count() + written.matches("\\P{").count();
    properties * PROPERTY_RANGES + written.len() / WRITTEN_RANGE + 1
}

/// A class as `regex` writes it, and the text after it.
pub(super) type Translated<'t> = (String, &'t str);

/// The class in brackets that text begins with; a class with a name in it ends where `after_names` bytes are left at the
/// latest.
pub(super) fn bracketed(text: &str, after_names: usize) -> Result<Translated<'_>, RegexError> {
    let mut rest = &text[1..];
    let mut out = String::from("[");
    if let Some(after) = rest.strip_prefix('^') {
        (out, rest) = (String::from("[^"), after);
    }
    let empty = out.len();
    let mut is_first = true;
    while is_first || !rest.starts_with(']') {
        is_first = false;
        let (item, after) = match named(rest, rest.len() > after_names)? {
            Some(item) => item,
            None => range(rest, text)?,
        };
        out.push_str(&item);
        rest = after;
    }
    if out.len() == empty {
        // What was named are no characters; a class without an item would be no class.
        out.push_str("[^\\x{0}-\\x{10FFFF}]");
    }
    out.push(']');
    Ok((out, &rest[1..]))
}

/// A class with a name that text, in brackets, begins with.
fn named(text: &str, may_end: bool) -> Result<Option<Translated<'_>>, RegexError> {
    if let Some(after) = text.strip_prefix("[:")
        && may_end
        && let Some(end) = after.find(":]")
    {
        let (name, rest) = (&after[..end], &after[end + 2..]);
        let (name, negated) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        let found = POSIX.iter().find(|(known, _)| *known == name);
        let Some((_, ranges)) = found else {
            return Err(RegexError::new(Kind::CharRange, &text[..end + 4]));
        };
        return Ok(Some((group(ranges, negated), rest)));
    }
    if let Some(found) = unicode_class(text)? {
        return Ok(Some(found));
    }
    Ok(perl(text))
}

/// A single character or a range of them.
fn range<'t>(text: &'t str, whole: &str) -> Result<Translated<'t>, RegexError> {
    let (low, mut rest) = character(text, whole)?;
    let mut high = low;
    if let Some(after) = rest.strip_prefix('-')
        && !after.is_empty()
        && !after.starts_with(']')
    {
        (high, rest) = character(after, whole)?;
        if high < low {
            return Err(RegexError::new(Kind::CharRange, &text[..text.len() - rest.len()]));
        }
    }
    Ok((characters(low, high), rest))
}

fn character<'t>(text: &'t str, whole: &str) -> Result<(u32, &'t str), RegexError> {
    let mut rest = text.chars();
    match rest.next() {
        None => Err(RegexError::new(Kind::MissingBracket, whole)),
        Some('\\') => escape::read(text),
        Some(c) => Ok((u32::from(c), rest.as_str())),
    }
}

/// A range as an item of a class; surrogates, which text does not have, are left out.
fn characters(low: u32, high: u32) -> String {
    let (first, last) = SURROGATES;
    let low = if (first..=last).contains(&low) { last + 1 } else { low };
    let high = if (first..=last).contains(&high) { first - 1 } else { high };
    let mut out = String::new();
    if low <= high {
        write!(out, "\\x{{{low:X}}}").expect("a String takes every write");
    }
    if low < high {
        write!(out, "-\\x{{{high:X}}}").expect("a String takes every write");
    }
    out
}

/// Ranges as a class within a class.
fn group(ranges: &str, negated: bool) -> String {
    format!("[{}{ranges}]", if negated { "^" } else { "" })
}

/// The class `\d`, `\S` and the like that text begins with.
pub(super) fn perl(text: &str) -> Option<Translated<'_>> {
    let letter = text.strip_prefix('\\')?.chars().next()?;
    let (_, ranges) = PERL.iter().find(|(known, _)| *known == letter.to_ascii_lowercase())?;
    Some((group(ranges, letter.is_ascii_uppercase()), &text[2..]))
}

/// The class `\pL`, `\p{Greek}` and the like that text begins with.
pub(super) fn unicode_class(text: &str) -> Result<Option<Translated<'_>>, RegexError> {
    let Some(after) = text.strip_prefix("\\p").or_else(|| text.strip_prefix("\\P")) else {
        return Ok(None);
    };
    let (name, rest) = match after.strip_prefix('{') {
        Some(braced) => {
            braced.split_once('}').ok_or_else(|| RegexError::new(Kind::CharRange, text))?
        }
        None => after.split_at(after.chars().next().map_or(0, char::len_utf8)),
    };
    let (bare, inverted) = name.strip_prefix('^').map_or((name, false), |bare| (bare, true));
    let negated = text.starts_with("\\P") != inverted;
    match unicode::class(bare, negated) {
        Some(class) => Ok(Some((class, rest))),
        None => Err(RegexError::new(Kind::CharRange, &text[..text.len() - rest.len()])),
    }
}
