//! What is known of each label and field that lists have selected by: whether there is an index, and
//! why not.
//!
//! Invariant: at most [`MAX_INDEXES`] are there or being made, and at most [`MAX_ASKED`] labels and
//! fields are remembered; what no list has used for [`UNUSED`] is forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::built::BuiltIndex;
use super::key::IndexKey;

/// Indexes at most, ready or being made.
pub(super) const MAX_INDEXES: usize = 16;
/// Labels and fields of which it is remembered that they were asked for, or are not worth an index.
pub(super) const MAX_ASKED: usize = 256;
/// A label or field gets an index when it is asked for twice within this time.
pub(super) const REPEATED: Duration = Duration::from_secs(60);
/// An index that was not used for this long is forgotten, and so is why there is none.
pub(super) const UNUSED: Duration = Duration::from_secs(300);

/// The labels and fields.
#[derive(Debug, Default)]
pub(super) struct Slots(BTreeMap<IndexKey, Slot>);

/// What is known of one label or field of a collection.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) used: Instant,
    pub(super) state: SlotState,
}

#[derive(Debug)]
pub(super) enum SlotState {
    /// It was asked for once.
    Asked,
    /// A request makes the index.
    Making,
    /// The index, and its bytes when it was last used.
    Ready(Arc<Mutex<BuiltIndex>>, usize),
    /// It would be too large.
    Refused,
}

impl Slots {
    /// The index if it is there.
    pub(super) fn ready(&self, key: &IndexKey) -> Option<Arc<Mutex<BuiltIndex>>> {
        match &self.0.get(key)?.state {
            SlotState::Ready(index, _) => Some(index.clone()),
            _ => None,
        }
    }

    /// A list asks for an index that is not there: whether it is to be made now. When it is, the slot
    /// says so.
    pub(super) fn ask(&mut self, key: &IndexKey, now: Instant) -> bool {
        self.prune(now);
        let indexes = self.0.values().filter(|slot| slot.is_index()).count();
        if let Some(slot) = self.0.get_mut(key) {
            if !matches!(slot.state, SlotState::Asked) {
                return false;
            }
            let is_made = now.duration_since(slot.used) < REPEATED && indexes < MAX_INDEXES;
            if is_made {
                slot.state = SlotState::Making;
            }
            slot.used = now;
            return is_made;
        }
        if self.0.len() >= MAX_ASKED {
            let oldest = self.0.iter().filter(|(_, slot)| !slot.is_index());
            let oldest = oldest.min_by_key(|(_, slot)| slot.used).map(|(key, _)| key.clone());
            oldest.map(|oldest| self.0.remove(&oldest));
        }
        self.set(key, now, SlotState::Asked);
        false
    }

    /// Says what there is.
    pub(super) fn set(&mut self, key: &IndexKey, used: Instant, state: SlotState) {
        self.0.insert(key.clone(), Slot { used, state });
    }

    /// The slot of an index that may have been replaced meanwhile.
    pub(super) fn of_index(
        &mut self,
        key: &IndexKey,
        index: &Arc<Mutex<BuiltIndex>>,
    ) -> Option<&mut Slot> {
        let is_it = |slot: &&mut Slot| matches!(&slot.state, SlotState::Ready(held, _) if Arc::ptr_eq(held, index));
        self.0.get_mut(key).filter(is_it)
    }

    /// Forgets one.
    pub(super) fn remove(&mut self, key: &IndexKey) {
        self.0.remove(key);
    }

    /// Forgets what was not used for a while.
    pub(super) fn prune(&mut self, now: Instant) {
        self.0.retain(|_, slot| {
            matches!(slot.state, SlotState::Making) || now.duration_since(slot.used) < UNUSED
        });
    }

    /// Forgets indexes, those first that were not used for the longest time, until the others take
    /// no more than so many bytes.
    pub(super) fn evict(&mut self, max_bytes: usize) {
        while self.bytes() > max_bytes {
            let ready = self.0.values_mut().filter(|slot| slot.bytes() > 0);
            let Some(oldest) = ready.min_by_key(|slot| slot.used) else { return };
            oldest.state = SlotState::Refused;
        }
    }

    /// Indexes that are there.
    pub(super) fn ready_count(&self) -> usize {
        self.0.values().filter(|slot| matches!(slot.state, SlotState::Ready(..))).count()
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(Slot::bytes).sum()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
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
