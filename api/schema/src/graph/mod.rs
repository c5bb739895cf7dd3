//! The graph of all types and kinds of the API, with the lookups that requests need.
//!
//! Invariants: immutable after building; a `TypeId` belongs to the graph that made it; properties
//! are sorted by JSON name. Group names are those of the naming profile.
//!
//! What is served is decided by the registry.

mod build;
mod build_kinds;
mod kind;
mod shape;
mod types;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use quorate_meta::{GroupVersionKind, GroupVersionResource, Names};

pub use kind::{Column, KindDef, Subresource};
pub use shape::{Scalar, Shape};
pub use types::{Field, ListKind, MapKind, Mixed, Patch, TypeDef, TypeId, Union};

/// Text that is either part of the IDL or made from the naming profile.
pub type Text = std::borrow::Cow<'static, str>;

/// All types and kinds of one naming profile. Shared in an `Arc`.
#[derive(Debug)]
pub struct Graph {
    names: &'static Names,
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
        &self.types[id.index()]
    }

    /// All types in the order of the IDL files.
    pub fn types(&self) -> &[TypeDef] {
        &self.types
    }

    /// The type with a neutral name such as `core/v1.ConfigMap` or `rbac.authorization/v1.Role`.
    pub fn type_named(&self, neutral: &str) -> Option<&TypeDef> {
        self.by_type_name.get(neutral).map(|id| self.ty(*id))
    }

    /// All kinds in the order of the IDL files.
    pub fn kinds(&self) -> &[KindDef] {
        &self.kinds
    }

    /// The kind of this group, version and name.
    pub fn kind(&self, kind: &GroupVersionKind) -> Option<&KindDef> {
        self.by_kind.get(kind).map(|at| &self.kinds[*at])
    }

    /// The kind behind a resource name, such as `configmaps` of `v1`.
    pub fn resource(&self, resource: &GroupVersionResource) -> Option<&KindDef> {
        self.by_resource.get(resource).map(|at| &self.kinds[*at])
    }

    /// The property `name` of type `id` as JSON has it.
    pub fn property(&self, id: TypeId, name: &str) -> Option<&Field> {
        self.ty(id).property(name)
    }
}
