//! The indexes of a catalogue: built-in resources, which stay, and custom ones, which come and go.
//!
//! Invariant: a copy of the custom ones shares all but what is then changed.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use quorate_meta::version_order;

use crate::resource::Resource;

/// Resources in the order in which they were given.
#[derive(Debug)]
pub(super) struct Index {
    resources: Vec<Arc<Resource>>,
    by_name: HashMap<String, Vec<usize>>,
    by_kind: HashMap<String, Vec<usize>>,
}

impl Index {
    pub(super) fn new(resources: Vec<Arc<Resource>>) -> Self {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        let mut by_kind: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, resource) in resources.iter().enumerate() {
            by_name.entry(resource.plural.clone()).or_default().push(index);
            by_kind.entry(resource.kind.clone()).or_default().push(index);
        }
        Self { resources, by_name, by_kind }
    }

    pub(super) fn named(&self, plural: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.at(self.by_name.get(plural))
    }

    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.at(self.by_kind.get(kind))
    }

    fn at<'a>(&'a self, places: Option<&'a Vec<usize>>) -> impl Iterator<Item = &'a Arc<Resource>> {
        places.into_iter().flatten().map(|index| &self.resources[*index])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }
}

/// A group version, in the order of discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    group: String,
    version: String,
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let groups = self.group.cmp(&other.group);
        groups.then_with(|| version_order::compare(&self.version, &other.version))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Resources by group, version and plural name.
#[derive(Debug, Clone, Default)]
pub(super) struct CustomIndex {
    by_version: imbl::OrdMap<Place, Arc<Vec<Arc<Resource>>>>,
    by_name: imbl::HashMap<String, Arc<Vec<Arc<Resource>>>>,
    by_kind: imbl::HashMap<String, Arc<Vec<Arc<Resource>>>>,
}

impl CustomIndex {
    /// Adds a resource, in the place of the one with the same name in its group version.
    pub(super) fn insert(&mut self, resource: &Arc<Resource>) {
        self.remove(resource);
        let version = self.by_version.entry(place(resource)).or_default();
        let version = Arc::make_mut(version);
        let at = version.partition_point(|other| other.plural < resource.plural);
        version.insert(at, resource.clone());
        for (index, name) in
            [(&mut self.by_name, &resource.plural), (&mut self.by_kind, &resource.kind)]
        {
            Arc::make_mut(index.entry(name.clone()).or_default()).push(resource.clone());
        }
    }

    /// Removes the resource with this one's name in its group version.
    pub(super) fn remove(&mut self, resource: &Resource) {
        let place = place(resource);
        let Some(version) = self.by_version.get_mut(&place) else { return };
        let version = Arc::make_mut(version);
        let Some(at) = version.iter().position(|other| other.plural == resource.plural) else {
            return;
        };
        let removed = version.remove(at);
        if version.is_empty() {
            self.by_version.remove(&place);
        }
        for (index, name) in
            [(&mut self.by_name, &removed.plural), (&mut self.by_kind, &removed.kind)]
        {
            let Some(same) = index.get_mut(name) else { continue };
            let same = Arc::make_mut(same);
            same.retain(|other| !Arc::ptr_eq(other, &removed));
            if same.is_empty() {
                index.remove(name);
            }
        }
    }

    pub(super) fn named(&self, plural: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_name.get(plural).into_iter().flat_map(|same| same.iter())
    }

    pub(super) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_kind.get(kind).into_iter().flat_map(|same| same.iter())
    }

    pub(super) fn version(
        &self,
        group: &str,
        version: &str,
    ) -> impl Iterator<Item = &Arc<Resource>> {
        let place = Place { group: group.to_owned(), version: version.to_owned() };
        self.by_version.get(&place).into_iter().flat_map(|resources| resources.iter())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_version.values().flat_map(|resources| resources.iter())
    }

    pub(super) fn group_versions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_version.keys().map(|place| (place.group.as_str(), place.version.as_str()))
    }
}

fn place(resource: &Resource) -> Place {
    Place { group: resource.group.clone(), version: resource.version.clone() }
}
