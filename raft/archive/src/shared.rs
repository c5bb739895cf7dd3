//! What the writer and the readers of an archive share: the contents, and word of what is damaged.
//!
//! Invariant: only the writer changes the contents. Readers never wait for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::contents::Contents;
use crate::slice::Slice;

/// What both hold.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    contents: ArcSwap<Contents>,
    /// The writer is to end. It holds no table, as the next one: what waits for the writer's end,
    /// and holds nothing else of the archive, finds every table closed.
    pub(crate) closing: CancellationToken,
    /// The writer has ended.
    ended: CancellationToken,
    /// The names of eras that could not be read.
    damaged: Mutex<Vec<String>>,
    /// Bytes of keys and values archived since the start.
    pub(crate) written: AtomicU64,
    /// Eras that were dropped for damage since the start, and bulks that could not be written.
    pub(crate) failures: AtomicU64,
}

impl Shared {
    /// Held by the writer: however that ends, what waits for its end is told.
    pub(crate) fn end_guard(&self) -> DropGuard {
        self.ended.clone().drop_guard()
    }

    /// What there is.
    pub(crate) fn contents(&self) -> Arc<Contents> {
        self.contents.load_full()
    }

    /// Shows what there is from now on.
    pub(crate) fn publish(&self, contents: Contents) {
        self.contents.store(Arc::new(contents));
    }

    /// Reading this slice has failed. An era that is damaged is dropped; one that only could not be
    /// read now stays.
    pub(crate) fn report(&self, slice: &Slice, error: &io::Error) {
        let name = &slice.era.name;
        let mut damaged = self.damaged.lock();
        if !damaged.contains(name) {
            tracing::error!(era = %name, %error, "the archive cannot be read");
            if is_damage(error) {
                damaged.push(name.clone());
            }
        }
    }

    /// The eras that were reported.
    pub(crate) fn take_damaged(&self) -> Vec<String> {
        std::mem::take(&mut self.damaged.lock())
    }

    /// Counts one.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the writer; returns when it has ended.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.ended.cancelled().await;
    }
}

/// Whether this says that what was written is not there any more.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
    )
}
