//! What the functions of text do: places are counted in code points.

/// Most bytes of text that a function makes of other text.
pub(super) const MAX_TEXT_BYTES: usize = 16 << 20;

/// Why a place is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misplaced {
    /// Below zero or beyond the end.
    Index(i64),
    /// The end lies before the start.
    Range {
        /// Start.
        start: i64,
        /// End.
        end: i64,
    },
}

impl std::fmt::Display for Misplaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Index(index) => write!(f, "index out of range: {index}"),
            Self::Range { start, end } => {
                write!(f, "invalid substring range. start: {start}, end: {end}")
            }
        }
    }
}

/// Byte offset of the code point at `index`, which may be the end.
fn offset_of(text: &str, index: i64) -> Result<usize, Misplaced> {
    let misplaced = Misplaced::Index(index);
    let index = usize::try_from(index).map_err(|_| misplaced)?;
    if text.is_ascii() {
        return if index <= text.len() { Ok(index) } else { Err(misplaced) };
    }
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.into_iter().nth(index).ok_or(misplaced)
}

/// Number of code points before a byte offset.
fn index_at(text: &str, offset: usize) -> i64 {
    i64::try_from(text[..offset].chars().count()).unwrap_or(i64::MAX)
}

/// The code point at `index`, nothing at the end.
pub(super) fn char_at(text: &str, index: i64) -> Result<&str, Misplaced> {
    let rest = &text[offset_of(text, index)?..];
    Ok(rest.char_indices().nth(1).map_or(rest, |(end, _)| &rest[..end]))
}

/// The first place of `part` from `from` on, -1 when there is none; an empty part is everywhere.
pub(super) fn index_of(text: &str, part: &str, from: i64) -> Result<i64, Misplaced> {
    if part.is_empty() {
        return Ok(from);
    }
    if from < 0 {
        return Err(Misplaced::Index(from));
    }
    let Ok(start) = offset_of(text, from) else {
        return Ok(-1);
    };
    Ok(text[start..].find(part).map_or(-1, |at| index_at(text, start + at)))
}

/// The last place of `part`, -1 when there is none; an empty part is at the end.
pub(super) fn last_index_of(text: &str, part: &str) -> i64 {
    text.rfind(part).map_or(-1, |at| index_at(text, at))
}

/// The last place of `part` not after `from`, -1 when there is none or `from` lies beyond the text.
pub(super) fn last_index_of_until(text: &str, part: &str, from: i64) -> Result<i64, Misplaced> {
    if part.is_empty() {
        return Ok(from);
    }
    if from < 0 {
        return Err(Misplaced::Index(from));
    }
    match offset_of(text, from) {
        Ok(start) if start < text.len() => {
            // What starts in time ends here at the latest; where that is within a character, nothing ends there.
            let latest = text.len().min(start + part.len());
            let end = (0..=latest).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            Ok(text[..end].rfind(part).map_or(-1, |at| index_at(text, at)))
        }
        _ => Ok(-1),
    }
}

/// From `start` on.
pub(super) fn substring_from(text: &str, start: i64) -> Result<&str, Misplaced> {
    Ok(&text[offset_of(text, start)?..])
}

/// From `start` up to, not including, `end`.
pub(super) fn substring(text: &str, start: i64, end: i64) -> Result<&str, Misplaced> {
    if start > end {
        return Err(Misplaced::Range { start, end });
    }
    let (start, end) = (offset_of(text, start)?, offset_of(text, end)?);
    Ok(&text[start..end])
}

/// With at most `limit` (any number below zero: all) occurrences of `old` replaced; an empty `old` occurs around every code
/// point. `None` when the result is longer than [`MAX_TEXT_BYTES`].
pub(super) fn replace(text: &str, old: &str, new: &str, limit: i64) -> Option<String> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if new.len() > old.len() && text.len() > MAX_TEXT_BYTES / (new.len() + 1) {
        let count = text.matches(old).take(limit).count();
        let longer = count.saturating_mul(new.len() - old.len());
        if longer.saturating_add(text.len()) > MAX_TEXT_BYTES {
            return None;
        }
    }
    Some(text.replacen(old, new, limit))
}

/// The parts between separators, at most `limit` of them (any number below zero: all); without a separator the code points.
pub(super) fn split<'t>(text: &'t str, separator: &str, limit: i64) -> Vec<&'t str> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    if !separator.is_empty() {
        return text.splitn(limit, separator).collect();
    }
    let starts = text.char_indices().map(|(at, _)| at).take(limit);
    let mut ends = text.char_indices().map(|(at, _)| at).skip(1).take(limit - 1);
    starts.map(|start| &text[start..ends.next().unwrap_or(text.len())]).collect()
}

/// Without white space (of Unicode) at both ends.
pub(super) fn trim(text: &str) -> &str {
    text.trim()
}

/// In double quotes, the control characters that have a letter escaped.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
