//! A reset of the entries (001, clearing managedFields): it happens first, so that the writer of other changes in the same
//! request owns all fields of the request afterwards, also those that have the value they had.

use quorate_meta::Value;

use super::update::{add, strip};
use super::{Managed, Writer};
use crate::decode::zero;
use crate::fieldset::{compare, members};
use crate::graph::{Graph, TypeId};

/// Completes the entries of `object`, which a reset left with nothing but the writer's changes. `named` is what the request
/// says of the object, `None` when that is all of it. A request that changed nothing owns nothing.
pub fn take_named(graph: &Graph, ty: TypeId, object: &mut Value, named: Option<&Value>, writer: &Writer<'_>) {
    let Ok(mut managed) = Managed::decode(object.at(&["metadata", "managedFields"])) else { return };
    if managed.entries.is_empty() {
        return;
    }
    let mut fields = compare(graph, ty, &zero(graph, ty), object).added;
    if let Some(named) = named {
        fields = fields.intersection(&members(graph, ty, named));
    }
    fields = writer.reach.cut(fields);
    strip(&mut fields);
    if !fields.is_empty() {
        add(&mut managed, fields, writer);
        managed.write(object);
    }
}
