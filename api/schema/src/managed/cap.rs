//! The limit on entries of updates: beyond it the oldest are merged into one.

use std::collections::HashMap;

use super::{Entry, Managed, Operation};

/// How many entries of updates an object may have. Applies are not limited.
const MAX_UPDATERS: usize = 10;
/// Name of the entry that holds what the oldest updates owned.
const MERGED_NAME: &str = "ancient-changes";

/// Merges the oldest entries of updates, per version, until the limit is kept. A version's only entry is left alone.
pub(super) fn merge_oldest(managed: &mut Managed) {
    if managed.entries.len() <= MAX_UPDATERS {
        return sort(managed);
    }
    let (mut updates, mut kept): (Vec<Entry>, Vec<Entry>) =
        std::mem::take(&mut managed.entries).into_iter().partition(|entry| entry.operation == Operation::Update);
    updates.sort_by(|left, right| (&left.time, &left.manager).cmp(&(&right.time, &right.manager)));
    let mut excess = updates.len().saturating_sub(MAX_UPDATERS);
    let mut buckets: HashMap<String, usize> = HashMap::new();
    let mut result: Vec<Entry> = Vec::with_capacity(updates.len());
    for entry in updates {
        match buckets.get(&entry.api_version) {
            Some(&bucket) if excess > 0 => {
                absorb(&mut result[bucket], entry);
                excess -= 1;
            }
            Some(_) => result.push(entry),
            None => {
                buckets.insert(entry.api_version.clone(), result.len());
                result.push(entry);
            }
        }
    }
    kept.append(&mut result);
    managed.entries = kept;
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
