//! Identifiers of groups, versions, kinds and resources, as they appear in paths, bodies and
//! messages.
//!
//! The core group is the empty string everywhere. Identifiers hold the group name of the cluster's
//! naming profile, already resolved through `Names`; nothing here knows about profiles.

use std::fmt;

/// A group and a version: `v1` for the core group, `apps/v1` for others.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// Group name; empty for core.
    pub group: String,
    /// Version name, such as `v1` or `v2beta3`.
    pub version: String,
}

impl GroupVersion {
    /// Makes an identifier from its two parts.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into() }
    }

    /// Reads an `apiVersion` text; `None` when it has more than one slash.
    pub fn parse(api_version: &str) -> Option<Self> {
        match api_version.split_once('/') {
            None => Some(Self::new("", api_version)),
            Some((_, version)) if version.contains('/') => None,
            Some((group, version)) => Some(Self::new(group, version)),
        }
    }

    /// The kind `kind` of this group version.
    pub fn kind(&self, kind: impl Into<String>) -> GroupVersionKind {
        GroupVersionKind::new(self.group.clone(), self.version.clone(), kind)
    }

    /// The resource `resource` of this group version.
    pub fn resource(&self, resource: impl Into<String>) -> GroupVersionResource {
        GroupVersionResource::new(self.group.clone(), self.version.clone(), resource)
    }
}

impl fmt::Display for GroupVersion {
    /// The `apiVersion` text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// A kind with its group and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// Group name; empty for core.
    pub group: String,
    /// Version name.
    pub version: String,
    /// Kind name, such as `ConfigMap`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Makes an identifier from its three parts.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// The `apiVersion` text of objects of this kind.
    pub fn api_version(&self) -> String {
        GroupVersion::new(self.group.as_str(), self.version.as_str()).to_string()
    }

    /// The kind without its version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }
}

impl fmt::Display for GroupVersionKind {
    /// The form used in messages: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// A resource with its group and version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// Group name; empty for core.
    pub group: String,
    /// Version name.
    pub version: String,
    /// Plural resource name, such as `configmaps`.
    pub resource: String,
}

impl GroupVersionResource {
    /// Makes an identifier from its three parts.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self { group: group.into(), version: version.into(), resource: resource.into() }
    }

    /// The `apiVersion` text of this resource's group version.
    pub fn api_version(&self) -> String {
        GroupVersion::new(self.group.as_str(), self.version.as_str()).to_string()
    }

    /// The resource without its version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }
}

impl fmt::Display for GroupVersionResource {
    /// The form used in messages: `apps/v1, Resource=deployments`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Resource={}", self.group, self.version, self.resource)
    }
}

/// A kind of a group, whatever the version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// Group name; empty for core.
    pub group: String,
    /// Kind name.
    pub kind: String,
}

impl GroupKind {
    /// Makes an identifier from its two parts.
    pub fn new(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), kind: kind.into() }
    }
}

impl fmt::Display for GroupKind {
    /// `ConfigMap`, `Role.rbac.authorization.svc.io`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

/// A resource of a group, whatever the version.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// Group name; empty for core.
    pub group: String,
    /// Plural resource name.
    pub resource: String,
}

impl GroupResource {
    /// Makes an identifier from its two parts.
    pub fn new(group: impl Into<String>, resource: impl Into<String>) -> Self {
        Self { group: group.into(), resource: resource.into() }
    }
}

impl fmt::Display for GroupResource {
    /// `configmaps`, `roles.rbac.authorization.svc.io`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    if group.is_empty() { f.write_str(name) } else { write!(f, "{name}.{group}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_round_trip() {
        for text in ["v1", "apps/v1", "rbac.authorization.svc.io/v1beta1"] {
            assert_eq!(GroupVersion::parse(text).map(|gv| gv.to_string()).as_deref(), Some(text));
        }
        assert_eq!(GroupVersion::parse("a/b/c"), None);
    }

    #[test]
    fn message_forms() {
        let core = GroupVersion::new("", "v1");
        assert_eq!(core.kind("ConfigMap").to_string(), "/v1, Kind=ConfigMap");
        assert_eq!(core.kind("ConfigMap").group_kind().to_string(), "ConfigMap");
        let role = GroupVersionResource::new("rbac.authorization.svc.io", "v1", "roles");
        assert_eq!(role.group_resource().to_string(), "roles.rbac.authorization.svc.io");
        assert_eq!(role.to_string(), "rbac.authorization.svc.io/v1, Resource=roles");
        assert_eq!(role.api_version(), "rbac.authorization.svc.io/v1");
    }
}
