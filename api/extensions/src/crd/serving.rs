//! The publication of custom resources: from the stored definitions to the catalogue.
//!
//! Invariants: a resource is replaced only when what its definition says of it changed; all others
//! keep their `Arc`. A resource of the catalogue that this did not publish is never touched. The
//! removal of a definition's resources is closed once they are no longer published.
//!
//! Not here: the task that calls it, and the watch of definitions ([`quorate_registry::derived`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use quorate_registry::derived::{Derived, ObjectChange};
use quorate_registry::{CurrentCatalogue, Removal, Resource};

use super::definition::Definition;
use super::resource::{ResourceBase, resources};

/// The stored definitions by name, as a derived state.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    by_name: BTreeMap<String, Arc<Definition>>,
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
    /// Held during a publication; by the name of the definition.
    served: Mutex<BTreeMap<String, Served>>,
}

impl Serving {
    /// Serves nothing yet beyond what the catalogue has.
    #[must_use]
    pub fn new(catalogue: Arc<CurrentCatalogue>) -> Self {
        let base = ResourceBase::of(&catalogue.load());
        Self { catalogue, base, served: Mutex::default() }
    }

    /// Publishes the resources of these definitions; all changes are one epoch, and no change is
    /// none.
    pub fn publish(&self, definitions: &Definitions) {
        let mut served = self.served.lock();
        let mut is_changed = false;
        let mut removed = Vec::new();
        let mut next = BTreeMap::new();
        for (name, definition) in &definitions.by_name {
            let old = served.remove(name);
            let (now, changed) = self.serve(definition, old, &mut removed);
            is_changed |= changed;
            next.insert(name.clone(), now);
        }
        for gone in std::mem::take(&mut *served).into_values() {
            is_changed |= !gone.resources.is_empty();
            removed.push(gone.removal);
        }
        *served = next;
        if is_changed {
            self.catalogue.publish(|current| {
                // Built-in resources have no removal.
                let others = current.iter().filter(|resource| resource.removal.is_none());
                let custom = served.values().flat_map(|served| &served.resources);
                others.chain(custom).cloned().collect()
            });
        }
        removed.iter().for_each(Removal::close);
    }

    /// What is served of a definition now, and whether that differs from before.
    fn serve(
        &self,
        definition: &Arc<Definition>,
        old: Option<Served>,
        removed: &mut Vec<Removal>,
    ) -> (Served, bool) {
        let definition = definition.clone();
        let (removal, before) = match old {
            Some(old) if serves_the_same(&old.definition, &definition) => {
                return (Served { definition, ..old }, false);
            }
            Some(old) if old.definition.uid == definition.uid && definition.is_established() => {
                (old.removal, !old.resources.is_empty())
            }
            Some(old) => {
                removed.push(old.removal);
                (Removal::default(), !old.resources.is_empty())
            }
            None => (Removal::default(), false),
        };
        let resources = resources(&self.base, &definition, &removal);
        let changed = before || !resources.is_empty();
        (Served { definition, resources, removal }, changed)
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
        serving.publish(&definitions(&[("a", &first)]));
        let (before, epoch) = (find().expect("served"), catalogue.load().epoch());
        let mut other = first.clone();
        other.generation = 7;
        serving.publish(&definitions(&[("a", &other)]));
        assert!(Arc::ptr_eq(&before, &find().expect("served")));
        assert_eq!(catalogue.load().epoch(), epoch);
        other.versions[1].status = false;
        serving.publish(&definitions(&[("a", &other)]));
        assert!(!Arc::ptr_eq(&before, &find().expect("served")));
        let removal = before.removal.as_ref().expect("custom");
        assert!(!removal.is_closed());
        serving.publish(&definitions(&[]));
        assert!(find().is_none() && removal.is_closed());
    }
}
