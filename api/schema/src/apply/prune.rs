//! The removal of fields that a manager no longer applies and that no other manager owns.
//!
//! A property of a message is owned when anything in it is. A property without an owner of any part
//! is removed as a whole, with the parts that only defaults have set. Entries may name fields of
//! other versions: fields are removed in the version of the manager's last apply, and what owners
//! in another version would lose there is restored.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use quorate_meta::{Map, SmolStr, Value};

use crate::decode::canonicalize;
use crate::fieldset::{Element, FieldSet, Form, Node, keyed_element, members};
use crate::graph::{Graph, TypeId};
use crate::managed::{Entry, Managed, Seen, Writer};

/// Removes fields from `object`, which has type `ty`; `before` is the old entry of the manager,
/// `managed` has the new one.
pub(super) fn prune(
    graph: &Graph,
    ty: TypeId,
    object: &mut Value,
    before: &Entry,
    managed: &Managed,
    writer: &Writer<'_>,
) {
    let own = writer.api_version;
    let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
    for entry in &managed.entries {
        owned.entry(&entry.api_version).or_default().add(&entry.fields);
    }
    let at = before.api_version.as_str();
    let here = owned.remove(at).unwrap_or_default();
    if at == own && owned.is_empty() {
        cut(graph, Form::Message(graph.ty(ty)), object, &before.fields, &here);
        return;
    }
    canonicalize(graph, ty, object);
    let convert = |from: &str, to: &str, object: &Value| match from == to {
        true if to == own => Some((Type::Own(graph, ty), object.clone())),
        _ => match writer.versions.convert(from, to, object) {
            Seen::As(graph, ty, object) => Some((Type::Other(graph, ty), object)),
            Seen::Gone | Seen::Unknown => None,
        },
    };
    let Some((last, mut pruned)) = convert(own, at, object) else {
        return;
    };
    cut(last.graph(), last.form(), &mut pruned, &before.fields, &here);
    for (version, owned) in owned {
        let (Some((ty, merged)), Some((_, cut))) =
            (convert(own, version, object), convert(at, version, &pruned))
        else {
            continue;
        };
        let restored = restore(ty.graph(), ty.form(), &merged, Some(&cut), &owned);
        if let Some((_, restored)) = convert(version, at, &restored) {
            pruned = restored;
        }
    }
    // A field that only appears in the conversion, as a default of the other version, was not
    // removed by the manager.
    let Some((_, mut kept)) = convert(own, at, object) else {
        return;
    };
    let left = members(last.graph(), last.id(), &pruned);
    cut(last.graph(), last.form(), &mut kept, &before.fields, &left);
    if let Some((_, kept)) = convert(at, own, &kept) {
        *object = kept;
    }
}

/// The type of a version: that of the writer, or another one.
enum Type<'g> {
    Own(&'g Graph, TypeId),
    Other(Arc<Graph>, TypeId),
}

impl Type<'_> {
    fn graph(&self) -> &Graph {
        match self {
            Self::Own(graph, _) => graph,
            Self::Other(graph, _) => graph,
        }
    }

    fn id(&self) -> TypeId {
        match self {
            Self::Own(_, ty) | Self::Other(_, ty) => *ty,
        }
    }

    fn form(&self) -> Form<'_> {
        Form::Message(self.graph().ty(self.id()))
    }
}

/// Whether a member is in a set; for a property of a message, whether anything in it is.
fn counts(node: &Node, named: bool) -> bool {
    node.member || (named && !node.below.is_empty())
}

fn is_property(form: Form<'_>, name: &str) -> bool {
    matches!(form, Form::Message(ty) if ty.property(name).is_some())
}

