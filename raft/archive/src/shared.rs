//! What the writer and the readers of an archive share: the contents, and word of what is damaged.
//!
//! Invariant: only the writer changes the contents. Readers never wait for it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex};

use crate::contents::Contents;
use crate::fill::FillCounts;
use crate::slice::Slice;

/// What both hold.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    contents: ArcSwap<Contents>,
    signal: Arc<Signal>,
    /// Bytes of keys and values archived since the start.
    pub(crate) written: AtomicU64,
    /// Eras that were dropped for damage since the start, and bulks that could not be written.
    pub(crate) failures: AtomicU64,
    /// What came from other members.
    pub(crate) filled: FillCounts,
}

/// What the writer and who closes the archive tell each other. It holds no table: who has waited for
/// the writer's end, and holds nothing else of the archive, finds every table closed.
#[derive(Debug, Default)]
struct Signal {
    flags: Mutex<Flags>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Flags {
    is_closing: bool,
    has_ended: bool,
    /// The names of eras that could not be read.
    damaged: Vec<String>,
}

/// Held by the writer's thread: however that ends, who closes the archive is told.
pub(crate) struct EndGuard(Arc<Signal>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.flags.lock().has_ended = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    /// For the writer's thread.
    pub(crate) fn end_guard(&self) -> EndGuard {
        EndGuard(Arc::clone(&self.signal))
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
        let mut flags = self.signal.flags.lock();
        if !flags.damaged.contains(name) {
            tracing::error!(era = %name, %error, "the archive cannot be read");
            if is_damage(error) {
                flags.damaged.push(name.clone());
            }
        }
    }

    /// The eras that were reported.
    pub(crate) fn take_damaged(&self) -> Vec<String> {
        std::mem::take(&mut self.signal.flags.lock().damaged)
    }

    /// Counts one.
    pub(crate) fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits that long, or until the archive is closed. True when it is.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let mut flags = self.signal.flags.lock();
        if !flags.is_closing {
            self.signal.changed.wait_for(&mut flags, time);
        }
        flags.is_closing
    }

    /// Ends the writer; returns when it has ended.
    pub(crate) fn close(&self) {
        let mut flags = self.signal.flags.lock();
        flags.is_closing = true;
        self.signal.changed.notify_all();
        while !flags.has_ended {
            self.signal.changed.wait(&mut flags);
        }
    }
}

/// Whether this says that what was written is not there any more.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
    )
}
