//! How many objects of each resource there are, and their bytes.
//!
//! Invariant: the store is walked at most once in a while, however often metrics are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_registry::keys::Key;
use quorate_store::{Revision, Snapshot, Store};
use tokio::time::Instant;

/// How old the counts may be.
const MAX_AGE: Duration = Duration::from_secs(30);
/// What the keys of all objects start with.
const OBJECTS: &[u8] = b"o/";

/// Objects of one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ObjectCount {
    pub(super) objects: u64,
    pub(super) bytes: u64,
}

/// By group and plural name.
type Counts = BTreeMap<(String, String), ObjectCount>;

/// The counts of a store, as of a little while ago.
pub(super) struct ObjectCounts {
    store: Arc<dyn Store>,
    last: Mutex<Option<(Instant, Revision, Arc<Counts>)>>,
}

impl ObjectCounts {
    pub(super) fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { store, last: Mutex::default() })
    }

    /// The counts.
    pub(super) fn get(&self) -> Arc<Counts> {
        let mut last = self.last.lock();
        let snapshot = self.store.snapshot();
        let kept = last
            .as_ref()
            .filter(|(at, revision, _)| at.elapsed() < MAX_AGE || *revision == snapshot.revision());
        if let Some((_, _, counts)) = kept {
            return counts.clone();
        }
        let counts = Arc::new(counted(&snapshot));
        *last = Some((Instant::now(), snapshot.revision(), counts.clone()));
        counts
    }
}

/// The counts of a state. The keys of a resource stand together, so only its first one is read.
fn counted(snapshot: &Snapshot) -> Counts {
    let mut counts = Counts::new();
    let mut after: Option<Vec<u8>> = None;
    while let Some((key, _)) = snapshot.range(OBJECTS, after.as_deref()).next() {
        let Some(Key::Object { group, resource, .. }) = Key::parse(key) else {
            after = Some(key.to_vec());
            continue;
        };
        let prefix = collection(key);
        let objects = snapshot.range(prefix, None);
        let count = ObjectCount {
            objects: objects.len() as u64,
            bytes: objects.map(|(key, entry)| (key.len() + entry.value.len()) as u64).sum(),
        };
        counts.insert((group.to_owned(), resource.to_owned()), count);
        // Keys are UTF-8, so this is behind all that have the prefix.
        after = Some([prefix, &[u8::MAX]].concat());
    }
    counts
}

/// What the keys of a resource start with, of one of them: its class, its group and its name.
fn collection(key: &[u8]) -> &[u8] {
    let ends = key.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(place, _)| place);
    ends.take(3).last().map_or(key, |end| &key[..=end])
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use quorate_store::Entry;

    use super::*;

    #[test]
    fn objects_are_counted_by_resource() {
        let entry = |key: &'static str| {
            let (created, modified) = (Revision::new(1), Revision::new(2));
            (Bytes::from(key), Entry { value: Bytes::from_static(b"12345"), created, modified })
        };
        let keys = [
            "d/widgets.example.com",
            "o/apps/deployments/a/b",
            "o/apps/deployments/a/c",
            "o/apps/deploymentsextra/a/b",
            "o/core/namespaces/a",
            "o/unreadable",
            "u/purge",
        ];
        let counts = counted(&Snapshot::of(Revision::new(2), keys.map(entry)));
        let found = counts.iter().map(|((group, resource), count)| {
            (group.as_str(), resource.as_str(), count.objects, count.bytes)
        });
        let expect = [
            ("", "namespaces", 1, 24),
            ("apps", "deployments", 2, 54),
            ("apps", "deploymentsextra", 1, 32),
        ];
        assert!(found.eq(expect), "{counts:?}");
    }
}
