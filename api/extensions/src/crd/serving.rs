//! The publication of custom resources: from the stored definitions to the catalogue.
//!
//! Invariants: a resource is replaced only when what its definition says of it changed; all others
//! keep their `Arc`. A publication costs what has changed, however many definitions there are. A
//! resource of the catalogue that this did not publish is never touched. The removal of a version is
//! closed once its resource is no longer published, or what is written to it has another form.
//!
//! Not here: when that happens ([`super::publisher`]), and the watch of definitions
//! ([`quorate_registry::derived`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use parking_lot::Mutex;
use quorate_registry::derived::{Derived, StoredChange};
use quorate_registry::{CurrentCatalogue, Removal, Resource};
use quorate_store::Revision;
use quorate_wire::stored::StoredRef;

use super::conversion::Webhooks;
use super::definition::Definition;
use super::mark::same_form;
use super::reader::ReadVersion;
use super::resource::{Removals, ResourceBase, read_versions, resources, served_versions};

/// The stored definitions by name, as a derived state.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    by_name: OrdMap<String, Known>,
    /// The revision of the last change.
    revision: Revision,
}

/// A stored definition.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    definition: Arc<Definition>,
    /// The revision of the change since which its resources are what they are.
    since: Revision,
}

impl Derived for Definitions {
    fn update_stored(&mut self, change: StoredChange<'_>) {
        self.revision = self.revision.max(change.at);
        match change.new.map(|entry| read(&entry.value)) {
            Some(Ok(definition)) => {
                let old = self.by_name.get(change.name);
                let old = old.filter(|old| serves_the_same(&old.definition, &definition));
                let since = old.map_or(change.at, |old| old.since);
                let known = Known { definition: Arc::new(definition), since };
                self.by_name.insert(change.name.to_owned(), known);
            }
            Some(Err(error)) => {
                change.left_out(&error);
                self.by_name.remove(change.name);
            }
            None => {
                self.by_name.remove(change.name);
            }
        }
    }
}

fn read(value: &Bytes) -> Result<Definition, String> {
    let stored = StoredRef::parse(value).map_err(|error| error.to_string())?;
    Definition::read(&stored.json())
}

impl Definitions {
    /// The definition with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Definition>> {
        self.by_name.get(name).map(|known| &known.definition)
    }
}

/// The resources of one definition that are published.
#[derive(Debug)]
struct Served {
    definition: Arc<Definition>,
    versions: Arc<[ReadVersion]>,
    resources: Vec<Arc<Resource>>,
    removals: Removals,
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
    /// Of versions that do not go on as they were, each with its last revision.
    ended: Vec<(Removal, Revision)>,
}

