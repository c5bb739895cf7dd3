//! The walk over an object: each field's rules, from the outside in.

use std::sync::Arc;

use quorate_meta::{Cause, Map, Value};

use super::format;
use crate::graph::{DeclaredRule, Field, Graph, ListKind, Shape, Text, TypeDef, TypeId};
use crate::path::FieldPath;

/// Failures that are listed, at most.
const MAX_TOLD: usize = 1000;

/// What the rules say about an object, or about its change from `old`.
#[must_use]
pub fn check(graph: &Graph, ty: TypeId, old: Option<&Value>, new: &Value) -> Vec<Cause> {
    let mut walk = Walk { graph, path: FieldPath::default(), causes: Vec::new() };
    if let Some(new) = new.as_map() {
        walk.message(graph.ty(ty), old.and_then(Value::as_map), new);
    }
    walk.causes.truncate(MAX_TOLD);
    walk.causes
}

struct Walk<'g> {
    graph: &'g Graph,
    path: FieldPath,
    causes: Vec<Cause>,
}

impl Walk<'_> {
    fn message(&mut self, ty: &TypeDef, old: Option<&Map>, new: &Map) {
        self.union(ty, old, new);
        for field in &ty.properties {
            let value = set(new.get(&field.name));
            let before = old.map(|old| set(old.get(&field.name)));
            if before == Some(value) {
                continue;
            }
            let mark = self.path.push_key(&field.name);
            self.field(field, before, value);
            self.path.truncate(mark);
        }
    }

    /// Checks a field that is new or has changed; `before` is there on an update.
    fn field(&mut self, field: &Field, before: Option<Option<&Value>>, value: Option<&Value>) {
        let (stopping, others): (Vec<_>, Vec<_>) =
            field.rules.iter().partition(|rule| rule.stops());
        for rule in stopping {
            let is_unset = is_unset(field, value);
            let cause = match rule {
                DeclaredRule::Optional if is_unset => return,
                DeclaredRule::Required if is_unset => Cause::required(self.path.as_str(), ""),
                DeclaredRule::Immutable if before.is_some() => {
                    self.invalid(value, "field is immutable")
                }
                DeclaredRule::NoModify if before.flatten().is_some() && !is_unset => {
                    self.invalid(value, "field cannot be modified once set")
                }
                DeclaredRule::MaxItems(max) if length(value) > *max => {
                    Cause::too_many(self.path.as_str(), length(value), *max)
                }
                _ => continue,
            };
            self.causes.push(cause);
            return;
        }
        let Some(value) = value else { return };
        for rule in others {
            self.rule(field, rule, value);
        }
        self.below(field, before.flatten(), value);
    }

    fn invalid(&self, value: Option<&Value>, why: &str) -> Cause {
        Cause::invalid(self.path.as_str(), value.cloned().unwrap_or(Value::Null), why)
    }

    fn rule(&mut self, field: &Field, rule: &DeclaredRule, value: &Value) {
        let text = value.as_str().filter(|text| !text.is_empty());
        match (rule, text) {
            (DeclaredRule::Format(form), _) => {
                let text = value.as_str().unwrap_or_default();
                let causes = format::check(*form, self.graph.names(), self.path.as_str(), text);
                self.causes.extend(causes);
            }
            (DeclaredRule::Enum, Some(text))
                if !field.allowed.iter().any(|allowed| allowed == text) =>
            {
                let supported: Vec<&str> = field.allowed.iter().map(AsRef::as_ref).collect();
                self.causes.push(Cause::not_supported(self.path.as_str(), text, &supported));
            }
            (DeclaredRule::MaxLength(max), Some(text)) if text.len() > *max => {
                self.causes.push(Cause::too_long(self.path.as_str(), *max));
            }
            (DeclaredRule::Minimum(min), _)
                if value.as_i64().is_some_and(|number| number < *min) =>
            {
                let why = format!("must be greater than or equal to {min}");
                self.causes.push(self.invalid(Some(value), &why));
            }
            (DeclaredRule::Unique(keys), _) => self.unique(keys, value),
            (DeclaredRule::AtMostOneOf(key, values), _) => self.at_most_one(key, values, value),
            (DeclaredRule::Subfield(name, rule), _) => {
                if let Some(inner) = value.get(name).filter(|inner| inner.as_str() != Some("")) {
                    let mark = self.path.push_key(name);
                    self.rule(field, rule, inner);
                    self.path.truncate(mark);
                }
            }
            _ => {}
        }
    }

    fn unique(&mut self, keys: &[Text], list: &Value) {
        let items = list.as_list().unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            if items[..at].iter().any(|before| same(keys, before, item)) {
                let mark = self.path.push_index(at);
                self.causes.push(Cause::duplicate(self.path.as_str(), item.clone()));
                self.path.truncate(mark);
            }
        }
    }

    fn at_most_one(&mut self, key: &str, values: &[Text], list: &Value) {
        let items = list.as_list().unwrap_or_default().iter();
        let own = |item: &&Value| {
            item.str_at(&[key]).is_some_and(|text| values.iter().any(|value| value == text))
        };
        let found: Vec<&str> = items.filter(own).filter_map(|item| item.str_at(&[key])).collect();
        if found.len() > 1 {
            let shown = format!("{{{}}}", found.join(", "));
            let named: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            let why = format!("must specify at most one of: {}", named.join(", "));
            self.causes.push(Cause::invalid(self.path.as_str(), shown, &why));
        }
    }

    /// The members of a type's union, of which exactly one is set.
    fn union(&mut self, ty: &TypeDef, old: Option<&Map>, new: &Map) {
        let members: Vec<&Arc<Field>> = ty
            .properties
            .iter()
            .filter(|field| field.rules.contains(&DeclaredRule::UnionMember))
            .collect();
        let set_in = |map: &Map| -> Vec<&str> {
            let is_set = |field: &&&Arc<Field>| set(map.get(&field.name)).is_some();
            members.iter().filter(is_set).map(|field| &*field.name).collect()
        };
        let found = set_in(new);
        if members.is_empty() || found.len() == 1 || old.is_some_and(|old| set_in(old) == found) {
            return;
        }
        let named: Vec<String> = members.iter().map(|field| format!("`{}`", field.name)).collect();
        let (shown, which) = match found.is_empty() {
            true => (String::new(), "one of"),
            false => (format!("{{{}}}", found.join(", ")), "exactly one of"),
        };
        let why = format!("must specify {which}: {}", named.join(", "));
        self.causes.push(Cause::invalid(self.path.as_str(), shown, &why));
    }

    fn below(&mut self, field: &Field, old: Option<&Value>, value: &Value) {
        match (&field.shape, value) {
            (Shape::Message(id), Value::Map(map)) => {
                self.message(self.graph.ty(*id), old.and_then(Value::as_map), map);
            }
            (Shape::List(inner), Value::List(items)) => {
                let Some(id) = inner.message() else { return };
                let before = old.and_then(Value::as_list).unwrap_or_default();
                for (at, item) in items.iter().enumerate() {
                    let (Some(map), false) = (item.as_map(), before.contains(item)) else {
                        continue;
                    };
                    let was = keys_of(field)
                        .and_then(|keys| before.iter().find(|other| same(keys, other, item)));
                    let mark = self.path.push_index(at);
                    self.message(self.graph.ty(id), was.and_then(Value::as_map), map);
                    self.path.truncate(mark);
                }
            }
            (Shape::Map(inner), Value::Map(map)) => {
                let Some(id) = inner.message() else { return };
                for (key, item) in map.iter() {
                    let was = old.and_then(|old| old.get(key));
                    let (Some(inner), false) = (item.as_map(), was == Some(item)) else {
                        continue;
                    };
                    let mark = self.path.push_index_key(key);
                    self.message(self.graph.ty(id), was.and_then(Value::as_map), inner);
                    self.path.truncate(mark);
                }
            }
            _ => {}
        }
    }
}

