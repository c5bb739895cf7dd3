//! Custom resources in the documents: paths and definitions from what their definition says.
//!
//! Invariant: what is written about one resource depends on that resource and the built-in ones
//! alone, so that a change of one leaves all others as they are.

mod published;
#[cfg(test)]
mod tests;

use quorate_meta::{GroupVersionKind, Map, Value};

use super::definitions::Definitions;
use super::documents::Documents;
use super::path_kind::{PathKind, SubresourcePath};
use super::{Dialect, naming, paths};

const METADATA: &str = "metadata";

/// A custom resource that is served.
#[derive(Clone, Debug)]
pub struct CustomResource<'r> {
    /// Group name, never empty.
    pub group: &'r str,
    /// Version name.
    pub version: &'r str,
    /// Kind of its objects.
    pub kind: &'r str,
    /// Kind of lists of them.
    pub list_kind: &'r str,
    /// Plural name.
    pub plural: &'r str,
    /// Whether the objects live in namespaces.
    pub namespaced: bool,
    /// Verbs of the resource itself.
    pub verbs: Vec<&'r str>,
    /// Its subresources.
    pub subresources: Vec<CustomSubresource<'r>>,
    /// The schema of its definition; `None` allows everything.
    pub schema: Option<&'r Value>,
}

/// A subresource of a custom resource.
#[derive(Clone, Debug)]
pub struct CustomSubresource<'r> {
    /// Last path segment.
    pub name: &'r str,
    /// Verbs.
    pub verbs: Vec<&'r str>,
    /// The built-in kind of its bodies; `None` where that is the resource's own.
    pub body: Option<GroupVersionKind>,
}

/// What documents say of one custom resource alone.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomParts {
    /// Its paths.
    pub paths: Map,
    /// The definitions of its objects and lists. They refer to definitions of built-in types.
    pub definitions: Map,
}

/// Documents about custom resources, beside those about what is built in.
#[derive(Clone, Copy, Debug)]
pub struct CustomDocuments<'d, 'g>(&'d Documents<'g>);

impl<'d, 'g> CustomDocuments<'d, 'g> {
    /// Documents beside these.
    #[must_use]
    pub fn new(builtin: &'d Documents<'g>) -> Self {
        Self(builtin)
    }

    /// The document of version 3 about the custom resources of one group version.
    #[must_use]
    pub fn part(&self, resources: &[CustomResource<'_>]) -> Value {
        let mut shared = self.0.definitions(Dialect::V3);
        let (mut paths, mut own) = (Map::new(), Map::new());
        for resource in resources {
            let parts = self.parts_with(resource, Dialect::V3, &mut shared);
            paths.merge(parts.paths);
            own.merge(parts.definitions);
        }
        let mut schemas = shared.finish();
        schemas.merge(own);
        self.0.document(paths, schemas)
    }

    /// What documents of a version say of one custom resource.
    #[must_use]
    pub fn parts(&self, resource: &CustomResource<'_>, dialect: Dialect) -> CustomParts {
        self.parts_with(resource, dialect, &mut self.0.definitions(dialect))
    }

    /// The definitions of version 3 that documents of custom resources share.
    #[must_use]
    pub fn shared(&self) -> Value {
        let mut definitions = self.0.definitions(Dialect::V3);
        refer_to_shared(&mut definitions);
        definitions.finish().into()
    }

    fn parts_with(
        &self,
        resource: &CustomResource<'_>,
        dialect: Dialect,
        shared: &mut Definitions<'g>,
    ) -> CustomParts {
        let CustomResource { group, version, kind, list_kind, .. } = *resource;
        let names = self.0.graph().names();
        let object = naming::custom_definition(group, version, kind);
        let list = naming::custom_definition(group, version, list_kind);
        let described = PathKind {
            group,
            version,
            kind,
            resource: resource.plural,
            namespaced: resource.namespaced,
            verbs: resource.verbs.clone(),
            camel_group: naming::camel_group(names.neutral(group)),
            object: shared.refer(&object),
            list: Some(shared.refer(&list)),
            delete_documents_object: false,
            is_custom: true,
        };
        let subresources = resource.subresources.iter().filter_map(|sub| {
            let body = match &sub.body {
                Some(body) => shared.reference(self.0.graph().kind(body)?.ty),
                None => described.object.clone(),
            };
            Some(SubresourcePath {
                name: sub.name,
                verbs: sub.verbs.clone(),
                body,
                gvk: described.gvk(),
            })
        });
        let subresources: Vec<_> = subresources.collect();
        let mut paths = Map::new();
        paths::of_resource(self.0.style(dialect), &described, &subresources, shared, &mut paths);
        let definitions = Map::from([
            (object, published::object(dialect, resource, shared, names)),
            (list, published::list(dialect, resource, &described.object, shared, names)),
        ]);
        CustomParts { paths, definitions }
    }
}

/// Has a document define what parts about custom resources may refer to.
pub(super) fn refer_to_shared(definitions: &mut Definitions<'_>) {
    for neutral in [
        "meta/v1.ObjectMeta",
        "meta/v1.ListMeta",
        "meta/v1.DeleteOptions",
        "meta/v1.Status",
        "autoscaling/v1.Scale",
    ] {
        definitions.machinery(neutral);
    }
    definitions.patch();
}
