//! The groups of a catalogue, as all pages of discovery show them.
//!
//! Invariants: they are read off a catalogue once per epoch, when a request first asks, at the cost
//! of what has changed; a group whose resources stay is the same `Arc` in the next epoch, with what
//! has been written of it.
//! There are as many written forms as there are syntaxes, so nothing grows with the requests.
//!
//! Not here: the pages.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use imbl::OrdMap;
use parking_lot::Mutex;
use quorate_registry::error::Error;
use quorate_registry::{Catalogue, PerEpoch, Resource};

/// The groups of the newest catalogue.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    groups: PerEpoch<Groups>,
}

/// Every group that is served.
#[derive(Debug)]
pub(crate) struct Groups {
    /// What they were read off.
    catalogue: Catalogue,
    /// Groups with built-in versions, in the order of the catalogue.
    builtin: Vec<Arc<Group>>,
    /// The places of these by name.
    places: Arc<HashMap<String, usize>>,
    /// The other groups.
    custom: OrdMap<String, Arc<Group>>,
    /// The plain list of groups, in JSON.
    pub(crate) list: OnceLock<Bytes>,
    /// Aggregated documents by their form, and whether they are about the core group.
    aggregated: Mutex<HashMap<(bool, String), Arc<AggregatedAnswer>>>,
}

/// An aggregated document as it is sent.
#[derive(Debug)]
pub(crate) struct AggregatedAnswer {
    pub(crate) body: Bytes,
    /// Quoted.
    pub(crate) etag: String,
    pub(crate) content_type: String,
}

/// A group and its versions, the preferred one first.
#[derive(Debug)]
pub(crate) struct Group {
    /// Empty for the core group.
    pub(crate) name: String,
    pub(crate) versions: Vec<ServedVersion>,
    /// Its item of the aggregated document, in JSON.
    pub(crate) item: OnceLock<Bytes>,
}

/// A version and its resources.
#[derive(Debug)]
pub(crate) struct ServedVersion {
    pub(crate) name: String,
    pub(crate) resources: Vec<Arc<Resource>>,
}

impl Discovery {
    /// Whether the groups of any catalogue are known.
    pub(crate) fn is_made(&self) -> bool {
        self.groups.is_made()
    }

    /// The groups of a catalogue.
    pub(crate) fn of(&self, catalogue: &Catalogue) -> Arc<Groups> {
        self.groups.get(catalogue, |before| Groups::new(catalogue, before))
    }
}

impl Groups {
    /// The groups of a catalogue: those of an earlier one where nothing of them has changed.
    fn new(catalogue: &Catalogue, before: Option<&Self>) -> Self {
        let before = before.filter(|before| catalogue.has_builtin_of(&before.catalogue));
        let mut this = match before {
            Some(before) => before.again(catalogue),
            None => Self::of_builtin(catalogue),
        };
        let changed = catalogue.changed_versions(before.map(|before| &before.catalogue));
        let changed: BTreeSet<&str> = changed.into_iter().map(|(group, _)| group).collect();
        changed.into_iter().for_each(|group| this.update(group));
        this
    }

    /// The groups of the built-in resources of a catalogue alone.
    fn of_builtin(catalogue: &Catalogue) -> Self {
        let mut found: Vec<Group> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for resource in catalogue.builtin() {
            let at = places.get(resource.group.as_str()).copied().unwrap_or_else(|| {
                places.insert(resource.group.clone(), found.len());
                found.push(Group::new(&resource.group));
                found.len() - 1
            });
            found[at].add(resource);
        }
        Self {
            catalogue: catalogue.clone(),
            builtin: found.into_iter().map(Arc::new).collect(),
            places: Arc::new(places),
            custom: OrdMap::new(),
            list: OnceLock::new(),
            aggregated: Mutex::default(),
        }
    }

    /// The same groups for another catalogue, with nothing written of all of them.
    fn again(&self, catalogue: &Catalogue) -> Self {
        Self {
            catalogue: catalogue.clone(),
            builtin: self.builtin.clone(),
            places: self.places.clone(),
            custom: self.custom.clone(),
            list: OnceLock::new(),
            aggregated: Mutex::default(),
        }
    }

    /// Reads the custom resources of a group off the catalogue.
    fn update(&mut self, name: &str) {
        let place = self.places.get(name).copied();
        let mut group = Group::new(name);
        if place.is_some() {
            let builtin = self.catalogue.builtin();
            builtin.filter(|resource| resource.group == name).for_each(|one| group.add(one));
        }
        self.catalogue.custom_of(name).for_each(|resource| group.add(resource));
        group.order();
        match place {
            Some(at) => self.builtin[at] = Arc::new(group),
            None if group.versions.is_empty() => drop(self.custom.remove(name)),
            None => drop(self.custom.insert(name.to_owned(), Arc::new(group))),
        }
    }

    /// The group with this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Group>> {
        match self.places.get(name) {
            Some(at) => self.builtin.get(*at),
            None => self.custom.get(name),
        }
    }

    /// Whether the group is served.
    pub(crate) fn serves(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The groups of an aggregated document: the core group, or all others.
    pub(crate) fn of_document(&self, core: bool) -> impl Iterator<Item = &Arc<Group>> {
        let all = self.builtin.iter().chain(self.custom.values());
        all.filter(move |group| group.name.is_empty() == core)
    }

    /// The groups of the plain list: those of definitions come by the first name of their versions
    /// (`v1.example.com`), under which APIServices are kept in release 1.35.
    pub(crate) fn of_list(&self) -> Vec<&Arc<Group>> {
        let (builtin, mut custom): (Vec<_>, Vec<_>) =
            self.of_document(false).partition(|group| !group.is_custom());
        custom.sort_by_cached_key(|group| {
            let names = group.versions.iter();
            names.map(|version| format!("{}.{}", version.name, group.name)).min()
        });
        [builtin, custom].concat()
    }

    /// The aggregated document in a form, which its Content-Type tells, made when a request first
    /// asks for it.
    pub(crate) fn aggregated(
        &self,
        core: bool,
        form: String,
        make: impl FnOnce() -> Result<AggregatedAnswer, Error>,
    ) -> Result<Arc<AggregatedAnswer>, Error> {
        let key = (core, form);
        if let Some(made) = self.aggregated.lock().get(&key) {
            return Ok(made.clone());
        }
        let made = Arc::new(make()?);
        Ok(self.aggregated.lock().entry(key).or_insert(made).clone())
    }
}

impl Group {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), versions: Vec::new(), item: OnceLock::new() }
    }

    /// Adds a resource; those of definitions come after all built-in ones, whose versions are not
    /// left to them.
    fn add(&mut self, resource: &Arc<Resource>) {
        let is_its = |version: &&mut ServedVersion| version.name == resource.version;
        match self.versions.iter_mut().find(is_its) {
            Some(version) if resource.is_custom() && !version.is_custom() => {}
            Some(version) => version.resources.push(resource.clone()),
            None => self.versions.push(ServedVersion {
                name: resource.version.clone(),
                resources: vec![resource.clone()],
            }),
        }
    }

    /// Puts the versions of definitions first, whose APIServices have the higher priority in
    /// release 1.35.
    fn order(&mut self) {
        self.versions.sort_by_key(|version| !version.is_custom());
    }

    /// Whether all its resources are those of definitions.
    fn is_custom(&self) -> bool {
        self.resources().all(|resource| resource.is_custom())
    }

    fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.versions.iter().flat_map(|version| &version.resources)
    }
}

impl ServedVersion {
    fn is_custom(&self) -> bool {
        self.resources.iter().all(|resource| resource.is_custom())
    }
}
