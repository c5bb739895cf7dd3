//! The indexes of a catalogue: built-in resources, which stay, and custom ones, which come and go.
//!
//! Invariant: a copy of the custom ones shares all but what is then changed.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use imbl::ordmap::DiffItem;
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
    /// `None` stands before all versions of the group.
    version: Option<String>,
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let groups = self.group.cmp(&other.group);
        groups.then_with(|| match (&self.version, &other.version) {
            (Some(own), Some(other)) => version_order::compare(own, other),
            (own, other) => own.is_some().cmp(&other.is_some()),
        })
    }
}

impl Place {
    fn parts(&self) -> (&str, &str) {
        (&self.group, self.version.as_deref().unwrap_or_default())
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The resources of a group version; two are equal where they are the same list.
#[derive(Debug, Clone, Default)]
struct VersionResources(Arc<Vec<Arc<Resource>>>);

impl PartialEq for VersionResources {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Resources by group, version and plural name.
#[derive(Debug, Clone, Default)]
pub(super) struct CustomIndex {
    by_version: imbl::OrdMap<Place, VersionResources>,
    by_name: imbl::HashMap<String, Arc<Vec<Arc<Resource>>>>,
    by_kind: imbl::HashMap<String, Arc<Vec<Arc<Resource>>>>,
}

impl CustomIndex {
    /// Adds a resource, in the place of the one with the same name in its group version.
    pub(super) fn insert(&mut self, resource: &Arc<Resource>) {
        self.remove(resource);
        let version = self.by_version.entry(place(resource)).or_default();
        let version = Arc::make_mut(&mut version.0);
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
        let version = Arc::make_mut(&mut version.0);
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
        let place = Place { group: group.to_owned(), version: Some(version.to_owned()) };
        self.by_version.get(&place).into_iter().flat_map(|resources| resources.0.iter())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.by_version.values().flat_map(|resources| resources.0.iter())
    }

    /// The resources of all versions of a group, in the order of discovery.
    pub(super) fn group<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Arc<Resource>> {
        let first = Place { group: group.to_owned(), version: None };
        let versions = self.by_version.range(first..);
        let versions = versions.take_while(move |(place, _)| place.group == group);
        versions.flat_map(|(_, resources)| resources.0.iter())
    }

    /// The group versions whose resources differ, at the cost of these alone.
    pub(super) fn changed<'a>(
        &'a self,
        older: &'a Self,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        older.by_version.diff(&self.by_version).map(|change| match change {
            DiffItem::Add(place, _) | DiffItem::Remove(place, _) => place.parts(),
            DiffItem::Update { new: (place, _), .. } => place.parts(),
        })
    }

    pub(super) fn group_versions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_version.keys().map(Place::parts)
    }
}

fn place(resource: &Resource) -> Place {
    Place { group: resource.group.clone(), version: Some(resource.version.clone()) }
}
