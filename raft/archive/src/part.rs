//! Parts: what an archive holds, as it is told to another member that lacks it.
//!
//! Invariant: each part is a range of revisions without a gap, and none overlaps another. A part is
//! an era, which is dropped at a time, or what is newer than the archive.

use std::sync::Arc;

use quorate_store::{Revision, Serving};
use serde::{Deserialize, Serialize};

use crate::contents::Contents;

/// In place of a time that is not known.
pub(crate) const UNKNOWN_MS: u64 = 0;

/// A contiguous range of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The revision before its first transaction.
    pub after: Revision,
    /// When that was, milliseconds since the Unix epoch; zero where nothing says it.
    pub after_ms: u64,
    /// When its first transaction was, or a time before that.
    pub first_ms: u64,
    /// Its last transaction.
    pub last: Revision,
    /// When that was, milliseconds since the Unix epoch.
    pub last_ms: u64,
    /// Bytes on disk that it takes; zero for what is not archived yet.
    pub bytes: u64,
}

/// All parts, oldest first.
pub(crate) fn parts(contents: &Contents, serving: &Serving) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for era in contents.slices.chunk_by(|one, next| Arc::ptr_eq(&one.era, &next.era)) {
        let (first, last) = (&era[0].info, &era[era.len() - 1].info);
        parts.push(Part {
            after: first.after,
            after_ms: first.after_ms,
            first_ms: first.first_ms,
            last: last.last,
            last_ms: last.last_ms,
            bytes: era[0].era.table.bytes(),
        });
    }
    let (after, last) = (contents.archived, serving.revision());
    if last > after {
        let last_ms = serving.newest_ms().unwrap_or_default().max(contents.archived_ms());
        let after_ms = contents.archived_ms();
        let first_ms = if after_ms == UNKNOWN_MS { last_ms } else { after_ms };
        parts.push(Part { after, after_ms, first_ms, last, last_ms, bytes: 0 });
    }
    parts
}

/// Whether these can be the parts of an archive.
pub(crate) fn are_sound(parts: &[Part]) -> bool {
    let is_range = |part: &Part| {
        let times = [part.after_ms, part.first_ms, part.last_ms];
        part.after < part.last && times.is_sorted()
    };
    parts.iter().all(is_range) && parts.is_sorted_by(|one, next| one.last <= next.after)
}
