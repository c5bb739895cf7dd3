//! Lists of completion indexes, such as `1,3-5`: ascending numbers and ranges below the number of
//! completions.

use quorate_meta::quoted;

/// The first and the last index of a range.
type Range = (i64, i64);

/// The number of indexes in a list, or why it is malformed.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    let mut last: Option<i64> = None;
    let mut total = 0;
    for part in parts(text) {
        let (from, to) = range(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(out_of_order(last, from));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

/// An index that both lists contain; malformed parts contain none.
pub(super) fn common(one: &str, other: &str, completions: i64) -> Option<i64> {
    let ranges = |text| parts(text).filter_map(move |part| range(part, completions).ok());
    let (mut left, mut right) = (ranges(one).peekable(), ranges(other).peekable());
    while let (Some(&(from, to)), Some(&(other_from, other_to))) = (left.peek(), right.peek()) {
        if from <= other_to && other_from <= to {
            return Some(from.max(other_from));
        }
        if from <= other_from {
            left.next();
        } else {
            right.next();
        }
    }
    None
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(move |_| !text.is_empty())
}

fn range(part: &str, completions: i64) -> Result<Range, String> {
    let number = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {}", quoted(text))),
        Ok(number) if number >= completions => Err(format!("too large index: {}", quoted(text))),
        Ok(number) => Ok(number),
    };
    let Some((from, to)) = part.split_once('-') else {
        let only = number(part)?;
        return Ok((only, only));
    };
    if to.contains('-') {
        let why = "violates the requirement that an index interval can have at most two parts separated by '-'";
        return Err(format!("the fragment {} {why}", quoted(part)));
    }
    let (from, to) = (number(from)?, number(to)?);
    if from < to { Ok((from, to)) } else { Err(out_of_order(from, to)) }
}

fn out_of_order(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let check = |text: &str, expect: Result<i64, &str>| {
            assert_eq!(count(text, 8), expect.map_err(str::to_owned), "{text}");
        };
        check("", Ok(0));
        check("0", Ok(1));
        check("0,2-4,7", Ok(5));
        check("1,0", Err("non-increasing order, previous: 1, current: 0"));
        check("3-3", Err("non-increasing order, previous: 3, current: 3"));
        check("1-3,3", Err("non-increasing order, previous: 3, current: 3"));
        check("8", Err("too large index: \"8\""));
        check("5-9", Err("too large index: \"9\""));
        check("5-", Err("cannot convert string to integer for index: \"\""));
        check("x", Err("cannot convert string to integer for index: \"x\""));
        let why = "violates the requirement that an index interval can have at most two parts separated by '-'";
        check("1-2-3", Err(&format!("the fragment \"1-2-3\" {why}")));
    }

    #[test]
    fn indexes_of_two_lists() {
        let check = |one: &str, other: &str, expect: Option<i64>| {
            assert_eq!(common(one, other, 10), expect)
        };
        check("", "1", None);
        check("0,2-4", "1,5-6", None);
        check("0,2-4", "1,3", Some(3));
        check("x,2-4", "4-9", Some(4));
    }
}