/// The keys that tell the items of a list apart.
fn keys_of(field: &Field) -> Option<&[Text]> {
    if let Some(ListKind::Map(keys)) = &field.list {
        return Some(keys);
    }
    field.rules.iter().find_map(|rule| match rule {
        DeclaredRule::Unique(keys) if !keys.is_empty() => Some(keys.as_slice()),
        _ => None,
    })
}

/// Whether two items have the same keys; without keys, whether they are the same.
fn same(keys: &[Text], left: &Value, right: &Value) -> bool {
    if keys.is_empty() {
        return left == right;
    }
    keys.iter().all(|key| set(left.get(key)) == set(right.get(key)))
}

fn set(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

fn length(value: Option<&Value>) -> usize {
    value.and_then(Value::as_list).map_or(0, <[Value]>::len)
}

/// Whether a field counts as absent: nothing, an empty list or map, and the zero of a scalar that
/// is no pointer.
fn is_unset(field: &Field, value: Option<&Value>) -> bool {
    match value {
        None => true,
        Some(Value::List(items)) => items.is_empty(),
        Some(Value::Map(map)) => map.is_empty() && matches!(field.shape, Shape::Map(_)),
        Some(_) if field.pointer => false,
        Some(value) => value.as_str() == Some("") || value.as_i64() == Some(0),
    }
}
