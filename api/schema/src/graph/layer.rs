//! A graph over another: the types of one custom resource version beside the machinery's, which it shares.
//!
//! Invariant: the numbers of a layer's types follow those of its base, so that one `TypeId` means one type in both.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Graph, TypeDef, TypeId};

impl Graph {
    /// The number that the first type of a layer over this graph has.
    pub(crate) fn end(&self) -> TypeId {
        TypeId(
            u32::try_from(self.first + self.types.len())
                .expect("a graph has fewer than 2^32 types"),
        )
    }

    /// The graph of `types` over `base`; they are numbered from the base's end on.
    pub(crate) fn layered(base: Arc<Self>, types: Vec<TypeDef>) -> Self {
        let first = base.end();
        debug_assert!(
            types.iter().enumerate().all(|(at, ty)| ty.id == first.after(at)),
            "numbers follow the base"
        );
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
