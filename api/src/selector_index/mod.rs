//! Indexes of collections by a label or a field, made when lists that select by it come again.
//!
//! Invariants: an index only spares looking at objects: what it gives is a superset of what has one
//! of the values, at every revision that it answers for, and each object is checked against the whole
//! selection. Where there is none, or it cannot answer, the collection is scanned. There are at most
//! [`MAX_INDEXES`] of them with [`MAX_BYTES`] together; those that are not used are forgotten.
//!
//! Not here: which part of a selection is looked up (`handlers::selected`).

mod built;
mod key;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_registry::Resource;
use quorate_store::Store;
use tokio::time::Instant;

pub(crate) use built::BuiltIndex;
use key::IndexKey;
pub(crate) use key::IndexedBy;

/// Indexes at most, ready or being made.
const MAX_INDEXES: usize = 16;
/// Bytes of all indexes together, about.
const MAX_BYTES: usize = 128 << 20;
/// Labels and fields of which it is remembered that they were asked for, or are not worth an index.
const MAX_ASKED: usize = 256;
/// A label or field gets an index when it is asked for twice within this time.
const REPEATED: Duration = Duration::from_secs(60);
/// An index that was not used for this long is forgotten, and so is why there is none.
const UNUSED: Duration = Duration::from_secs(300);

/// The indexes of a node.
#[derive(Debug, Default)]
pub(crate) struct SelectorIndexes {
    slots: Mutex<BTreeMap<IndexKey, Slot>>,
}

/// What is known of one label or field of a collection.
#[derive(Debug)]
struct Slot {
    used: Instant,
    state: SlotState,
}

#[derive(Debug)]
enum SlotState {
    /// It was asked for once.
    Asked,
    /// A request makes the index.
    Making,
    /// The index, and its bytes when it was last used.
    Ready(Arc<Mutex<BuiltIndex>>, usize),
    /// It would be too large, or could not be kept current.
    Refused,
}

/// An index that a request makes. When the request ends before, it is as if it had not begun.
struct UnfinishedIndex<'a> {
    indexes: &'a SelectorIndexes,
    key: IndexKey,
    done: bool,
}

impl SelectorIndexes {
    /// The index of a resource's objects by a label or a field, if there is one; makes it when it is
    /// asked for again and again, of large collections only.
    pub(crate) async fn find(
        &self,
        store: &dyn Store,
        resource: &Resource,
        by: &IndexedBy,
        is_large: impl FnOnce() -> bool,
    ) -> Option<Arc<Mutex<BuiltIndex>>> {
        let key = IndexKey::new(resource, by);
        let mut unfinished = match self.look(&key, Instant::now(), is_large) {
            Look::Ready(index) => return Some(index),
            Look::Scan => return None,
            Look::Make => UnfinishedIndex { indexes: self, key: key.clone(), done: false },
        };
        let built = BuiltIndex::build(store, &resource.prefix, by, MAX_BYTES).await;
        unfinished.done = true;
        let state = match built {
            Some(built) => {
                let bytes = built.bytes();
                SlotState::Ready(Arc::new(Mutex::new(built)), bytes)
            }
            None => SlotState::Refused,
        };
        let index = match &state {
            SlotState::Ready(index, _) => Some(index.clone()),
            _ => None,
        };
        self.slots.lock().insert(key, Slot { used: Instant::now(), state });
        self.evict();
        index
    }

    /// An index has been used: it is forgotten when it cannot be kept current.
    pub(crate) fn used(&self, resource: &Resource, by: &IndexedBy, index: &Mutex<BuiltIndex>) {
        let (now_bytes, broken) = {
            let index = index.lock();
            (index.bytes(), index.is_broken())
        };
        let key = IndexKey::new(resource, by);
        let mut slots = self.slots.lock();
        let Some(Slot { state: SlotState::Ready(held, bytes), .. }) = slots.get_mut(&key) else {
            return;
        };
        if !std::ptr::eq(&**held, index) {
            return;
        }
        *bytes = now_bytes;
        if broken {
            slots.remove(&key);
        }
        drop(slots);
        self.evict();
    }

    fn look(&self, key: &IndexKey, now: Instant, is_large: impl FnOnce() -> bool) -> Look {
        let mut slots = self.slots.lock();
        slots.retain(|_, slot| {
            matches!(slot.state, SlotState::Making) || now.duration_since(slot.used) < UNUSED
        });
        let is_ready =
            slots.get(key).is_some_and(|slot| matches!(slot.state, SlotState::Ready(..)));
        if !is_ready && !is_large() {
            return Look::Scan;
        }
        let indexes = slots.values().filter(|slot| slot.is_index()).count();
        if let Some(slot) = slots.get_mut(key) {
            let repeated = now.duration_since(slot.used) < REPEATED;
            return match &slot.state {
                SlotState::Ready(index, _) => {
                    slot.used = now;
                    Look::Ready(index.clone())
                }
                SlotState::Asked if repeated && indexes < MAX_INDEXES => {
                    slot.state = SlotState::Making;
                    Look::Make
                }
                SlotState::Asked => {
                    slot.used = now;
                    Look::Scan
                }
                SlotState::Making | SlotState::Refused => Look::Scan,
            };
        }
        if slots.len() >= MAX_ASKED {
            let oldest = slots.iter().filter(|(_, slot)| !slot.is_index());
            let oldest = oldest.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                slots.remove(&oldest);
            }
        }
        slots.insert(key.clone(), Slot { used: now, state: SlotState::Asked });
        Look::Scan
    }

    /// Forgets indexes, those first that were not used for the longest time, until the others fit.
    fn evict(&self) {
        let mut slots = self.slots.lock();
        while slots.values().map(Slot::bytes).sum::<usize>() > MAX_BYTES {
            let ready = slots.iter_mut().filter(|(_, slot)| slot.bytes() > 0);
            let Some((_, oldest)) = ready.min_by_key(|(_, slot)| slot.used) else { return };
            oldest.state = SlotState::Refused;
        }
    }
}

impl Slot {
    fn is_index(&self) -> bool {
        matches!(self.state, SlotState::Making | SlotState::Ready(..))
    }

    fn bytes(&self) -> usize {
        match self.state {
            SlotState::Ready(_, bytes) => bytes,
            SlotState::Asked | SlotState::Making | SlotState::Refused => 0,
        }
    }
}

impl Drop for UnfinishedIndex<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.indexes.slots.lock().remove(&self.key);
        }
    }
}

/// What a request does about an index.
enum Look {
    Ready(Arc<Mutex<BuiltIndex>>),
    Make,
    Scan,
}

#[cfg(test)]
mod tests;
