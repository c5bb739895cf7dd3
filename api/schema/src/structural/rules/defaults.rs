//! Whether the defaults of a schema are values that it accepts, without fields that would be pruned.

use quorate_meta::{Cause, Value};

use crate::decode::{check_part, unknown_in};
use crate::graph::{Graph, Shape, TypeDef};
use crate::structural::limits::Told;
use crate::structural::node::{NodeId, SchemaNode};
use crate::structural::place::Place;
use crate::structural::{Structural, validate};

/// Checks the defaults of a compiled schema. Those of maps' entries stand for nothing and are passed over.
pub(in crate::structural) fn check(compiled: &Structural, place: &Place<'_>) -> Vec<Cause> {
    let mut walk = DefaultRules { compiled, graph: &compiled.graph, told: Told::default() };
    walk.object(compiled.node(compiled.root), compiled.graph.ty(compiled.ty), place);
    walk.told.into_causes()
}

struct DefaultRules<'c> {
    compiled: &'c Structural,
    graph: &'c Graph,
    told: Told,
}

impl<'c> DefaultRules<'c> {
    fn node(&mut self, id: NodeId, shape: &'c Shape, place: &Place<'_>) {
        let node = self.compiled.node(id);
        if let Some(default) = &node.default {
            self.default(id, shape, default, place);
        }
        match shape {
            Shape::List(inner) => {
                if let Some(items) = node.items {
                    self.node(items, inner, &place.child("items"));
                }
            }
            Shape::Message(ty) => self.object(node, self.graph.ty(*ty), place),
            Shape::Scalar(_) | Shape::Map(_) => {}
        }
    }

    fn object(&mut self, node: &'c SchemaNode, ty: &'c TypeDef, place: &Place<'_>) {
        let place = place.child("properties");
        for (name, id) in &node.properties {
            if let Some(field) = ty.property(name) {
                self.node(*id, &field.shape, &place.key(name));
            }
        }
    }

    fn default(&mut self, id: NodeId, shape: &Shape, default: &Value, place: &Place<'_>) {
        let place = place.child("default");
        if unknown_in(self.graph, shape, &mut default.clone()) {
            self.told.push(|| {
                Cause::invalid(place.text(), default.clone(), "must not have unknown fields")
            });
        }
        if let Err(error) = check_part(self.graph, shape, default) {
            return self
                .told
                .push(|| Cause::invalid(place.text(), default.clone(), &error.to_string()));
        }
        for cause in validate::validate(self.compiled, id, place.text().as_str(), default, None) {
            self.told.push(|| cause);
        }
    }
}
