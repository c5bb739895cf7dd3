//! The table of served resources.
//!
//! Invariants: immutable and shared as `Arc<Registry>`; a change of what is served makes a new table. Group versions and
//! resources keep the order in which they were added, which is the order of discovery.

use std::collections::HashMap;
use std::sync::Arc;

use super::keys::Key;
use super::resource::Resource;

/// Every resource that is served, by group, version and plural name.
#[derive(Debug, Default)]
pub struct Registry {
    resources: Vec<Arc<Resource>>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Registry {
    /// The table of these resources.
    #[must_use]
    pub fn new(resources: Vec<Resource>) -> Self {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, resource) in resources.iter().enumerate() {
            by_name.entry(resource.plural.clone()).or_default().push(index);
        }
        Self { resources: resources.into_iter().map(Arc::new).collect(), by_name }
    }

    /// The resource with this plural name in a group version; `group` is empty for the core group.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_name
            .get(plural)?
            .iter()
            .map(|index| &self.resources[*index])
            .find(|resource| resource.group == group && resource.version == version)
    }

    /// The resource whose objects have this kind.
    #[must_use]
    pub fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.resources
            .iter()
            .find(|resource| resource.kind == kind && resource.group == group && resource.version == version)
    }

    /// The resource that an object's key in the store belongs to, in the version that its objects are stored in.
    #[must_use]
    pub fn of_key(&self, key: &[u8]) -> Option<&Arc<Resource>> {
        let Some(Key::Object { group, resource: plural, .. }) = Key::parse(key) else { return None };
        let resources = self.by_name.get(plural)?.iter().map(|index| &self.resources[*index]);
        resources.into_iter().find(|resource| resource.group == group && resource.is_stored_form())
    }

    /// Every resource, in the order of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter()
    }

    /// The resources of one group version, in the order of discovery; empty when it is not served.
    pub fn version<'a>(&'a self, group: &'a str, version: &'a str) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.resources.iter().filter(move |resource| resource.group == group && resource.version == version)
    }

    /// Whether any resource of the group version is served.
    #[must_use]
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.version(group, version).next().is_some()
    }

    /// Every served `(group, version)`, each once.
    #[must_use]
    pub fn group_versions(&self) -> Vec<(&str, &str)> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for resource in &self.resources {
            let pair = (resource.group.as_str(), resource.version.as_str());
            if !found.contains(&pair) {
                found.push(pair);
            }
        }
        found
    }
}
