//! How many bytes the store holds: counted once, then followed from the changes.
//!
//! Invariant: the number is that of the newest revision that this node has applied when it is asked. Counted anew when the changes are not
//! to be had (after a snapshot was installed).

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_store::{Entry, Serving, Watch, WatchBatch};

use super::core::Core;

/// Bytes of all keys and values.
pub(crate) struct Size {
    serving: Serving,
    counted: Mutex<Counted>,
}

struct Counted {
    bytes: u64,
    /// What comes after the revision that `bytes` is of; `None` when it must be counted anew.
    changes: Option<Watch>,
}

impl Size {
    /// Counts what is there.
    pub(crate) fn new(serving: Serving) -> Self {
        let mut counted = Counted { bytes: 0, changes: None };
        counted.count(&serving);
        Self { serving, counted: Mutex::new(counted) }
    }

    /// The number now.
    pub(crate) fn bytes(&self) -> u64 {
        let mut counted = self.counted.lock();
        counted.catch_up(&self.serving);
        counted.bytes
    }
}

impl Counted {
    fn count(&mut self, serving: &Serving) {
        let snapshot = serving.snapshot();
        self.bytes = snapshot.range(b"", None).map(|(key, entry)| footprint(key, entry)).sum();
        self.changes = serving.watch(Bytes::new(), snapshot.revision()).ok();
    }

    fn catch_up(&mut self, serving: &Serving) {
        loop {
            match self.changes.as_mut().map(Watch::try_next) {
                Some(Ok(Some(batch))) => self.add(&batch),
                Some(Ok(None)) => return,
                Some(Err(_)) | None => return self.count(serving),
            }
        }
    }

    fn add(&mut self, batch: &WatchBatch) {
        for event in batch.events() {
            let bytes = |entry: &Option<Entry>| entry.as_ref().map_or(0, |entry| footprint(&event.key, entry));
            self.bytes += bytes(&event.current);
            self.bytes = self.bytes.saturating_sub(bytes(&event.previous));
        }
    }
}

impl Core {
    /// Bytes of keys and values.
    pub(crate) fn size(&self) -> u64 {
        self.size.bytes()
    }

    /// Keeps the size near the newest revision for ever, so that nobody who asks has far to go.
    pub(crate) async fn follow_size(&self) {
        loop {
            self.serving.applied(self.serving.revision().next()).await;
            self.size();
        }
    }
}

fn footprint(key: &Bytes, entry: &Entry) -> u64 {
    (key.len() + entry.value.len()) as u64
}
