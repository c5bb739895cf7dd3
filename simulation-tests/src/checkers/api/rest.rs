//! The check for rest: nothing is left to do for the controllers.

use std::collections::BTreeSet;

use quorate_store::Snapshot;
use quorate_wire::stored::StoredRef;

/// The keys of all objects.
const OBJECTS: &[u8] = b"o/";
/// The finalizers that controllers take away.
const OWN_FINALIZERS: [&str; 2] = ["foregroundDeletion", "orphan"];

/// Something that controllers should have done in this state, once the clients have stopped.
pub(crate) fn unfinished(state: &Snapshot) -> Option<String> {
    let mut uids = BTreeSet::new();
    let mut owned = Vec::new();
    for (key, entry) in state.range(OBJECTS, None) {
        let name = String::from_utf8_lossy(key);
        let Ok(stored) = StoredRef::parse(&entry.value) else {
            return Some(format!("{name} is unreadable"));
        };
        uids.insert(stored.uid());
        let owners: Vec<&str> = stored.owner_references().map(|owner| owner.uid).collect();
        if !owners.is_empty() {
            owned.push((name.clone().into_owned(), owners));
        }
        if stored.deletion_timestamp().is_some() {
            let Ok(object) = stored.to_value("", "", 0) else {
                return Some(format!("{name} is unreadable"));
            };
            let finalizers = object
                .at(&["metadata", "finalizers"])
                .and_then(|list| list.as_list())
                .unwrap_or_default();
            let held = finalizers
                .iter()
                .filter_map(|name| name.as_str())
                .any(|name| !OWN_FINALIZERS.contains(&name));
            if !held {
                return Some(format!("{name} is still being deleted"));
            }
        }
    }
    let orphan =
        owned.into_iter().find(|(_, owners)| owners.iter().all(|owner| !uids.contains(owner)));
    orphan.map(|(name, _)| format!("{name} is still there though its owners are gone"))
}
