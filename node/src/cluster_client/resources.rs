//! What a cluster serves, by aggregated discovery, and what a user means by the name of a type.
//!
//! Invariant: a name is resolved as kubectl resolves it: by plural, singular, short name or kind, with `.GROUP` or
//! `.VERSION.GROUP` behind it; of several resources the one of the first group in the order of discovery is meant.

#[cfg(test)]
mod tests;

use quorate_meta::Value;

use super::ClusterClient;
use super::paths::segment;
use crate::error::Error;

/// The aggregated form, in the name that both profiles know it by; `application/json` is what it is an encoding of.
const ACCEPT: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// A resource of a group version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ApiResource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) subresources: Vec<String>,
}

impl ApiResource {
    fn read(group: &str, version: &str, entry: &Value) -> Option<Self> {
        let texts = |field: &str| -> Vec<String> {
            let all = entry.get(field).and_then(Value::as_list).unwrap_or_default();
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let subresources = entry.get("subresources").and_then(Value::as_list).unwrap_or_default();
        let subresources = subresources.iter().filter_map(|sub| sub.str_at(&["subresource"]));
        Some(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: entry.str_at(&["resource"])?.to_owned(),
            singular: entry.str_at(&["singularResource"]).unwrap_or_default().to_owned(),
            kind: entry.str_at(&["responseKind", "kind"])?.to_owned(),
            short_names: texts("shortNames"),
            namespaced: entry.str_at(&["scope"]) == Some("Namespaced"),
            verbs: texts("verbs"),
            subresources: subresources.map(str::to_owned).collect(),
        })
    }

    /// `apiVersion` of its objects.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The path of its collection, in a namespace or everywhere.
    pub(crate) fn collection(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let version = self.api_version();
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => {
                format!("{root}/{version}/namespaces/{}/{}", segment(namespace), self.plural)
            }
            None => format!("{root}/{version}/{}", self.plural),
        }
    }

    /// The path of an object.
    pub(crate) fn object(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), segment(name))
    }

    /// `deployments.apps`; the plural alone in the core group.
    pub(crate) fn full_name(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `deployment.apps/web`.
    pub(crate) fn object_name(&self, name: &str) -> String {
        let singular =
            if self.singular.is_empty() { self.kind.to_lowercase() } else { self.singular.clone() };
        format!("{}/{name}", qualified(&singular, &self.group))
    }

    /// Whether clients may do this with it.
    pub(crate) fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|other| other == verb)
    }

    /// Whether it has this subresource.
    pub(crate) fn has_subresource(&self, name: &str) -> bool {
        self.subresources.iter().any(|other| other == name)
    }

    /// Whether this word, in lower case, names it.
    fn is_called(&self, word: &str) -> bool {
        word == self.plural
            || word == self.singular
            || word == self.kind.to_lowercase()
            || self.short_names.iter().any(|name| name == word)
    }
}

/// A name and its group.
pub(crate) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}

/// All resources, group by group, the preferred version of each group first.
#[derive(Debug, Default)]
pub(crate) struct Resources(Vec<ApiResource>);

impl Resources {
    /// Asks the cluster.
    pub(crate) async fn discover(client: &mut ClusterClient) -> Result<Self, Error> {
        let mut all = Self::default();
        for path in ["/api", "/apis"] {
            all.add(&client.get_as(path, ACCEPT).await?)?;
        }
        Ok(all)
    }

    /// Adds what a document of discovery tells.
    fn add(&mut self, document: &Value) -> Result<(), Error> {
        let is_aggregated = document.str_at(&["kind"]) == Some("APIGroupDiscoveryList");
        let groups = document.get("items").and_then(Value::as_list).filter(|_| is_aggregated);
        let groups =
            groups.ok_or_else(|| Error::failed("the server has no aggregated discovery"))?;
        for group in groups {
            let name = group.str_at(&["metadata", "name"]).unwrap_or_default();
            let versions = group.get("versions").and_then(Value::as_list).unwrap_or_default();
            for version in versions {
                let number = version.str_at(&["version"]).unwrap_or_default();
                let entries = version.get("resources").and_then(Value::as_list);
                let entries = entries.unwrap_or_default().iter();
                self.0.extend(entries.filter_map(|entry| ApiResource::read(name, number, entry)));
            }
        }
        Ok(())
    }

    /// Adds a resource that discovery does not name.
    pub(crate) fn learn(&mut self, resource: ApiResource) {
        self.0.push(resource);
    }

    /// What a user means by a type.
    pub(crate) fn resolve(&self, asked: &str) -> Result<&ApiResource, Error> {
        let lower = asked.to_lowercase();
        let found = self.named(&lower, |_| true).or_else(|| {
            let (word, rest) = lower.split_once('.')?;
            let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
            self.named(word, |resource| resource.group == rest)
                .or_else(|| {
                    self.named(word, |resource| {
                        resource.version == version && resource.group == group
                    })
                })
                .or_else(|| self.named(word, |resource| resource.group.starts_with(rest)))
        });
        found.ok_or_else(|| {
            Error::config(format_args!("the server doesn't have a resource type \"{asked}\""))
        })
    }

    fn named(&self, word: &str, fits: impl Fn(&ApiResource) -> bool) -> Option<&ApiResource> {
        // A plural is meant before a short name of another resource.
        let plural = self.0.iter().find(|other| other.plural == word && fits(other));
        plural.or_else(|| self.0.iter().find(|other| other.is_called(word) && fits(other)))
    }

    /// The same resource in another version, where that is served.
    pub(crate) fn in_version(&self, resource: &ApiResource, version: &str) -> Option<&ApiResource> {
        self.versions_of(resource).find(|other| other.version == version)
    }

    /// A resource in each version that is served.
    pub(crate) fn versions_of<'r>(
        &'r self,
        resource: &ApiResource,
    ) -> impl Iterator<Item = &'r ApiResource> {
        let (group, plural) = (resource.group.clone(), resource.plural.clone());
        self.0.iter().filter(move |other| other.group == group && other.plural == plural)
    }

    /// The resource of objects with this `apiVersion` and kind, in the version that the server prefers if it has another.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&ApiResource> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let fits = |resource: &&ApiResource| resource.group == group && resource.kind == kind;
        let exact = self.0.iter().find(|other| fits(other) && other.api_version() == api_version);
        exact.or_else(|| self.0.iter().find(fits))
    }

    /// Every resource once, in the version that the server prefers.
    pub(crate) fn preferred(&self) -> impl Iterator<Item = &ApiResource> {
        self.0.iter().enumerate().filter_map(|(at, resource)| {
            let same = |other: &ApiResource| {
                other.group == resource.group && other.plural == resource.plural
            };
            (!self.0[..at].iter().any(same)).then_some(resource)
        })
    }
}
