//! Which OpenAPI documents there are: those that the schema crate makes of what the registry serves.

use quorate_meta::{GroupVersionKind, Value};
use quorate_schema::openapi::{Documents, Served};

use crate::Api;

/// The release that documents name.
const RELEASE: &str = "v1.35.0";

/// The paths of all documents of version 3.
pub(super) fn parts(api: &Api) -> Vec<String> {
    documents(api).paths()
}

/// One document of version 3.
pub(super) fn part(api: &Api, path: &str) -> Option<Value> {
    documents(api).part(path)
}

/// The document of version 2.
pub(super) fn whole(api: &Api) -> Value {
    documents(api).whole()
}

fn documents(api: &Api) -> Documents<'_> {
    let served = api.registry.iter().filter_map(|resource| {
        let kind = GroupVersionKind::new(&*resource.group, &*resource.version, &*resource.kind);
        let subresources = resource.subresources.iter().map(|subresource| subresource.name.as_str()).collect();
        Some(Served { kind: api.graph.kind(&kind)?, subresources })
    });
    Documents::new(&api.graph, served.collect(), RELEASE).with_cbor(api.formats.has_cbor())
}
