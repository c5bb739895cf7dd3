//! The names of all definitions of a group, in one state of the store.
//!
//! Invariant: a definition is read once for each of its revisions; what is gone is forgotten when
//! its group is looked at.

use std::collections::BTreeMap;

use quorate_extensions::crd::definition::{Definition, DefinitionNames};
use quorate_registry::{Resource, stored_codec};
use quorate_store::{Condition, Entry, Revision, Snapshot};

use super::names::{self, Taken};

/// What one definition asks for, and what it got.
#[derive(Debug)]
struct Known {
    at: Revision,
    asked: DefinitionNames,
    accepted: DefinitionNames,
}

/// The names of definitions, by the definitions' own.
#[derive(Debug, Default)]
pub(super) struct GroupNames {
    known: BTreeMap<String, Known>,
}

impl GroupNames {
    /// Reads the definitions of a group as they are now.
    pub(super) fn refresh(&mut self, resource: &Resource, snapshot: &Snapshot, group: &str) {
        let mut stored = BTreeMap::new();
        for (key, entry) in snapshot.range(&resource.prefix(None), None) {
            if let Some((_, name)) = resource.parse_key(key).filter(|(_, name)| is_of(name, group))
            {
                stored.insert(name, entry);
            }
        }
        self.known.retain(|name, known| {
            !is_of(name, group)
                || stored.get(name.as_str()).is_some_and(|entry| entry.modified == known.at)
        });
        for (name, entry) in stored {
            if !self.known.contains_key(name)
                && let Some(known) = read(resource, entry)
            {
                self.known.insert(name.to_owned(), known);
            }
        }
    }

    /// The names that the definitions of a group got, but for one of them.
    pub(super) fn taken(&self, group: &str, but: &str) -> Taken<'_> {
        let mut taken = Taken::default();
        self.others(group, but).for_each(|(_, known)| taken.add(&known.accepted));
        taken
    }

    /// That no other definition which may want one of these names has changed.
    pub(super) fn unchanged(
        &self,
        resource: &Resource,
        group: &str,
        but: &str,
        asked: &DefinitionNames,
    ) -> Vec<Condition> {
        self.others(group, but)
            .filter(|(_, known)| names::overlap(&known.asked, asked))
            .map(|(name, known)| Condition::Modified {
                key: resource.key(None, name),
                revision: known.at,
            })
            .collect()
    }

    fn others(&self, group: &str, but: &str) -> impl Iterator<Item = (&String, &Known)> {
        self.known.iter().filter(move |(name, _)| is_of(name, group) && *name != but)
    }
}

/// Whether a definition of this name is one of the group: it is called `PLURAL.GROUP`.
pub(super) fn is_of(name: &str, group: &str) -> bool {
    name.split_once('.').is_some_and(|(_, own)| own == group)
}

/// The names of a stored definition; one that cannot be read has none.
fn read(resource: &Resource, entry: &Entry) -> Option<Known> {
    let json = stored_codec::header(resource, &entry.value).ok()?.json();
    let Definition { names, accepted, .. } = Definition::read(&json).ok()?;
    Some(Known { at: entry.modified, asked: names, accepted })
}
