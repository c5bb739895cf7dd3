//! The bounds of one page: which object is its last, and what comes after it.
//!
//! Invariant: a page ends with an object that is on it, and `more` means that a further object matches, so the last page of
//! a list is never empty. Only headers are looked at.

use bytes::Bytes;
use quorate_store::Snapshot;
use quorate_wire::stored::{CorruptValue, HeaderRef};

use super::options::{ListOptions, Selection};

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

impl Selection {
    /// Whether a stored object is meant.
    pub(super) fn matches(&self, value: &Bytes) -> Result<bool, CorruptValue> {
        let header = HeaderRef::parse(value)?;
        Ok(header.matches(&self.labels)
            && (self.fields.is_everything() || self.fields.matches(|field| header.field(field))))
    }
}

/// The page after a key. With `counts` it is the first page of a state, on which the rest is counted.
pub(super) fn find(
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
    for (key, entry) in snapshot.range(prefix, after) {
        if !everything && !options.selection.matches(&entry.value)? {
            continue;
        }
        if page.items as usize == options.limit {
            page.more = true;
            break;
        }
        page.items += 1;
        page.last = Some(key.clone());
    }
    if page.more && counts && everything {
        page.remaining = snapshot.count(prefix, page.last.as_deref()) as u64;
    }
    Ok(page)
}
