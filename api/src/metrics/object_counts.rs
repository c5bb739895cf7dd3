//! How many objects of each resource there are, and their bytes.
//!
//! Invariant: the store is walked at most once in a while, however often metrics are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use quorate_registry::keys::Key;
use quorate_store::{Revision, Store};
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
        let mut counts = Counts::new();
        let mut current: Option<((String, String), ObjectCount)> = None;
        for (key, entry) in snapshot.range(OBJECTS, None) {
            let Some(Key::Object { group, resource, .. }) = Key::parse(key) else { continue };
            // The keys of a resource stand together.
            let is_same = current.as_ref().is_some_and(|((own_group, own_resource), _)| {
                own_group == group && own_resource == resource
            });
            if !is_same {
                counts.extend(current.take());
                current = Some(((group.to_owned(), resource.to_owned()), ObjectCount::default()));
            }
            if let Some((_, count)) = &mut current {
                count.objects += 1;
                count.bytes += (key.len() + entry.value.len()) as u64;
            }
        }
        counts.extend(current);
        let counts = Arc::new(counts);
        *last = Some((Instant::now(), snapshot.revision(), counts.clone()));
        counts
    }
}
