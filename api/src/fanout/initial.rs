//! The initial events of watches that begin at one state of a collection: encoded once for all that
//! want them in the same form.
//!
//! When a server comes back, thousands of informers begin within seconds. They are told the same
//! objects; what each of them costs should be a copy. A state has a reader for each watch that is
//! being told it, and keeps what readers make while there are several; a state lasts from one
//! revision to a later one while nothing in the collection changes. Invariants: bounded in bytes, all
//! states together, oldest first out; a state goes with its last reader. Where a chunk ends depends on
//! where it begins and on nothing else, so what is not here is made again and is the same.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use quorate_store::Revision;

use super::{Fanout, Kept};

/// Bytes that are kept, all states together.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// What tells the states of one collection, in one form, from others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct InitialKey {
    /// What the keys of the collection start with.
    pub(crate) prefix: Bytes,
    /// The form: see `Renderer::variant`.
    pub(crate) variant: Arc<str>,
}

/// Some of the initial events, as they are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InitialChunk {
    pub(crate) lines: Bytes,
    /// The bytes of each line.
    pub(crate) sizes: Arc<[u32]>,
    /// The key of the last object that was looked at.
    pub(crate) cursor: Option<Bytes>,
    /// Whether it was the last of all.
    pub(crate) is_last: bool,
}

/// The states that are being told.
#[derive(Debug, Default)]
pub(super) struct InitialStates {
    by_key: HashMap<InitialKey, Vec<State>>,
    /// How many there are.
    count: usize,
    /// The number of the next one.
    next: u64,
}

/// A state, and what has been made of it.
#[derive(Debug)]
struct State {
    number: u64,
    /// The revisions that are known to have it.
    first: Revision,
    last: Revision,
    readers: usize,
    /// By the key of the last object before it.
    chunks: Kept<Option<Bytes>, InitialChunk>,
}

/// A watch's share in a state; dropping it ends it.
#[derive(Debug)]
pub(crate) struct InitialReader {
    states: Arc<Mutex<InitialStates>>,
    key: InitialKey,
    /// The state's.
    number: u64,
}

impl Fanout {
    /// Begins to read the state of this revision, with those who read it already.
    /// `is_unchanged_since` says of an earlier revision whether the state was the same then.
    pub(crate) fn read_initial(
        &self,
        key: InitialKey,
        revision: Revision,
        is_unchanged_since: impl Fn(Revision) -> bool,
    ) -> InitialReader {
        let mut all = self.initial.lock();
        let InitialStates { by_key, count, next } = &mut *all;
        let states = by_key.entry(key.clone()).or_default();
        let has_revision = |state: &State| (state.first..=state.last).contains(&revision);
        // Of earlier states only the last one may be the same.
        let newest = states.iter_mut().max_by_key(|state| state.last);
        if let Some(newest) = newest.filter(|state| state.last < revision)
            && is_unchanged_since(newest.last)
        {
            newest.last = revision;
        }
        let state = match states.iter_mut().find(|state| has_revision(state)) {
            Some(state) => state,
            None => {
                (*count, *next) = (*count + 1, *next + 1);
                let (number, chunks) = (*next, Kept::default());
                states.push(State { number, first: revision, last: revision, readers: 0, chunks });
                states.last_mut().expect("it was just pushed")
            }
        };
        state.readers += 1;
        let (states, number) = (self.initial.clone(), state.number);
        InitialReader { states, key, number }
    }
}

impl InitialReader {
    /// The chunk after this object, if it has been made.
    pub(crate) fn chunk(&self, after: Option<&Bytes>) -> Option<InitialChunk> {
        let mut all = self.states.lock();
        let state = all.find(&self.key, self.number)?;
        state.chunks.get(&after.cloned())
    }

