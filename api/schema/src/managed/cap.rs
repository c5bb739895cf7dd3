//! The limit on entries of updates: beyond it the oldest are merged into one.

use std::collections::HashMap;

use super::{Entry, Managed, Operation};

/// How many entries of updates an object may have. Applies are not limited.
const MAX_UPDATERS: usize = 10;
/// Name of the entry that holds what the oldest updates owned.
const MERGED_NAME: &str = "ancient-changes";

/// Merges the oldest entries of updates, per version, until the limit is kept. A version's only entry is left alone.
pub(super) fn merge_oldest(managed: &mut Managed) {
    sort(managed);
    let first = managed.entries.partition_point(|entry| entry.operation != Operation::Update);
    let mut excess = (managed.entries.len() - first).saturating_sub(MAX_UPDATERS);
    if excess == 0 {
        return;
    }
    let updates = managed.entries.split_off(first);
    let mut buckets: HashMap<String, usize> = HashMap::new();
    for entry in updates {
        match buckets.get(&entry.api_version) {
            Some(&bucket) if excess > 0 => {
                absorb(&mut managed.entries[bucket], entry);
                excess -= 1;
            }
            Some(_) => managed.entries.push(entry),
            None => {
                buckets.insert(entry.api_version.clone(), managed.entries.len());
                managed.entries.push(entry);
            }
        }
    }
}

/// Puts updates behind applies, and in order of their times.
fn sort(managed: &mut Managed) {
    let is_update = |entry: &Entry| entry.operation == Operation::Update;
    managed.entries.sort_by(|left, right| match (is_update(left), is_update(right)) {
        (true, true) => (&left.time, &left.manager).cmp(&(&right.time, &right.manager)),
        (left, right) => left.cmp(&right),
    });
}

fn absorb(bucket: &mut Entry, entry: Entry) {
    MERGED_NAME.clone_into(&mut bucket.manager);
    bucket.subresource.clear();
    bucket.fields = std::mem::take(&mut bucket.fields).union(&entry.fields);
    bucket.time = entry.time;
}
