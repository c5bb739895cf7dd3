//! The limit on `Update` entries of an object: beyond it the oldest are merged into one.

use std::collections::HashMap;

use super::{Entry, Managed, Operation};

/// `Update` entries of an object, at most. `Apply` entries are not limited.
const MAX_UPDATERS: usize = 10;
/// The manager of the merged entry.
const MERGED_NAME: &str = "ancient-changes";

/// Merges the oldest `Update` entries, per version, down to the limit. The only entry of a version
/// stays.
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

/// Sorts `Update` entries after `Apply` entries, and by time.
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
