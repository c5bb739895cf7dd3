//! The bounds of one page: which object is its last, and what comes after it.
//!
//! Invariant: a page ends with an object that is on it, and `more` means that a further object
//! matches, so the last page of a list is never empty. Only headers are looked at, and a bounded
//! number of them in one go.

use bytes::Bytes;
use quorate_store::Snapshot;
use quorate_wire::stored::CorruptValue;

use crate::handlers::options::ListOptions;

/// Objects looked at in one go before other requests get a turn.
const SCAN_OBJECTS: usize = 4096;

/// What a page holds.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// The key of the last object on it; only known where there is a limit.
    pub(super) last: Option<Bytes>,
    /// Whether matching objects come after it.
    pub(super) more: bool,
    /// Objects on it; only counted where there is a limit.
    pub(super) items: u64,
    /// Objects after it, matching or not; only counted on the first page of a state.
    pub(super) remaining: u64,
}

/// The page after a key. With `counts` it is the first page of a state, on which the rest is
/// counted.
pub(super) async fn find(
    snapshot: &Snapshot,
    prefix: &[u8],
    after: Option<&[u8]>,
    options: &ListOptions,
    counts: bool,
) -> Result<Page, CorruptValue> {
    let mut page = Page::default();
    if options.limit == 0 {
        return Ok(page);
    }
    let everything = options.selection.is_everything();
    let mut last = None;
    for (seen, (key, entry)) in snapshot.range(prefix, after).enumerate() {
        if seen % SCAN_OBJECTS == SCAN_OBJECTS - 1 {
            tokio::task::yield_now().await;
        }
        if !everything && !options.selection.matches(&entry.value)? {
            continue;
        }
        if page.items as usize == options.limit {
            page.more = true;
            break;
        }
        page.items += 1;
        last = Some(key);
    }
    page.last = last.cloned();
    if page.more && counts && everything {
        page.remaining = snapshot.count(prefix, page.last.as_deref()) as u64;
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt;
    use quorate_meta::{FieldSelector, LabelSelector, Value};
    use quorate_store::{Entry, Revision};
    use quorate_wire::stored;
    use serde_json::json;

    use super::*;
    use crate::handlers::options::{At, Selection};

    /// 8202 objects, of which those with these numbers have a label.
    fn collection(labelled: &[usize]) -> Snapshot {
        let value = |labels: serde_json::Value| {
            let object =
                Value::from(json!({"metadata": {"name": "m", "uid": "u", "labels": labels}}));
            stored::encode(&object, &[]).expect("a complete object")
        };
        let (plain, chosen) = (value(json!({})), value(json!({"x": "1"})));
        let entry = |number: usize| {
            let value = if labelled.contains(&number) { &chosen } else { &plain };
            let entry = Entry {
                value: value.clone(),
                created: Revision::new(1),
                modified: Revision::new(1),
            };
            (Bytes::from(format!("o/{number:05}")), entry)
        };
        Snapshot::of(Revision::new(1), (0..2 * SCAN_OBJECTS + 10).map(entry))
    }

    #[test]
    fn pages_are_found_in_bounded_steps() {
        let check = |labelled: &[usize],
                     selector: &str,
                     limit: usize,
                     expect: (&str, bool, u64, u64, usize)| {
            let snapshot = collection(labelled);
            let labels = LabelSelector::parse(selector).expect(selector);
            let selection = Selection { labels, fields: FieldSelector::default(), custom: None };
            let options =
                ListOptions { at: At::MostRecent, selection, limit, token: String::new() };
            let mut finding = pin!(find(&snapshot, b"o/", None, &options, true));
            let found = (1_usize..).find_map(|turn| Some((finding.as_mut().now_or_never()?, turn)));
            let (page, turns) = found.expect("it ends");
            let page = page.expect("everything can be read");
            let last = page
                .last
                .map_or_else(String::new, |key| String::from_utf8_lossy(&key).into_owned());
            let found = (last.as_str(), page.more, page.items, page.remaining, turns);
            assert_eq!(found, expect, "{labelled:?} {selector} {limit}");
        };
        check(&[5, 6], "x=1", 1, ("o/00005", true, 1, 0, 1));
        check(&[5, 8201], "x=1", 1, ("o/00005", true, 1, 0, 3));
        check(&[4095, 4096], "x=1", 2, ("o/04096", false, 2, 0, 3));
        check(&[], "x=1", 1, ("", false, 0, 0, 3));
        check(&[], "", 3, ("o/00002", true, 3, 8199, 1));
        check(&[], "", 8202, ("o/08201", false, 8202, 0, 3));
        check(&[5], "x=1", 0, ("", false, 0, 0, 1));
    }
}
