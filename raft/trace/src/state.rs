//! The state of a trace in the tracing systems that it has passed: the header `tracestate` of W3C Trace
//! Context, level 1. It is passed on as it has come; this server has no entry of its own there.
//!
//! Invariants: what is not a list of that form, or too long a list, is dropped whole; what is passed on
//! has at most [`MAX_STATE_BYTES`].

use std::sync::Arc;

/// The header.
pub const TRACESTATE: &str = "tracestate";
/// Bytes that are passed on, at most: as many as the recommendation asks for.
pub const MAX_STATE_BYTES: usize = 512;
/// Entries of a list, at most, by the recommendation.
const MAX_ENTRIES: usize = 32;
/// Entries longer than this go first where a list is cut, by the recommendation. Bytes.
const LONG_ENTRY_BYTES: usize = 128;
/// Bytes of a key, at most; of the part that names a tenant; of that which names its system.
const MAX_KEY_BYTES: usize = 256;
const MAX_TENANT_BYTES: usize = 241;
const MAX_SYSTEM_BYTES: usize = 14;
/// Bytes of a value, at most.
const MAX_VALUE_BYTES: usize = 256;

/// The state of a trace that is valid, not empty, and short enough to be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceState(Arc<Box<str>>);

impl TraceState {
    /// Reads the values of the header, which are one list; `None` where nothing is to be passed on.
    #[must_use]
    pub fn parse<'h>(values: impl IntoIterator<Item = &'h [u8]>) -> Option<Self> {
        let mut entries = Vec::new();
        for value in values {
            for member in value.split(|byte| *byte == b',') {
                let member = member.trim_ascii();
                // Empty members are allowed and mean nothing.
                if member.is_empty() {
                    continue;
                }
                let (key, text) = entry(member)?;
                let is_known = entries.iter().any(|(known, _)| *known == key);
                if is_known || entries.len() == MAX_ENTRIES {
                    return None;
                }
                entries.push((key, text));
            }
        }
        let mut texts: Vec<&str> = entries.into_iter().map(|(_, text)| text).collect();
        cut(&mut texts);
        (!texts.is_empty()).then(|| Self(Arc::new(texts.join(",").into())))
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &str {
        &self.0
    }
}

/// The key of an entry, and the whole of it.
fn entry(member: &[u8]) -> Option<(&str, &str)> {
    let text = std::str::from_utf8(member).ok()?;
    let (key, value) = text.split_once('=')?;
    (is_key(key) && is_value(value)).then_some((key, text))
}

fn is_key(key: &str) -> bool {
    let consists = |part: &str, limit: usize, digit_first: bool| {
        let is_first = |byte: u8| byte.is_ascii_lowercase() || digit_first && byte.is_ascii_digit();
        let is_any = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(&byte)
        };
        part.len() <= limit && part.bytes().next().is_some_and(is_first) && part.bytes().all(is_any)
    };
    match key.split_once('@') {
        None => consists(key, MAX_KEY_BYTES, false),
        Some((tenant, system)) => {
            consists(tenant, MAX_TENANT_BYTES, true) && consists(system, MAX_SYSTEM_BYTES, false)
        }
    }
}

fn is_value(value: &str) -> bool {
    // Blanks at its end were trimmed.
    (1..=MAX_VALUE_BYTES).contains(&value.len())
        && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=')
}

/// Drops entries until the rest can be passed on: long ones first, then those at the end.
fn cut(texts: &mut Vec<&str>) {
    let bytes = |texts: &[&str]| texts.iter().map(|text| text.len() + 1).sum::<usize>();
    let is_long = |texts: &[&str]| bytes(texts) > MAX_STATE_BYTES + 1;
    while is_long(texts) {
        let long = texts.iter().rposition(|text| text.len() > LONG_ENTRY_BYTES);
        texts.remove(long.unwrap_or(texts.len() - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_list_is_passed_on_and_any_other_dropped() {
        let check = |values: &[&str], expect: Option<&str>| {
            let found = TraceState::parse(values.iter().map(|value| value.as_bytes()));
            assert_eq!(found.as_ref().map(TraceState::header), expect, "{values:?}");
        };
        check(&[], None);
        check(&[""], None);
        check(&[" , ,"], None);
        check(&["rojo=00f067aa0ba902b7"], Some("rojo=00f067aa0ba902b7"));
        check(&["congo=t61rcWkgMzE,rojo=00f0"], Some("congo=t61rcWkgMzE,rojo=00f0"));
        // Several headers are one list; blanks around entries do not count.
        check(&["a=1 ,\tb=2", "", "c=3,"], Some("a=1,b=2,c=3"));
        check(&["a= 1"], Some("a= 1"));
        check(&["1a-_*/@sys=x"], Some("1a-_*/@sys=x"));
        check(&["a"], None);
        check(&["a="], None);
        check(&["=1"], None);
        check(&["a=1=2"], None);
        check(&["1a=1"], None);
        check(&["A=1"], None);
        check(&["a b=1"], None);
        check(&["a =1"], None);
        check(&["a@=1"], None);
        check(&["@a=1"], None);
        check(&["a@1=1"], None);
        check(&["a@b@c=1"], None);
        check(&["a=\u{e9}"], None);
        check(&["a=1\u{7f}"], None);
        // One wrong entry spoils the list, and so does a key that is there twice.
        check(&["a=1,B=2"], None);
        check(&["a=1,b=2,a=3"], None);
        check(&["a=1", "a=1"], None);
    }

    #[test]
    fn parts_have_limits() {
        let check = |text: String, expect: bool| {
            assert_eq!(TraceState::parse([text.as_bytes()]).is_some(), expect, "{text}");
        };
        let of = |count: usize| "k".repeat(count);
        check(format!("{}=1", of(256)), true);
        check(format!("{}=1", of(257)), false);
        check(format!("{}@{}=1", of(241), of(14)), true);
        check(format!("{}@{}=1", of(242), of(14)), false);
        check(format!("{}@{}=1", of(241), of(15)), false);
        check(format!("k={}", of(256)), true);
        check(format!("k={}", of(257)), false);
        let entries =
            |count: usize| (0..count).map(|at| format!("k{at}=1")).collect::<Vec<_>>().join(",");
        check(entries(32), true);
        check(entries(33), false);
    }

    #[test]
    fn what_is_too_long_is_cut_by_whole_entries() {
        let entry = |key: &str, bytes: usize| format!("{key}={}", "v".repeat(bytes - 2));
        let check = |entries: &[String], expect: &[&String]| {
            let text = entries.join(",");
            let found = TraceState::parse([text.as_bytes()]).unwrap();
            let kept: Vec<&str> = found.header().split(',').collect();
            assert_eq!(kept, expect, "{text}");
            assert!(found.header().len() <= MAX_STATE_BYTES);
        };
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|key| entry(key, 127));
        let last = entry("e", 2 + 1);
        check(&[a.clone(), b.clone(), c.clone(), d.clone()], &[&a, &b, &c, &d]);
        check(&[a.clone(), b.clone(), c.clone(), d.clone(), last.clone()], &[&a, &b, &c, &d]);
        // A long one goes before those that stand behind it.
        let long = entry("l", 129);
        check(&[a.clone(), long, b.clone(), c.clone(), last.clone()], &[&a, &b, &c, &last]);
    }
}
