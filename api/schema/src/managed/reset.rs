//! The reset of `managedFields` by a client.
//!
//! The reset happens before the changes of the same request, so its manager then owns all fields of
//! the request, changed or not.

use quorate_meta::Value;

use super::update::{add, strip};
use super::{Managed, Writer};
use crate::decode::zero;
use crate::fieldset::{compare, members};
use crate::graph::{Graph, TypeId};

/// Completes the entries of `object`, which after a reset only has the changes of the request.
/// `named` has the fields of the request, `None` for all fields. A request without changes owns
/// nothing.
pub fn take_named(
    graph: &Graph,
    ty: TypeId,
    object: &mut Value,
    named: Option<&Value>,
    writer: &Writer<'_>,
) {
    let Ok(mut managed) = Managed::decode(object.at(&["metadata", "managedFields"])) else {
        return;
    };
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