    /// Keeps the chunk after this object for the other readers.
    pub(crate) fn keep(&self, after: Option<&Bytes>, chunk: &InitialChunk) {
        let mut all = self.states.lock();
        let most = KEPT_BYTES / all.count.max(1);
        if let Some(state) = all.find(&self.key, self.number)
            && state.readers > 1
        {
            let bytes = chunk.lines.len() + size_of_val(&*chunk.sizes);
            state.chunks.keep(after.cloned(), chunk.clone(), bytes, most);
        }
    }
}

impl Drop for InitialReader {
    fn drop(&mut self) {
        let mut all = self.states.lock();
        let Some(states) = all.by_key.get_mut(&self.key) else { return };
        let left = |state: &mut State| {
            state.readers -= usize::from(state.number == self.number);
            state.readers == 0
        };
        let gone: Vec<State> = states.extract_if(.., left).collect();
        if states.is_empty() {
            all.by_key.remove(&self.key);
        }
        all.count -= gone.len();
        // Others need not wait until what only this state had is freed.
        drop(all);
        drop(gone);
    }
}

impl InitialStates {
    fn find(&mut self, key: &InitialKey, number: u64) -> Option<&mut State> {
        self.by_key.get_mut(key)?.iter_mut().find(|state| state.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(prefix: &'static str) -> InitialKey {
        InitialKey { prefix: prefix.into(), variant: "v1 X".into() }
    }

    fn chunk(bytes: usize) -> InitialChunk {
        let (lines, sizes) = (vec![b'x'; bytes].into(), [].into());
        InitialChunk { lines, sizes, cursor: None, is_last: false }
    }

    /// Begins to read at a revision; the collection was changed last at another one.
    fn read(fanout: &Fanout, revision: u64, changed: u64) -> InitialReader {
        let (revision, changed) = (Revision::new(revision), Revision::new(changed));
        fanout.read_initial(key("a/"), revision, |since| since >= changed)
    }

    #[test]
    fn a_state_is_shared_while_the_collection_does_not_change() {
        let fanout = Fanout::default();
        let first = read(&fanout, 5, 3);
        let check = |revision: u64, changed: u64, expect: bool| {
            let shared = read(&fanout, revision, changed).number == first.number;
            assert_eq!(shared, expect, "{revision} {changed}");
        };
        check(5, 3, true);
        check(4, 3, false);
        check(9, 3, true);
        check(7, 3, true);
        check(12, 10, false);
        check(9, 10, true);
        let other = fanout.read_initial(key("b/"), Revision::new(5), |_| true);
        assert_ne!(other.number, first.number);
    }

    #[test]
    fn chunks_are_kept_while_there_are_several_readers() {
        let fanout = Fanout::default();
        let first = read(&fanout, 5, 5);
        first.keep(None, &chunk(1));
        let second = read(&fanout, 5, 5);
        assert_eq!(second.chunk(None), None, "the first was alone");
        first.keep(None, &chunk(2));
        assert_eq!(second.chunk(None), Some(chunk(2)));
        assert_eq!(second.chunk(Some(&"a/b".into())), None);
        let newer = read(&fanout, 6, 6);
        assert_eq!(newer.chunk(None), None);
        drop((first, second));
        assert_eq!(fanout.initial.lock().count, 1);
        let third = read(&fanout, 5, 5);
        assert_eq!(third.chunk(None), None, "the state went with its readers");
        drop((newer, third));
        let all = fanout.initial.lock();
        assert!(all.by_key.is_empty() && all.count == 0);
    }

    #[test]
    fn what_is_kept_of_states_is_bounded() {
        let fanout = Fanout::default();
        let readers = [read(&fanout, 5, 5), read(&fanout, 5, 5)];
        let large = chunk(KEPT_BYTES / 4);
        for name in ["a", "b", "c", "d", "e", "f"] {
            readers[0].keep(Some(&name.into()), &large);
        }
        let found = |name: &'static str| readers[1].chunk(Some(&name.into())).is_some();
        assert_eq!(["a", "b", "c", "f"].map(found), [false, false, true, true]);
    }
}
