//! The content of the OpenAPI documents: what the schema crate makes of the resources that are
//! served.

use std::sync::Arc;

use quorate_meta::{GroupVersionKind, Value};
use quorate_schema::openapi::{
    self, CustomDocuments, CustomParts, CustomResource, CustomSubresource, Dialect, Documents,
};

use quorate_registry::{Catalogue, Resource};
use quorate_wire::json;

/// The release that documents name.
const RELEASE: &str = "v1.35.0";

/// What documents describe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Served<'a> {
    pub(crate) catalogue: &'a Catalogue,
    /// Whether bodies may be in CBOR.
    pub(crate) with_cbor: bool,
}

impl<'a> Served<'a> {
    /// The documents, made of the built-in resources.
    pub(super) fn documents(self) -> Documents<'a> {
        let served = self.catalogue.builtin().filter_map(|resource| {
            let kind = GroupVersionKind::new(&*resource.group, &*resource.version, &*resource.kind);
            let subresources =
                resource.subresources.iter().map(|subresource| subresource.name.as_str()).collect();
            Some(openapi::Served { kind: self.catalogue.graph().kind(&kind)?, subresources })
        });
        Documents::new(self.catalogue.graph(), served.collect(), RELEASE).with_cbor(self.with_cbor)
    }
}

/// The document of version 3 about the custom resources of a group version.
pub(super) fn custom_part(documents: &Documents<'_>, resources: &[Arc<Resource>]) -> Value {
    let schemas: Vec<_> = resources.iter().map(|resource| schema_of(resource)).collect();
    let described: Vec<_> = resources
        .iter()
        .zip(&schemas)
        .map(|(resource, schema)| described(resource, schema.as_ref()))
        .collect();
    CustomDocuments::new(documents).part(&described)
}

/// What documents say of one custom resource.
pub(super) fn custom_parts(
    documents: &Documents<'_>,
    resource: &Resource,
    dialect: Dialect,
) -> CustomParts {
    let schema = schema_of(resource);
    CustomDocuments::new(documents).parts(&described(resource, schema.as_ref()), dialect)
}

/// The schema of a custom resource.
fn schema_of(resource: &Resource) -> Option<Value> {
    let text = resource.strategy.published_schema()?;
    json::parse(&text).ok().map(|(schema, _)| schema)
}

/// A custom resource as documents describe it.
pub(super) fn described<'r>(
    resource: &'r Resource,
    schema: Option<&'r Value>,
) -> CustomResource<'r> {
    let verbs = |verbs: &'r [String]| verbs.iter().map(String::as_str).collect();
    let subresources = resource.subresources.iter().map(|subresource| {
        let body = subresource.body.as_ref();
        CustomSubresource {
            name: &subresource.name,
            verbs: verbs(&subresource.verbs),
            body: body.map(|body| GroupVersionKind::new(&*body.group, &*body.version, &*body.kind)),
        }
    });
    CustomResource {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        list_kind: &resource.list_kind,
        plural: &resource.plural,
        namespaced: resource.namespaced,
        verbs: verbs(&resource.verbs),
        subresources: subresources.collect(),
        schema,
    }
}
