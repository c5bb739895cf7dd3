//! A graph over another: the types of one custom resource version beside the machinery's, which it shares.
//!
//! Invariant: the numbers of a layer's types follow those of its base, so that one `TypeId` means one type in both.

use std::collections::HashMap;
use std::sync::Arc;

use super::build::blank;
use super::{Field, Graph, Shape, Text, TypeDef, TypeId, Unknowns};

impl Graph {
    /// The number that the first type of a layer over this graph has.
    pub(crate) fn end(&self) -> TypeId {
        TypeId(u32::try_from(self.first + self.types.len()).expect("a graph has fewer than 2^32 types"))
    }

    /// The graph of `types` over `base`; they are numbered from the base's end on.
    pub(crate) fn layered(base: Arc<Self>, types: Vec<TypeDef>) -> Self {
        let first = base.end();
        debug_assert!(types.iter().enumerate().all(|(at, ty)| ty.id == first.after(at)), "numbers follow the base");
        Self {
            names: base.names,
            first: first.index(),
            types,
            kinds: Vec::new(),
            by_type_name: HashMap::new(),
            by_kind: HashMap::new(),
            by_resource: HashMap::new(),
            base: Some(base),
        }
    }

    /// A type that is not of this layer.
    #[inline(never)]
    pub(super) fn base_type(&self, id: TypeId) -> &TypeDef {
        self.base.as_ref().expect("a TypeId is used with the graph that gave it out").ty(id)
    }
}

impl TypeId {
    /// The number `count` places on.
    pub(crate) fn after(self, count: usize) -> Self {
        Self(u32::try_from(self.index() + count).expect("a graph has fewer than 2^32 types"))
    }
}

impl TypeDef {
    /// A type of a custom resource. Fields in any order; the last of the same name counts.
    pub(crate) fn custom(id: TypeId, unknowns: Unknowns, fields: Vec<Field>) -> Self {
        let mut properties: Vec<Arc<Field>> = fields.into_iter().map(Arc::new).collect();
        properties.sort_by(|left, right| left.name.cmp(&right.name));
        Self {
            id,
            group: "",
            version: "",
            name: Text::Borrowed(""),
            object: false,
            atomic: false,
            mixed: None,
            custom: Some(unknowns),
            unions: Vec::new(),
            fields: Vec::new(),
            properties,
            doc: Text::Borrowed(""),
        }
    }

    /// Whether it is any JSON, with no fields of its own.
    pub(crate) fn is_untyped(&self) -> bool {
        matches!(self.custom, Some(Unknowns::Untyped | Unknowns::Emptied))
    }
}

impl Field {
    /// A field of a custom resource: absent differs from zero, `null` is dropped, nothing has a default.
    pub(crate) fn custom(name: Text, shape: Shape) -> Self {
        Self { name, shape, pointer: true, ..blank() }
    }
}
