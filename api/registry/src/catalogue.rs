//! The resource catalogue: every resource that is served at one moment.
//!
//! Invariants: a [`Catalogue`] never changes; a change of what is served publishes another one,
//! with the next epoch, in which every resource that did not change is the same `Arc`, at the cost
//! of what changes. A request takes the catalogue once and keeps it, so all its lookups agree. The
//! order is that of discovery: built-in resources as they were given, then custom ones by group,
//! version and name. What no request can use is found only by keys and among what is stored, and, when it is
//! built in, by the server's own parts. A value that is derived from a catalogue is kept with the
//! epoch that it was derived from ([`PerEpoch`]).
//!
//! Not here: which resources there are.

mod index;

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use quorate_schema::Graph;

use self::index::{CustomIndex, Index};
use crate::keys::Key;
use crate::resource::Resource;

/// Every resource that is served, by group, version and plural name.
#[derive(Debug, Clone)]
pub struct Catalogue {
    epoch: u64,
    graph: Arc<Graph>,
    builtin: Arc<Index>,
    /// Built-in resources that are switched off.
    switched_off: Arc<Index>,
    custom: CustomIndex,
    /// Resources that are there only because objects are stored in their form.
    unserved: CustomIndex,
}

impl Catalogue {
    /// The first catalogue of a process, with epoch 0. `graph` is the schema of the built-in types:
    /// resources and all other types of the API, such as options and reviews. Resources that are
    /// not `served` are switched off.
    #[must_use]
    pub fn new(graph: Arc<Graph>, resources: Vec<Arc<Resource>>) -> Self {
        let (served, off): (Vec<_>, Vec<_>) =
            resources.into_iter().partition(|resource| resource.served);
        let (builtin, switched_off) = (Arc::new(Index::new(served)), Arc::new(Index::new(off)));
        let (custom, unserved) = (CustomIndex::default(), CustomIndex::default());
        Self { epoch: 0, graph, builtin, switched_off, custom, unserved }
    }

    /// The number of this catalogue in its process: each one that is published has a higher epoch
    /// than those before it.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The schema of the built-in types.
    #[must_use]
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The resource with this plural name in a group version; `group` is empty for the core group.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.named(plural).find(|resource| resource.group == group && resource.version == version)
    }

    /// The resource whose objects have this kind.
    #[must_use]
    pub fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.builtin
            .of_kind(kind)
            .chain(self.custom.of_kind(kind))
            .find(|resource| resource.group == group && resource.version == version)
    }

    /// The built-in resource of a name, whether it is served or switched off: for the parts of the
    /// server that work with its objects all the same.
    #[must_use]
    pub fn find_builtin(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        let mut named = self.builtin.named(plural).chain(self.switched_off.named(plural));
        named.find(|resource| resource.group == group && resource.version == version)
    }

    /// The resource that an object's key in the store belongs to, in the version that its objects
    /// are stored in.
    #[must_use]
    pub fn of_key(&self, key: &[u8]) -> Option<&Arc<Resource>> {
        let Some(Key::Object { group, resource: plural, .. }) = Key::parse(key) else {
            return None;
        };
        self.stored_as(group, plural)
    }

    /// The resource in whose form the objects of this name are stored, served or not.
    #[must_use]
    pub fn stored_as(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        let off = self.switched_off.named(plural).chain(self.unserved.named(plural));
        let mut named = self.named(plural).chain(off);
        named.find(|resource| resource.group == group && resource.is_stored_form())
    }

    /// Every resource in whose form objects are stored, served or not: each stored object belongs
    /// to one of them.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Resource>> {
        let builtin = self.builtin.iter().chain(self.switched_off.iter()).chain(self.custom.iter());
        builtin.filter(|resource| resource.is_stored_form()).chain(self.unserved.iter())
    }

    fn named(&self, plural: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.builtin.named(plural).chain(self.custom.named(plural))
    }

    /// Every served resource, in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.builtin.iter().chain(self.custom.iter())
    }

    /// The built-in resources.
    pub fn builtin(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.builtin.iter()
    }

    /// Whether another catalogue has the same built-in resources, as all of one process have.
    #[must_use]
    pub fn has_builtin_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.builtin, &other.builtin)
    }

    /// The custom resources of a group, by version and name.
    pub fn custom_of<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.custom.group(group)
    }

    /// The group versions whose custom resources are not those of an older catalogue, as group and
    /// version, in their order; all of them when there is none.
    pub fn changed_versions<'a>(&'a self, older: Option<&'a Self>) -> Vec<(&'a str, &'a str)> {
        match older {
            Some(older) => self.custom.changed(&older.custom).collect(),
            None => self.custom.group_versions().collect(),
        }
    }

    /// The resources of one group version, in the order of discovery; empty when it is not served.
    pub fn version<'a>(
        &'a self,
        group: &'a str,
        version: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Resource>> {
        let builtin = self.builtin.iter();
        builtin
            .filter(move |resource| resource.group == group && resource.version == version)
            .chain(self.custom.version(group, version))
    }

    /// Whether any resource of the group version is served.
    #[must_use]
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.version(group, version).next().is_some()
    }

    /// Every served `(group, version)`, each once.
    #[must_use]
    pub fn group_versions(&self) -> Vec<(&str, &str)> {
        let mut seen: HashSet<(&str, &str)> = HashSet::new();
        let builtin = self.builtin.iter();
        builtin
            .map(|resource| (resource.group.as_str(), resource.version.as_str()))
            .chain(self.custom.group_versions())
            .filter(|pair| seen.insert(*pair))
            .collect()
    }

    /// The next catalogue: without the custom resources `removed`, and with those `added`.
    fn changed(&self, removed: &[Arc<Resource>], added: &[Arc<Resource>]) -> Self {
        let (mut custom, mut unserved) = (self.custom.clone(), self.unserved.clone());
        let mut index = |resource: &Arc<Resource>, change: fn(&mut CustomIndex, &Arc<Resource>)| {
            change(if resource.served { &mut custom } else { &mut unserved }, resource);
        };
        removed.iter().for_each(|resource| index(resource, |index, one| index.remove(one)));
        added.iter().for_each(|resource| index(resource, CustomIndex::insert));
        let (graph, builtin) = (self.graph.clone(), self.builtin.clone());
        let switched_off = self.switched_off.clone();
        Self { epoch: self.epoch + 1, graph, builtin, switched_off, custom, unserved }
    }
}