impl Serving {
    /// Serves nothing yet beyond what the catalogue has.
    #[must_use]
    pub fn new(catalogue: Arc<CurrentCatalogue>, webhooks: Webhooks) -> Self {
        let base = ResourceBase::of(&catalogue.load(), webhooks);
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
                DiffItem::Add(name, known) | DiffItem::Update { new: (name, known), .. } => {
                    let old = served.remove(name);
                    served.insert(name.clone(), self.serve(known, old, &mut changes));
                }
                DiffItem::Remove(name, _) => {
                    if let Some(gone) = served.remove(name) {
                        changes.removed.extend(gone.resources);
                        // Another definition of the name comes later than this state.
                        let ended = gone.removals.into_values();
                        changes.ended.extend(ended.map(|removal| (removal, definitions.revision)));
                    }
                }
            }
        }
        *before = definitions;
        if !changes.removed.is_empty() || !changes.added.is_empty() {
            self.catalogue.publish(&changes.removed, &changes.added);
        }
        changes.ended.iter().for_each(|(removal, last)| removal.close(*last));
    }

    /// The resources of a stored definition, whether that is still there or not. Nothing of them is published.
    ///
    /// # Errors
    /// What is wrong with a value that does not read back.
    pub fn resources_of(&self, definition: &Bytes) -> Result<Vec<Arc<Resource>>, String> {
        let definition = read(definition)?;
        let versions = read_versions(&self.base, &definition);
        Ok(resources(&self.base, &definition, &versions, &Removals::new()))
    }

    /// What is served of a definition now.
    fn serve(&self, known: &Known, old: Option<Served>, changes: &mut Changes) -> Served {
        let Known { definition, since } = known;
        let definition = definition.clone();
        let mut removals = Removals::new();
        if let Some(old) = old {
            if serves_the_same(&old.definition, &definition) {
                let versions = old.versions.iter().zip(&definition.versions);
                versions.for_each(|(version, newer)| version.types.adopt(newer));
                return Served { definition, ..old };
            }
            changes.removed.extend(old.resources);
            for (version, removal) in old.removals {
                if goes_on(&old.definition, &definition, &version) {
                    removals.insert(version, removal);
                } else {
                    changes.ended.push((removal, *since));
                }
            }
        }
        for version in served_versions(&definition) {
            removals.entry(version.name.clone()).or_default();
        }
        let versions = read_versions(&self.base, &definition);
        let resources = resources(&self.base, &definition, &versions, &removals);
        changes.added.extend(resources.iter().cloned());
        Served { definition, versions, resources, removals }
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

/// Whether watches of a version go on after a change: it is served on, and what is stored from now
/// on is read by the same schemas.
fn goes_on(old: &Definition, new: &Definition, version: &str) -> bool {
    let alike = |version: &str| match (old.version(version), new.version(version)) {
        (Some(old), Some(new)) => same_form(old, new),
        _ => false,
    };
    old.uid == new.uid
        && old.conversion == new.conversion
        && served_versions(new).any(|served| served.name == version)
        && alike(version)
        && new.storage_version().is_some_and(|storage| alike(&storage.name))
}

#[cfg(test)]
mod tests {
    use quorate_registry::Catalogue;
    use serde_json::json;

    use super::*;
    use crate::crd::definition::StoredSchema;
    use crate::crd::testing;

    fn definitions(revision: u64, all: &[(&str, &Definition)]) -> Definitions {
        let revision = Revision::new(revision);
        let known = |one: &Definition| Known { definition: Arc::new(one.clone()), since: revision };
        let entries = all.iter().map(|(name, one)| ((*name).to_owned(), known(one)));
        Definitions { by_name: entries.collect(), revision }
    }

    #[test]
    fn only_what_changed_is_replaced() {
        let catalogue = CurrentCatalogue::new(Catalogue::new(testing::base(), Vec::new()));
        let serving = Serving::new(catalogue.clone(), testing::webhooks());
        let find = || catalogue.load().find("x.example", "v1", "widgets").cloned();
        let first = testing::definition(json!({"type": "object"}));
        serving.publish(|| definitions(1, &[("a", &first)]));
        let (before, epoch) = (find().expect("served"), catalogue.load().epoch());
        let mut other = first.clone();
        other.generation = 7;
        serving.publish(|| definitions(2, &[("a", &other)]));
        assert!(Arc::ptr_eq(&before, &find().expect("served")));
        assert_eq!(catalogue.load().epoch(), epoch);
        other.versions[1].status = false;
        serving.publish(|| definitions(3, &[("a", &other)]));
        assert!(!Arc::ptr_eq(&before, &find().expect("served")));
        let removal = before.removal.as_ref().expect("custom");
        assert_eq!(removal.last(), None);
        serving.publish(|| definitions(4, &[]));
        assert!(find().is_none());
        assert_eq!(removal.last(), Some(Revision::new(4)));
    }

    #[test]
    fn each_version_ends_by_itself() {
        const STORAGE: usize = 1;
        const OTHER: usize = 0;
        let schema = |field: &str| {
            let schema = json!({"type": "object", "properties": {field: {"type": "string"}}});
            Some(StoredSchema::new(&schema.into()))
        };
        let check = |what: &str, change: &dyn Fn(&mut Definition), expect: [bool; 2]| {
            let catalogue = CurrentCatalogue::new(Catalogue::new(testing::base(), Vec::new()));
            let serving = Serving::new(catalogue.clone(), testing::webhooks());
            let mut definition = testing::definition(json!({"type": "object"}));
            serving.publish(|| definitions(1, &[("a", &definition)]));
            let removals = ["v1", "v1beta1"].map(|version| {
                let found = catalogue.load().find("x.example", version, "widgets").cloned();
                found.and_then(|resource| resource.removal.clone()).expect("served")
            });
            change(&mut definition);
            serving.publish(|| definitions(5, &[("a", &definition)]));
            let ended = removals.each_ref().map(|removal| removal.last().is_some());
            assert_eq!(ended, expect, "{what}");
            assert!(removals.iter().flat_map(Removal::last).all(|last| last.get() == 5));
            // Whatever is served, controllers find the form that objects are stored in.
            let key = b"o/x.example/widgets/n/a";
            let stored = catalogue.load().of_key(key).map(|resource| resource.version.clone());
            let expect = definition.storage_version().filter(|_| definition.is_established());
            assert_eq!(stored, expect.map(|version| version.name.clone()), "{what}");
        };
        check("a column", &|of| of.versions[OTHER].deprecated = false, [false, false]);
        check(
            "another version is not served",
            &|of| of.versions[OTHER].served = false,
            [false, true],
        );
        check(
            "the stored one is not served",
            &|of| of.versions[STORAGE].served = false,
            [true, false],
        );
        check("another schema", &|of| of.versions[OTHER].schema = schema("x"), [false, true]);
        check("the stored schema", &|of| of.versions[STORAGE].schema = schema("x"), [true, true]);
        check(
            "another version is stored",
            &|of| {
                of.versions[STORAGE].storage = false;
                of.versions[OTHER].storage = true;
            },
            [false, false],
        );
        check("another definition", &|of| of.uid = "v".to_owned(), [true, true]);
        check("not established", &|of| of.conditions.clear(), [true, true]);
    }
}
