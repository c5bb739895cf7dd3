//! A resource as its paths describe it: of a built-in kind, or of a definition.

use quorate_meta::{Map, Value};

use super::definitions::Definitions;
use super::documents::Served;
use super::{connections, naming};
use crate::graph::Graph;

/// A resource.
#[derive(Debug)]
pub(super) struct PathKind<'k> {
    pub(super) group: &'k str,
    pub(super) version: &'k str,
    pub(super) kind: &'k str,
    /// Plural name.
    pub(super) resource: &'k str,
    pub(super) namespaced: bool,
    pub(super) verbs: Vec<&'k str>,
    /// The group in camel case.
    pub(super) camel_group: String,
    /// Reference to the type of its objects.
    pub(super) object: Value,
    /// Reference to the type of lists of them.
    pub(super) list: Option<Value>,
    pub(super) delete_documents_object: bool,
    /// Whether it has no protobuf form, no strategic merge and no deprecated paths.
    pub(super) is_custom: bool,
}

/// A subresource.
#[derive(Debug)]
pub(super) struct SubresourcePath<'k> {
    /// Last segment.
    pub(super) name: &'k str,
    pub(super) verbs: Vec<&'k str>,
    /// Reference to the type of its bodies.
    pub(super) body: Value,
    /// The kind that its operations name.
    pub(super) gvk: Value,
}

impl<'k> PathKind<'k> {
    /// A built-in resource and those of its subresources that are served.
    pub(super) fn of(
        graph: &'k Graph,
        served: &Served<'k>,
        definitions: &mut Definitions<'k>,
    ) -> (Self, Vec<SubresourcePath<'k>>) {
        let kind = served.kind;
        let list = kind.list_ty.filter(|_| kind.has_verb("list"));
        let this = Self {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.kind,
            resource: &kind.resource,
            namespaced: kind.namespaced,
            verbs: kind.verbs.iter().map(AsRef::as_ref).collect(),
            camel_group: naming::camel_group(kind.neutral_group),
            object: definitions.reference(kind.ty),
            list: list.map(|list| definitions.reference(list)),
            delete_documents_object: kind.delete_documents_object,
            is_custom: false,
        };
        let subresource = |name: &&str| {
            let sub = kind.subresource(name)?;
            let body = graph.kind(&sub.kind)?;
            let body = match connections::methods(&sub.name) {
                Some(_) => Map::from([("type", "string")]).into(),
                None => definitions.reference(body.ty),
            };
            Some(SubresourcePath {
                name: &sub.name,
                verbs: sub.verbs.iter().map(AsRef::as_ref).collect(),
                body,
                gvk: naming::group_version_kind(&sub.kind.group, &sub.kind.version, &sub.kind.kind),
            })
        };
        let subresources = served.subresources.iter().filter_map(subresource).collect();
        (this, subresources)
    }

    pub(super) fn has_verb(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    pub(super) fn gvk(&self) -> Value {
        naming::group_version_kind(self.group, self.version, self.kind)
    }

    pub(super) fn root(&self) -> String {
        naming::root(self.group, self.version)
    }

    pub(super) fn tag(&self) -> String {
        naming::tag(&self.camel_group, self.version)
    }

    /// The operation id of a method of a connection: `connectCoreV1GetNamespacedPodExec`.
    pub(super) fn connection_id(&self, method: &str, suffix: &str) -> String {
        let start = naming::capital(&self.camel_group) + &naming::capital(self.version);
        let namespaced = if self.namespaced { "Namespaced" } else { "" };
        format!("connect{start}{}{namespaced}{}{suffix}", naming::capital(method), self.kind)
    }

    /// The operation id of a verb: `readCoreV1NamespacedConfigMap`. `collection` and `suffix` as in
    /// `deleteCoreV1CollectionNamespacedConfigMap` and `readCoreV1NamespaceStatus`.
    pub(super) fn operation_id(
        &self,
        verb: &str,
        collection: bool,
        namespaced: bool,
        suffix: &str,
    ) -> String {
        let group = naming::capital(&self.camel_group);
        let version = naming::capital(self.version);
        let collection = if collection { "Collection" } else { "" };
        let namespaced = if namespaced { "Namespaced" } else { "" };
        format!("{verb}{group}{version}{collection}{namespaced}{}{suffix}", self.kind)
    }
}
