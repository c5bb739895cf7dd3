//! The graph of all types and kinds of the API, with the lookups that requests need.
//!
//! Invariants: immutable after building; a `TypeId` belongs to the graph that made it; properties
//! are sorted by JSON name. Group names are those of the naming profile.
//!
//! A layered graph adds the types of one custom resource version to a base that it shares: a `TypeId`
//! below the end of the base is a type of the base.
//!
//! What is served is decided by the registry.

mod build;
mod build_kinds;
mod kind;
mod layer;
mod rule;
mod shape;
mod types;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use quorate_meta::{GroupVersionKind, GroupVersionResource, Names};

pub use kind::{Column, KindDef, Subresource};
pub use rule::{DeclaredRule, TextFormat};
pub use shape::{Scalar, Shape};
pub use types::{
    ElementDef, Field, ListKind, MapKind, Mixed, Patch, TypeDef, TypeId, Union, Unknowns,
};

/// Text that is either part of the IDL or made from the naming profile.
pub type Text = std::borrow::Cow<'static, str>;

/// All types and kinds of one naming profile. Shared in an `Arc`.
#[derive(Debug)]
pub struct Graph {
    names: &'static Names,
    /// What a layered graph stands on.
    base: Option<Arc<Graph>>,
    /// Number of the first of `types`.
    first: usize,
    types: Vec<TypeDef>,
    kinds: Vec<KindDef>,
    by_type_name: HashMap<String, TypeId>,
    by_kind: HashMap<GroupVersionKind, usize>,
    by_resource: HashMap<GroupVersionResource, usize>,
}

impl Graph {
    /// The naming profile it was built for.
    pub fn names(&self) -> &'static Names {
        self.names
    }

    /// The definition of a type.
    pub fn ty(&self, id: TypeId) -> &TypeDef {
        match self.types.get(id.index().wrapping_sub(self.first)) {
            Some(ty) => ty,
            None => self.base_type(id),
        }
    }

    /// Its own types: all in the order of the IDL files, or those of its layer.
    pub fn types(&self) -> &[TypeDef] {
        &self.types
    }

    /// The type with a neutral name such as `core/v1.ConfigMap` or `rbac.authorization/v1.Role`.
    pub fn type_named(&self, neutral: &str) -> Option<&TypeDef> {
        let own = self.by_type_name.get(neutral).map(|id| self.ty(*id));
        own.or_else(|| self.base.as_ref()?.type_named(neutral))
    }

    /// Its own kinds in the order of the IDL files; a layer has none.
    pub fn kinds(&self) -> &[KindDef] {
        &self.kinds
    }

    /// The kind of this group, version and name.
    pub fn kind(&self, kind: &GroupVersionKind) -> Option<&KindDef> {
        let own = self.by_kind.get(kind).map(|at| &self.kinds[*at]);
        own.or_else(|| self.base.as_ref()?.kind(kind))
    }

    /// The kind behind a resource name, such as `configmaps` of `v1`.
    pub fn resource(&self, resource: &GroupVersionResource) -> Option<&KindDef> {
        let own = self.by_resource.get(resource).map(|at| &self.kinds[*at]);
        own.or_else(|| self.base.as_ref()?.resource(resource))
    }

    /// The property `name` of type `id` as JSON has it.
    pub fn property(&self, id: TypeId, name: &str) -> Option<&Field> {
        self.ty(id).property(name)
    }
}
