//! The order of a table's rows, where that is not the order of its objects.
//!
//! The objects of a page are put in order before the first of them is written.
//!
//! Invariant: a page has what it has in every other form, and the next one begins where it would;
//! only the order on it differs.

use bytes::{BufMut, Bytes, BytesMut};
use quorate_store::{Entry, Snapshot};
use quorate_wire::stored::CorruptValue;

use crate::handlers::options::Selection;
use crate::handlers::render::Renderer;

/// Objects looked at in one go before other requests get a turn; each is parsed.
const SCAN_OBJECTS: usize = 256;

/// Which objects of a collection are on a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span<'a> {
    /// What the keys of the collection begin with.
    pub(super) prefix: &'a [u8],
    /// The last key of the page before.
    pub(super) after: Option<&'a [u8]>,
    /// The last key of the page, when it is not the last of the collection.
    pub(super) stop: Option<&'a Bytes>,
    /// Those that are meant; `None` for all.
    pub(super) selection: Option<&'a Selection>,
}

/// The objects of the page alone, as a collection in the order of their rows.
pub(super) async fn ranked(
    renderer: &Renderer,
    snapshot: &Snapshot,
    span: Span<'_>,
) -> Result<Snapshot, CorruptValue> {
    let mut page = Vec::new();
    for (seen, (key, entry)) in snapshot.range(span.prefix, span.after).enumerate() {
        if seen % SCAN_OBJECTS == SCAN_OBJECTS - 1 {
            tokio::task::yield_now().await;
        }
        let selected = match span.selection {
            Some(selection) => selection.matches(&entry.value)?,
            None => true,
        };
        if selected {
            page.push(place(span.prefix, renderer.rank(&entry.value)?, key, entry));
        }
        if span.stop == Some(key) {
            break;
        }
    }
    Ok(Snapshot::of(snapshot.revision(), page))
}

/// An object under a key that sorts by the rank first.
fn place(prefix: &[u8], rank: i64, key: &Bytes, entry: &Entry) -> (Bytes, Entry) {
    let mut ranked = BytesMut::with_capacity(key.len() + size_of::<u64>());
    ranked.put_slice(prefix);
    // Negative numbers come before the others.
    ranked.put_u64(rank.cast_unsigned() ^ (1 << 63));
    ranked.put_slice(key.get(prefix.len()..).unwrap_or_default());
    (ranked.freeze(), entry.clone())
}

#[cfg(test)]
mod tests {
    use quorate_store::Revision;

    use super::*;

    #[test]
    fn ranks_come_first() {
        let entry =
            Entry { value: Bytes::new(), created: Revision::new(1), modified: Revision::new(1) };
        let at = |rank: i64, key: &'static str| {
            place(b"o/", rank, &Bytes::from_static(key.as_bytes()), &entry).0
        };
        let order = [
            at(-2, "o/z"),
            at(-1, "o/a"),
            at(0, "o/z"),
            at(1, "o/a"),
            at(1, "o/b"),
            at(256, "o/a"),
        ];
        assert!(order.is_sorted() && order.iter().all(|key| key.starts_with(b"o/")), "{order:?}");
    }
}