/// The current catalogue, shared by all its readers.
#[derive(Debug)]
pub struct CurrentCatalogue {
    current: ArcSwap<Catalogue>,
    /// Held while the next catalogue is made from the current one.
    publishing: Mutex<()>,
}

impl CurrentCatalogue {
    /// Starts with this catalogue.
    #[must_use]
    pub fn new(first: Catalogue) -> Arc<Self> {
        Arc::new(Self { current: ArcSwap::from_pointee(first), publishing: Mutex::default() })
    }

    /// The current catalogue.
    #[must_use]
    pub fn load(&self) -> Arc<Catalogue> {
        self.current.load_full()
    }

    /// Removes these custom resources and adds those, in one epoch. Requests that have begun keep
    /// the catalogue that they took.
    pub fn publish(&self, removed: &[Arc<Resource>], added: &[Arc<Resource>]) {
        let _publishing = self.publishing.lock();
        let next = self.current.load().changed(removed, added);
        self.current.store(Arc::new(next));
    }
}

/// A value that is derived from the catalogue, kept with the epoch that it was derived from.
#[derive(Debug)]
pub struct PerEpoch<T> {
    kept: Mutex<Option<(u64, Arc<T>)>>,
}

impl<T> Default for PerEpoch<T> {
    fn default() -> Self {
        Self { kept: Mutex::new(None) }
    }
}

impl<T> PerEpoch<T> {
    /// Whether there is a value of any catalogue.
    pub fn is_made(&self) -> bool {
        self.kept.lock().is_some()
    }

    /// The value of a catalogue: the kept one, or what `derive` makes of the catalogue and of the
    /// newest value so far, from which it may take what did not change. `derive` blocks all other
    /// callers, so it must be short. The value of an older catalogue than that of the kept value is
    /// made anew and not kept.
    pub fn get(&self, catalogue: &Catalogue, derive: impl FnOnce(Option<&T>) -> T) -> Arc<T> {
        let mut kept = self.kept.lock();
        match &*kept {
            Some((epoch, value)) if *epoch == catalogue.epoch => value.clone(),
            Some((epoch, value)) if *epoch > catalogue.epoch => Arc::new(derive(Some(value))),
            older => {
                let value = Arc::new(derive(older.as_ref().map(|(_, value)| &**value)));
                *kept = Some((catalogue.epoch, value.clone()));
                value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;

    use super::*;

    fn empty() -> Arc<CurrentCatalogue> {
        CurrentCatalogue::new(Catalogue::new(
            Arc::new(Graph::builtin(Naming::Svc.names())),
            Vec::new(),
        ))
    }

    #[test]
    fn each_catalogue_has_a_higher_epoch_and_old_ones_stay() {
        let current = empty();
        let first = current.load();
        current.publish(&[], &[]);
        assert_eq!((first.epoch(), current.load().epoch()), (0, 1));
        assert!(Arc::ptr_eq(first.graph(), current.load().graph()));
    }

    #[test]
    fn a_value_is_derived_once_per_epoch() {
        let (current, derived) = (empty(), PerEpoch::<u32>::default());
        let first = current.load();
        let check = |catalogue: &Catalogue, made: u32, expect: u32| {
            let got = derived.get(catalogue, |before| before.copied().unwrap_or_default() + made);
            assert_eq!(*got, expect);
        };
        check(&first, 1, 1);
        check(&first, 7, 1);
        current.publish(&[], &[]);
        check(&current.load(), 2, 3);
        check(&current.load(), 7, 3);
        // A request that began before the change.
        check(&first, 10, 13);
        check(&current.load(), 7, 3);
    }
}
