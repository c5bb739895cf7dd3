//! How many watches are open of each collection, for the cost of writes to it.
//!
//! Invariant: a watch counts from its start to its end, however it ends.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// The open watches, by the prefix of the keys that they watch.
#[derive(Debug, Default)]
pub struct WatchCounts {
    counts: Mutex<HashMap<Bytes, usize>>,
}

/// An open watch; dropping it ends it.
#[derive(Debug)]
pub struct CountedWatch {
    counts: Arc<WatchCounts>,
    prefix: Bytes,
}

impl WatchCounts {
    /// A watch of the keys with this prefix begins.
    #[must_use]
    pub fn join(self: &Arc<Self>, prefix: Bytes) -> CountedWatch {
        *self.counts.lock().entry(prefix.clone()).or_default() += 1;
        CountedWatch { counts: self.clone(), prefix }
    }

    /// How many watches there are of exactly these prefixes.
    #[must_use]
    pub fn of(&self, prefixes: &[&[u8]]) -> usize {
        let counts = self.counts.lock();
        prefixes.iter().filter_map(|prefix| counts.get(*prefix)).sum()
    }
}

impl Drop for CountedWatch {
    fn drop(&mut self) {
        let mut counts = self.counts.counts.lock();
        if let Some(count) = counts.get_mut(&self.prefix) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.prefix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_count_while_they_are_open() {
        let counts = Arc::<WatchCounts>::default();
        let check = |expect: [usize; 3]| {
            let found = [&[&b"a"[..]][..], &[b"b"], &[b"a", b"b", b"c"]].map(|all| counts.of(all));
            assert_eq!(found, expect);
        };
        let join = |prefix: &'static str| counts.join(Bytes::from_static(prefix.as_bytes()));
        check([0, 0, 0]);
        let (first, second, third) = (join("a"), join("a"), join("b"));
        check([2, 1, 3]);
        drop(first);
        check([1, 1, 2]);
        drop((second, third));
        check([0, 0, 0]);
        assert!(counts.counts.lock().is_empty());
    }
}
