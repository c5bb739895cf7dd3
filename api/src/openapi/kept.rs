//! Which documents of version 3 about custom resources are kept: the newest ones, up to a size.
//!
//! Invariant: one that is dropped is made again for the next request that asks for it, and says the
//! same under the same ETag.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::custom::CustomPart;

/// Bytes of documents that are kept: a client may ask for those of thousands of definitions.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The documents that are kept, in the order in which they were made.
#[derive(Default)]
pub(super) struct KeptDocuments {
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    bytes: usize,
    queue: VecDeque<(Weak<CustomPart>, usize)>,
}

impl KeptDocuments {
    /// Counts a document that was made of a part, and drops the oldest ones when they are too large
    /// together.
    pub(super) fn add(&self, part: &Arc<CustomPart>, bytes: usize) {
        let mut made = self.made.lock();
        made.bytes += bytes;
        made.queue.push_back((Arc::downgrade(part), bytes));
        while made.bytes > MAX_KEPT_BYTES
            && let Some((oldest, bytes)) = made.queue.pop_front()
        {
            made.bytes -= bytes;
            if let Some(oldest) = oldest.upgrade() {
                oldest.forget();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_documents_are_dropped() {
        let kept = KeptDocuments::default();
        let parts = [(); 3].map(|()| Arc::new(CustomPart::new(Vec::new())));
        let before = parts.each_ref().map(|part| part.forms());
        let is_kept = || -> Vec<bool> {
            parts
                .iter()
                .zip(&before)
                .map(|(part, forms)| Arc::ptr_eq(&part.forms(), forms))
                .collect()
        };
        kept.add(&parts[0], 1);
        kept.add(&parts[1], MAX_KEPT_BYTES - 1);
        assert_eq!(is_kept(), [true, true, true]);
        kept.add(&parts[2], 1);
        assert_eq!(is_kept(), [false, true, true]);
        kept.add(&parts[2], MAX_KEPT_BYTES + 1);
        assert_eq!(is_kept(), [false, false, false]);
    }
}
