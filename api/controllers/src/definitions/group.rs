//! The names of all definitions, by group, as the changes of the store tell them.
//!
//! Invariants: a definition is read once for each of its revisions; what is gone is forgotten.

use std::collections::BTreeMap;

use quorate_extensions::crd::definition::{Definition, DefinitionNames};
use quorate_registry::{Resource, stored_codec};
use quorate_store::{Condition, Entry, Revision};

use super::names::{self, Taken};

/// What one definition asks for, and what it got.
#[derive(Debug)]
struct Known {
    at: Revision,
    asked: DefinitionNames,
    accepted: DefinitionNames,
}

/// The names of definitions, by group and by the definitions' own names.
#[derive(Debug, Default)]
pub(super) struct GroupNames {
    groups: BTreeMap<String, BTreeMap<String, Known>>,
}

impl GroupNames {
    /// Takes in a definition as it is now; one that cannot be read has no names.
    pub(super) fn observe(&mut self, resource: &Resource, name: &str, entry: Option<&Entry>) {
        let Some(group) = group_of(name) else {
            return;
        };
        match entry.and_then(|entry| read(resource, entry)) {
            Some(known) => {
                let names = self.groups.entry(group.to_owned()).or_default();
                names.insert(name.to_owned(), known);
            }
            None => {
                let Some(names) = self.groups.get_mut(group) else {
                    return;
                };
                names.remove(name);
                if names.is_empty() {
                    self.groups.remove(group);
                }
            }
        }
    }

    /// The revision at which a definition was observed.
    pub(super) fn revision(&self, name: &str) -> Option<Revision> {
        Some(self.groups.get(group_of(name)?)?.get(name)?.at)
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
        let names = self.groups.get(group).into_iter().flatten();
        names.filter(move |(name, _)| *name != but)
    }
}

/// The group of a definition of this name: it is called `PLURAL.GROUP`.
pub(super) fn group_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(_, group)| group)
}

/// The names of a stored definition.
fn read(resource: &Resource, entry: &Entry) -> Option<Known> {
    let json = stored_codec::header(resource, &entry.value).ok()?.json();
    let Definition { names, accepted, .. } = Definition::read(&json).ok()?;
    Some(Known { at: entry.modified, asked: names, accepted })
}
