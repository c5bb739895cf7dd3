//! Nodes to the types of a layer over the built-in graph.
//!
//! An object with properties is a type, one with a schema for its entries is a map; what has no schema is the layer's one untyped
//! type. The root and embedded objects have `apiVersion`, `kind` and the machinery's metadata whatever the schema says of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::{Additional, NodeId, SchemaNode, ValueType};
use crate::graph::{
    ElementDef, Field, Graph, MapKind, Scalar, Shape, Text, TypeDef, TypeId, Unknowns,
};

/// Builds the graph of one custom resource version; `nodes` ends with the root.
///
/// # Panics
/// The base has no type `meta/v1.ObjectMeta`, which every built-in graph has.
pub(super) fn layer(base: &Arc<Graph>, nodes: &[SchemaNode], root: NodeId) -> (Graph, TypeId) {
    let metadata = base
        .type_named("meta/v1.ObjectMeta")
        .expect("the machinery's types are part of every base")
        .id;
    let mut layer = Layer {
        nodes,
        first: base.end(),
        metadata,
        types: Vec::new(),
        without_fields: HashMap::new(),
    };
    let ty = layer.object(&nodes[root.0 as usize], Kept::AsSaid, Meta::Root);
    (Graph::layered(base.clone(), layer.types), ty)
}

/// Whether unknown fields are kept because the list around an object says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    AsSaid,
    Always,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meta {
    None,
    Embedded,
    Root,
}

struct Layer<'n> {
    nodes: &'n [SchemaNode],
    first: TypeId,
    metadata: TypeId,
    types: Vec<TypeDef>,
    /// Types without fields; one of a kind is enough.
    without_fields: HashMap<(u8, bool), TypeId>,
}

impl<'n> Layer<'n> {
    fn node(&self, id: NodeId) -> &'n SchemaNode {
        &self.nodes[id.0 as usize]
    }

    /// The form of a value, and what is said of its elements.
    fn shape(&mut self, node: &'n SchemaNode, kept: Kept) -> (Shape, Vec<ElementDef>) {
        let plain = |scalar| (Shape::Scalar(scalar), Vec::new());
        match &node.ty {
            ValueType::String => plain(Scalar::String),
            ValueType::Integer => plain(Scalar::Int64),
            ValueType::Number => plain(Scalar::Double),
            ValueType::Boolean => plain(Scalar::Bool),
            ValueType::IntOrString => plain(Scalar::IntOrString),
            ValueType::Array => {
                let kept = if node.preserves { Kept::Always } else { kept };
                let (inner, elements) = self.elements(node.items, kept);
                (Shape::List(Box::new(inner)), elements)
            }
            ValueType::Object => self.map_or_message(node, kept),
            ValueType::Any if !node.properties.is_empty() => self.map_or_message(node, kept),
            ValueType::Any | ValueType::Other(_) => {
                (Shape::Message(self.blank(Unknowns::Untyped, false)), Vec::new())
            }
        }
    }

    fn map_or_message(&mut self, node: &'n SchemaNode, kept: Kept) -> (Shape, Vec<ElementDef>) {
        match node.additional {
            Additional::Schema(id) if node.properties.is_empty() => {
                let (inner, elements) = self.elements(Some(id), Kept::AsSaid);
                (Shape::Map(Box::new(inner)), elements)
            }
            Additional::Allowed(true) if node.properties.is_empty() && !node.preserves => {
                let inner = Shape::Message(self.blank(Unknowns::Emptied, false));
                (
                    Shape::Map(Box::new(inner)),
                    vec![ElementDef { nullable: true, ..ElementDef::default() }],
                )
            }
            _ => {
                let meta = if node.embedded { Meta::Embedded } else { Meta::None };
                (Shape::Message(self.object(node, kept, meta)), Vec::new())
            }
        }
    }

    fn elements(&mut self, id: Option<NodeId>, kept: Kept) -> (Shape, Vec<ElementDef>) {
        let Some(node) = id.map(|id| self.node(id)) else {
            return (Shape::Message(self.blank(Unknowns::Untyped, false)), Vec::new());
        };
        let (shape, rest) = self.shape(node, kept);
        let element = ElementDef {
            nullable: node.nullable,
            default: node.default.as_deref().cloned(),
            list: node.list.clone(),
            map: node.map,
        };
        let said = element != ElementDef::default() || !rest.is_empty();
        let elements =
            if said { std::iter::once(element).chain(rest).collect() } else { Vec::new() };
        (shape, elements)
    }

    fn object(&mut self, node: &'n SchemaNode, kept: Kept, meta: Meta) -> TypeId {
        let keeps =
            node.preserves || kept == Kept::Always || node.additional == Additional::Allowed(true);
        let unknowns = if keeps { Unknowns::Kept } else { Unknowns::Dropped };
        let is_atomic = node.map == Some(MapKind::Atomic);
        if node.properties.is_empty() && meta == Meta::None {
            return self.blank(unknowns, is_atomic);
        }
        let mut fields = Vec::with_capacity(node.properties.len());
        for (name, id) in &node.properties {
            if meta != Meta::None && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                continue;
            }
            let inner = self.node(*id);
            let (shape, elements) = self.shape(inner, Kept::AsSaid);
            fields.push(Field {
                nullable: inner.nullable,
                required: node.required.contains(name),
                default: inner.default.as_deref().cloned(),
                list: inner.list.clone(),
                map: inner.map,
                elements,
                ..Field::custom(Text::Owned(name.to_string()), shape)
            });
        }
        if meta != Meta::None {
            fields.extend(self.meta_fields(meta));
        }
        let id = self.first.after(self.types.len());
        let ty_of = |id: TypeId| self.types.get(id.since(self.first)?);
        let fills = fields.iter().any(|field| field.fills_by(ty_of));
        let has_objects = meta != Meta::None
            || fields
                .iter()
                .filter_map(|field| ty_of(field.shape.message()?))
                .any(|ty| ty.has_objects);
        self.types.push(TypeDef {
            atomic: is_atomic,
            fills,
            has_objects,
            ..TypeDef::custom(id, unknowns, fields)
        });
        id
    }

    fn meta_fields(&self, meta: Meta) -> [Field; 3] {
        let text = |name| Field::custom(Text::Borrowed(name), Shape::Scalar(Scalar::String));
        let metadata = Field::custom(Text::Borrowed("metadata"), Shape::Message(self.metadata));
        [text("apiVersion"), text("kind"), Field { always: meta == Meta::Root, ..metadata }]
    }

    /// The type without fields that does this with what it finds.
    fn blank(&mut self, unknowns: Unknowns, is_atomic: bool) -> TypeId {
        let id = self.first.after(self.types.len());
        let known = *self.without_fields.entry((unknowns as u8, is_atomic)).or_insert(id);
        if known == id {
            self.types
                .push(TypeDef { atomic: is_atomic, ..TypeDef::custom(id, unknowns, Vec::new()) });
        }
        known
    }
}
