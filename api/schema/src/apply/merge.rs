//! The merge of applied fields into the live object: messages and granular maps by field, keyed
//! lists and sets by element, atomic values as a whole.
//!
//! Fields that are not applied stay; removing them is part of `prune`.

use std::cmp::Ordering;
use std::collections::HashMap;

use quorate_meta::{Map, Value};

use super::order::{ElementSource, arrange};
use crate::fieldset::{Element, Form, keyed_element};
use crate::graph::{Graph, TypeId};

const METADATA: &str = "metadata";
/// Not merged: every apply writes it anew.
const MANAGED_FIELDS: &str = "managedFields";

/// The live object with the applied fields, without `metadata.managedFields`.
pub(super) fn merge(graph: &Graph, ty: TypeId, live: &Value, config: &Value) -> Value {
    let merger = Merger { graph };
    let form = Form::Message(graph.ty(ty));
    let (Value::Map(live), Value::Map(config)) = (live, config) else {
        return config.clone();
    };
    let merged = merger.map_with(live, config, |key, live, config| {
        let inner = form.child(graph, key);
        match (key, live) {
            (METADATA, Some(Value::Map(live))) => {
                let nothing = Map::new();
                let config = config.and_then(Value::as_map).unwrap_or(&nothing);
                Some(Value::Map(merger.map_with(live, config, |key, live, config| match key {
                    MANAGED_FIELDS => None,
                    _ => merger.value(inner.child(graph, key), live, config),
                })))
            }
            _ => merger.value(inner, live, config),
        }
    });
    Value::Map(merged)
}

struct Merger<'g> {
    graph: &'g Graph,
}

impl<'g> Merger<'g> {
    /// The merged value; `None` for an absent one.
    fn value(&self, form: Form<'g>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
        let (Some(wanted), Some(known)) = (config, live) else {
            return config.or(live).cloned();
        };
        let merged = match (form, known, wanted) {
            (Form::Leaf, _, wanted) => wanted.clone(),
            // An empty list or map applies nothing, and neither does null, except for a message
            // that is empty already.
            (Form::Message(_), Value::Map(live), Value::Null) if live.is_empty() => Value::Null,
            (_, Value::Map(_) | Value::List(_), Value::Null) => known.clone(),
            (
                Form::Message(_) | Form::Map(..) | Form::Free,
                Value::Map(live),
                Value::Map(config),
            ) => {
                let part = |key: &str, live: Option<&Value>, config: Option<&Value>| {
                    self.value(form.child(self.graph, key), live, config)
                };
                Value::Map(self.map_with(live, config, part))
            }
            (Form::Set | Form::Keyed(..), Value::List(live), Value::List(config)) => {
                Value::List(self.list(form, live, config))
            }
            (_, _, wanted) => wanted.clone(),
        };
        Some(merged)
    }

    /// Walks two sorted maps in one pass.
    fn map_with(
        &self,
        live: &Map,
        config: &Map,
        part: impl Fn(&str, Option<&Value>, Option<&Value>) -> Option<Value>,
    ) -> Map {
        let mut merged = Vec::with_capacity(live.len() + config.len());
        let (mut live, mut config) = (live.iter().peekable(), config.iter().peekable());
        loop {
            let order = match (live.peek(), config.peek()) {
                (None, None) => return Map::from_entries(merged).0,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((live, _)), Some((config, _))) => live.cmp(config),
            };
            let known = if order.is_le() { live.next() } else { None };
            let wanted = if order.is_ge() { config.next() } else { None };
            let Some((key, _)) = known.or(wanted) else {
                continue;
            };
            if let Some(value) =
                part(key, known.map(|(_, value)| value), wanted.map(|(_, value)| value))
            {
                merged.push((key.into(), value));
            }
        }
    }

    fn list(&self, form: Form<'g>, live: &[Value], config: &[Value]) -> Vec<Value> {
        let element = |item: &Value| match form {
            Form::Keyed(inner, keys, _) => keyed_element(self.graph, inner, keys, item),
            _ => Element::value(item),
        };
        let known: Vec<Element> = live.iter().map(element).collect();
        let wanted: Vec<Element> = config.iter().map(element).collect();
        // An element that occurs twice in the live list is replaced, not merged.
        let mut at: HashMap<&Element, Option<usize>> = HashMap::with_capacity(known.len());
        for (index, element) in known.iter().enumerate() {
            at.entry(element).and_modify(|at| *at = None).or_insert(Some(index));
        }
        let inner = form.child(self.graph, "");
        let places = arrange(&known, &wanted).into_iter();
        let merged = places.filter_map(|place| match place {
            ElementSource::Live(index) => Some(live[index].clone()),
            ElementSource::Config(index) => {
                let known = at.get(&wanted[index]).copied().flatten().map(|at| &live[at]);
                self.value(inner, known, Some(&config[index]))
            }
        });
        merged.collect()
    }
}
