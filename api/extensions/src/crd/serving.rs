//! The publication of custom resources: from the stored definitions to the catalogue.
//!
//! Invariants: a resource is replaced only when what its definition says of it changed; all others
//! keep their `Arc`. A publication costs what has changed, however many definitions there are. A
//! resource of the catalogue that this did not publish is never touched. The removal of a
//! definition's resources is closed once they are no longer published.
//!
//! Not here: when that happens ([`super::publisher`]), and the watch of definitions
//! ([`quorate_registry::derived`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use parking_lot::Mutex;
use quorate_registry::derived::{Derived, ObjectChange};
use quorate_registry::{CurrentCatalogue, Removal, Resource};

use super::definition::Definition;
use super::resource::{ResourceBase, resources};

/// The stored definitions by name, as a derived state.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    by_name: OrdMap<String, Arc<Definition>>,
}

impl Derived for Definitions {
    fn update(&mut self, change: ObjectChange<'_>) {
        match change.new.map(Definition::read) {
            Some(Ok(definition)) => {
                self.by_name.insert(change.name.to_owned(), Arc::new(definition));
            }
            Some(Err(error)) => {
                tracing::error!(error, name = change.name, "a definition is left out");
                self.by_name.remove(change.name);
            }
            None => {
                self.by_name.remove(change.name);
            }
        }
    }
}

impl Definitions {
    /// The definition with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.by_name.get(name)
    }
}

/// The resources of one definition that are published.
#[derive(Debug)]
struct Served {
    definition: Arc<Definition>,
    resources: Vec<Arc<Resource>>,
    removal: Removal,
}

/// Publishes the resources of definitions in a catalogue.
#[derive(Debug)]
pub struct Serving {
    catalogue: Arc<CurrentCatalogue>,
    base: ResourceBase,
    /// Held during a publication.
    published: Mutex<Published>,
}

/// What is published.
#[derive(Debug, Default)]
struct Published {
    definitions: Definitions,
    /// By the name of the definition.
    served: BTreeMap<String, Served>,
}

/// The changes of one publication.
#[derive(Debug, Default)]
struct Changes {
    removed: Vec<Arc<Resource>>,
    added: Vec<Arc<Resource>>,
    /// Of definitions whose resources are not served on.
    removals: Vec<Removal>,
}

impl Serving {
    /// Serves nothing yet beyond what the catalogue has.
    #[must_use]
    pub fn new(catalogue: Arc<CurrentCatalogue>) -> Self {
        let base = ResourceBase::of(&catalogue.load());
        Self { catalogue, base, published: Mutex::default() }
    }

    /// Publishes the resources of the definitions that `newest` gives; all changes are one epoch,
    /// and no change is none. It is asked when no other publication is under way, so an older state
    /// never follows a newer one.
    pub fn publish(&self, newest: impl FnOnce() -> Definitions) {
        let mut published = self.published.lock();
        let definitions = newest();
        let mut changes = Changes::default();
        let Published { definitions: before, served } = &mut *published;
        for change in before.by_name.diff(&definitions.by_name) {
            match change {
                DiffItem::Add(name, definition)
                | DiffItem::Update { new: (name, definition), .. } => {
                    let old = served.remove(name);
                    served.insert(name.clone(), self.serve(definition, old, &mut changes));
                }
                DiffItem::Remove(name, _) => {
                    if let Some(gone) = served.remove(name) {
                        changes.removed.extend(gone.resources);
                        changes.removals.push(gone.removal);
                    }
                }
            }
        }
        *before = definitions;
        if !changes.removed.is_empty() || !changes.added.is_empty() {
            self.catalogue.publish(&changes.removed, &changes.added);
        }
        changes.removals.iter().for_each(Removal::close);
    }

    /// What is served of a definition now.
    fn serve(
        &self,
        definition: &Arc<Definition>,
        old: Option<Served>,
        changes: &mut Changes,
    ) -> Served {
        let definition = definition.clone();
        let removal = match old {
            Some(old) if serves_the_same(&old.definition, &definition) => {
                return Served { definition, ..old };
            }
            Some(old) => {
                changes.removed.extend(old.resources);
                let goes_on = old.definition.uid == definition.uid && definition.is_established();
                if goes_on {
                    old.removal
                } else {
                    changes.removals.push(old.removal);
                    Removal::default()
                }
            }
            None => Removal::default(),
        };
        let resources = resources(&self.base, &definition, &removal);
        changes.added.extend(resources.iter().cloned());
        Served { definition, resources, removal }
    }
}

/// Whether two states of a definition have the same resources.
fn serves_the_same(old: &Definition, new: &Definition) -> bool {
    old.uid == new.uid
        && old.is_established() == new.is_established()
        && old.group == new.group
        && old.accepted == new.accepted
        && old.namespaced == new.namespaced
        && old.conversion == new.conversion
        && old.versions == new.versions
}

#[cfg(test)]
mod tests {
    use quorate_registry::Catalogue;
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    fn definitions(all: &[(&str, &Definition)]) -> Definitions {
        let entries = all.iter().map(|(name, one)| ((*name).to_owned(), Arc::new((*one).clone())));
        Definitions { by_name: entries.collect() }
    }

    #[test]
    fn only_what_changed_is_replaced() {
        let catalogue = CurrentCatalogue::new(Catalogue::new(testing::base(), Vec::new()));
        let serving = Serving::new(catalogue.clone());
        let find = || catalogue.load().find("x.example", "v1", "widgets").cloned();
        let first = testing::definition(json!({"type": "object"}));
        serving.publish(|| definitions(&[("a", &first)]));
        let (before, epoch) = (find().expect("served"), catalogue.load().epoch());
        let mut other = first.clone();
        other.generation = 7;
        serving.publish(|| definitions(&[("a", &other)]));
        assert!(Arc::ptr_eq(&before, &find().expect("served")));
        assert_eq!(catalogue.load().epoch(), epoch);
        other.versions[1].status = false;
        serving.publish(|| definitions(&[("a", &other)]));
        assert!(!Arc::ptr_eq(&before, &find().expect("served")));
        let removal = before.removal.as_ref().expect("custom");
        assert!(!removal.is_closed());
        serving.publish(|| definitions(&[]));
        assert!(find().is_none() && removal.is_closed());
    }
}