fn cut(graph: &Graph, form: Form<'_>, value: &mut Value, last: &FieldSet, owned: &FieldSet) {
    match (form, value) {
        (Form::Message(_) | Form::Map(..) | Form::Free, Value::Map(map)) => {
            cut_map(graph, form, map, last, owned)
        }
        (Form::Set | Form::Keyed(..), Value::List(items)) => {
            items.retain_mut(|item| {
                let element = match form {
                    Form::Keyed(inner, keys, _) => keyed_element(graph, inner, keys, item),
                    _ => Element::value(item),
                };
                let Some(last) = last.node(&element) else {
                    return true;
                };
                let owned = owned.node(&element);
                if last.member && !owned.is_some_and(|owned| owned.member) {
                    return false;
                }
                cut_below(graph, form.child(graph, ""), item, last, owned);
                true
            });
        }
        _ => {}
    }
}

fn cut_map(graph: &Graph, form: Form<'_>, map: &mut Map, last: &FieldSet, owned: &FieldSet) {
    let mut gone: HashSet<&str> = HashSet::new();
    for (element, last) in last.nodes.iter() {
        let Some(name) = element.field_name() else {
            continue;
        };
        let Some(value) = map.get_mut(name) else {
            continue;
        };
        let named = is_property(form, name);
        let owned = owned.node(element);
        let mut goes = counts(last, named) && !owned.is_some_and(|owned| counts(owned, named));
        if !goes && !value.is_empty() {
            cut_below(graph, form.child(graph, name), value, last, owned);
            // It is empty, and no manager owns it as such.
            goes = value.is_empty() && !owned.is_some_and(|owned| owned.member);
        }
        if goes {
            gone.insert(name);
        }
    }
    if !gone.is_empty() {
        map.retain(|key, _| !gone.contains(key));
    }
}

fn cut_below(graph: &Graph, form: Form<'_>, value: &mut Value, last: &Node, owned: Option<&Node>) {
    let nothing = FieldSet::new();
    if !last.below.is_empty() {
        cut(graph, form, value, &last.below, owned.map_or(&nothing, |owned| &owned.below));
    }
}

/// `merged` with the parts that are left in `cut` or owned. The values are those of `merged`,
/// because the conversion may have put defaults into the place of removed fields of `cut`.
fn restore(
    graph: &Graph,
    form: Form<'_>,
    merged: &Value,
    cut: Option<&Value>,
    owned: &FieldSet,
) -> Value {
    match (form, merged, cut) {
        (
            Form::Message(_) | Form::Map(..) | Form::Free,
            Value::Map(merged),
            None | Some(Value::Map(_)),
        ) => {
            let cut = cut.and_then(Value::as_map);
            let mut entries: Vec<(SmolStr, Value)> = Vec::with_capacity(merged.len());
            for (key, value) in merged.iter() {
                let left = cut.and_then(|cut| cut.get(key));
                let node = owned.node(&Element::field(key));
                let wanted = node.is_some_and(|node| counts(node, is_property(form, key)));
                if left.is_some() || wanted {
                    entries.push((
                        key.into(),
                        restore_part(graph, form.child(graph, key), value, left, node),
                    ));
                }
            }
            Value::Map(Map::from_entries(entries).0)
        }
        (Form::Set | Form::Keyed(..), Value::List(merged), None | Some(Value::List(_))) => {
            let element = |item: &Value| match form {
                Form::Keyed(inner, keys, _) => keyed_element(graph, inner, keys, item),
                _ => Element::value(item),
            };
            let left: BTreeMap<Element, &Value> = cut
                .and_then(Value::as_list)
                .unwrap_or_default()
                .iter()
                .map(|item| (element(item), item))
                .collect();
            let parts = merged.iter().filter_map(|item| {
                let element = element(item);
                let (left, node) = (left.get(&element).copied(), owned.node(&element));
                let kept = left.is_some() || node.is_some_and(|node| node.member);
                kept.then(|| restore_part(graph, form.child(graph, ""), item, left, node))
            });
            Value::List(parts.collect())
        }
        (_, merged, _) => merged.clone(),
    }
}

fn restore_part(
    graph: &Graph,
    form: Form<'_>,
    merged: &Value,
    cut: Option<&Value>,
    owned: Option<&Node>,
) -> Value {
    let nothing = FieldSet::new();
    restore(graph, form, merged, cut, owned.map_or(&nothing, |owned| &owned.below))
}
