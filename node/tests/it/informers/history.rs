//! The history of an informer's events, checked against what was written.

use std::collections::{BTreeMap, BTreeSet};

use super::Written;

/// One thing that an informer was told after its first list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) deleted: bool,
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) revision: u64,
}

/// All of it, in the order in which it came.
#[derive(Debug, Default)]
pub(crate) struct History(Vec<Change>);

impl History {
    pub(super) fn push(&mut self, change: Change) {
        self.0.push(change);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Revisions rise, a name belongs to one object at a time, and nothing comes after a deletion.
    /// With a selector an object may go and come back, so that a deletion is not its end.
    pub(crate) fn check_order(&self, who: &str, selects: bool) {
        let mut alive: BTreeMap<&str, &str> = BTreeMap::new();
        let mut gone: BTreeSet<&str> = BTreeSet::new();
        let mut last = 0;
        for change in &self.0 {
            let Change { deleted, name, uid, revision } = change;
            assert!(*revision > last, "{who}: {change:?} after revision {last}");
            last = *revision;
            assert!(
                selects || !gone.contains(uid.as_str()),
                "{who}: {change:?} after its deletion"
            );
            let before =
                if *deleted { alive.remove(name.as_str()) } else { alive.insert(name, uid) };
            assert!(
                before.is_none_or(|before| before == uid),
                "{who}: {change:?} while {before:?} is alive"
            );
            assert!(
                !*deleted || before.is_some(),
                "{who}: {change:?} but there was no such object"
            );
            if *deleted {
                gone.insert(uid);
            }
        }
    }

    /// Everything that was acknowledged is there.
    pub(super) fn check_complete(&self, who: &str, written: &Written) {
        let changed: BTreeSet<(u64, &str)> = self
            .0
            .iter()
            .filter(|change| !change.deleted)
            .map(|change| (change.revision, &*change.name))
            .collect();
        let deleted: BTreeSet<&str> =
            self.0.iter().filter(|change| change.deleted).map(|change| &*change.uid).collect();
        for (revision, name) in &written.changed {
            assert!(
                changed.contains(&(*revision, name)),
                "{who} missed {name} at revision {revision}"
            );
        }
        for uid in &written.deleted {
            assert!(deleted.contains(uid.as_str()), "{who} missed the deletion of {uid}");
        }
    }
}
