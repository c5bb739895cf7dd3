//! The adaptation of entries to a changed schema: a value whose parts had managers and that is
//! atomic now is owned as a whole.
//!
//! The reverse adds nothing: the manager of the whole keeps it and owns none of its parts.

use std::collections::HashMap;
use std::sync::Arc;

use super::Managed;
use super::versions::{Seen, Versions};
use crate::fieldset::{FieldSet, Form};
use crate::graph::{Graph, TypeId};
use quorate_meta::Value;

/// Adapts every entry to the type of its version; `own` is the version of `ty` and `live`.
pub(crate) fn fit(
    graph: &Graph,
    ty: TypeId,
    own: &str,
    live: &Value,
    versions: &dyn Versions,
    managed: &mut Managed,
) {
    // Each version is converted once, however many entries name it.
    let mut known: HashMap<String, Option<(Arc<Graph>, TypeId)>> = HashMap::new();
    for entry in &mut managed.entries {
        if entry.api_version == own {
            fit_set(graph, Form::Message(graph.ty(ty)), &mut entry.fields);
            continue;
        }
        let found = known.entry(entry.api_version.clone()).or_insert_with(|| {
            match versions.convert(own, &entry.api_version, live) {
                Seen::As(graph, ty, _) => Some((graph, ty)),
                Seen::Gone | Seen::Unknown => None,
            }
        });
        if let Some((graph, ty)) = found {
            fit_set(graph, Form::Message(graph.ty(*ty)), &mut entry.fields);
        }
    }
}

fn fit_set(graph: &Graph, form: Form<'_>, set: &mut FieldSet) {
    for (element, node) in set.nodes.iter_mut() {
        if node.below.is_empty() {
            continue;
        }
        let child = match (form, element.field_name()) {
            (Form::Message(ty), Some(name)) if ty.property(name).is_none() => continue,
            (Form::Message(_) | Form::Map(..), Some(name)) => form.child(graph, name),
            (Form::Keyed(..), None) => form.child(graph, ""),
            _ => continue,
        };
        if matches!(child, Form::Leaf) {
            node.member = true;
            node.below = FieldSet::new();
        } else {
            fit_set(graph, child, &mut node.below);
        }
    }
}
