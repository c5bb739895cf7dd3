//! Ownership after a change of the schema (001, topology changes): what was owned part by part and is one value now is owned
//! as that value. The other way round nothing is made up: who owned the whole keeps that and owns no part.

use super::Managed;
use super::versions::{Seen, Versions};
use crate::fieldset::{FieldSet, Form};
use crate::graph::{Graph, TypeId};
use quorate_meta::Value;

/// Fits every entry to the type of its version; `own` is the version that `ty` is and `live` has.
pub(crate) fn fit(graph: &Graph, ty: TypeId, own: &str, live: &Value, versions: &dyn Versions, managed: &mut Managed) {
    for entry in &mut managed.entries {
        let ty = match entry.api_version == own {
            true => ty,
            false => match versions.convert(own, &entry.api_version, live) {
                Seen::As(ty, _) => ty,
                Seen::Gone | Seen::Unknown => continue,
            },
        };
        fit_set(graph, Form::Message(graph.ty(ty)), &mut entry.fields);
    }
}

fn fit_set(graph: &Graph, form: Form<'_>, set: &mut FieldSet) {
    for (element, node) in &mut set.nodes {
        if node.below.is_empty() {
            continue;
        }
        let child = match (form, element.field_name()) {
            (Form::Message(ty), Some(name)) if ty.property(name).is_none() => continue,
            (Form::Message(_) | Form::Map(_), Some(name)) => form.child(graph, name),
            (Form::Keyed(..), None) => form.child(graph, ""),
            _ => continue,
        };
        if let Form::Leaf = child {
            node.member = true;
            node.below = FieldSet::new();
        } else {
            fit_set(graph, child, &mut node.below);
        }
    }
}
