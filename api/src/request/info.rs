//! What a request is about, read from method, path and query alone.
//!
//! Invariants: made before authentication, so everything in it is the client's claim; group names are canonical (those of
//! the cluster's naming profile), and [`RequestInfo::api_version`] is in the name that the client asked for.

use http::{Method, Uri};
use quorate_meta::Names;

use super::path;
use super::{Query, Verb};

/// A parsed request line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// What the client wants to do.
    pub verb: Verb,
    /// The path as it came, without the query.
    pub path: String,
    /// Whether the path has the shape of a resource's; else the fields below are empty.
    pub is_resource: bool,
    /// Canonical group name; empty for the core group.
    pub group: String,
    /// For example `v1`.
    pub version: String,
    /// `VERSION`, or `GROUP/VERSION` with the group's name as the client wrote it: answers use this name.
    pub api_version: String,
    /// The plural name.
    pub resource: String,
    /// The namespace of a namespaced request; `None` for cluster-scoped resources and across all namespaces.
    pub namespace: Option<String>,
    /// The object; `None` for a collection.
    pub name: Option<String>,
    /// For example `status`.
    pub subresource: Option<String>,
    /// Segments are left over: no such path exists.
    pub excess: bool,
    /// The query parameters.
    pub query: Query,
}

impl RequestInfo {
    /// Reads the request line. Never fails: what is no resource path is a plain path.
    #[must_use]
    pub fn parse(names: &Names, method: &Method, uri: &Uri) -> Self {
        let query = Query::parse(uri.query().unwrap_or_default());
        let mut info = Self {
            verb: Verb::of_method(method),
            path: uri.path().to_owned(),
            is_resource: false,
            group: String::new(),
            version: String::new(),
            api_version: String::new(),
            resource: String::new(),
            namespace: None,
            name: None,
            subresource: None,
            excess: false,
            query,
        };
        let Some(parts) = path::parse(&info.path) else { return info };
        let watch = parts.watch || info.query.flag("watch") == Some(true);
        info.verb = if parts.watch && method == Method::GET {
            Verb::Watch
        } else {
            Verb::of_resource(method, parts.name.is_some(), watch)
        };
        info.api_version =
            if parts.group.is_empty() { parts.version.clone() } else { format!("{}/{}", parts.group, parts.version) };
        info.is_resource = true;
        info.group = names.edge_group(&parts.group).unwrap_or(parts.group);
        info.version = parts.version;
        info.resource = parts.resource;
        info.namespace = parts.namespace;
        info.name = parts.name;
        info.subresource = parts.subresource;
        info.excess = parts.excess;
        info
    }

    /// `PLURAL` for the core group, else `PLURAL.GROUP`: how messages name the resource.
    #[must_use]
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.resource.clone() } else { format!("{}.{}", self.resource, self.group) }
    }
}
