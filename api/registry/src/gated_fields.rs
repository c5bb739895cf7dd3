//! Fields of features that may be off (feature gates): while a feature is off, nothing comes of its
//! fields, so no write sets them.
//!
//! Invariants: an object that has such a field from elsewhere keeps it, and may change it.

use quorate_meta::Value;

use crate::features::{Feature, Gates};

/// What follows the name of a list where every element of it is meant.
const EACH: &str = "[]";

/// Such fields of a kind.
#[derive(Debug, Clone, Copy)]
pub struct GatedFields {
    /// The path of what has them.
    pub below: &'static str,
    /// The feature of each, and its path from there; `a[].b` is the field `b` of every element of
    /// the list `a`.
    pub fields: &'static [(Feature, &'static str)],
}

impl GatedFields {
    /// Takes the fields of features that are off out of an object, each unless it replaces one that
    /// has it.
    pub fn clear(self, gates: &Gates, old: Option<&Value>, new: &mut Value) {
        for (_, field) in self.fields.iter().filter(|(feature, _)| !gates.has(*feature)) {
            let steps: Vec<&str> = self.below.split('.').chain(field.split('.')).collect();
            if !old.is_some_and(|old| has(old, &steps)) {
                remove(new, &steps);
            }
        }
    }
}

fn has(value: &Value, steps: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return !value.is_null() };
    match step.strip_suffix(EACH) {
        Some(list) => {
            let items = value.get(list).and_then(Value::as_list).unwrap_or_default();
            items.iter().any(|item| has(item, rest))
        }
        None => value.get(step).is_some_and(|inner| has(inner, rest)),
    }
}

fn remove(value: &mut Value, steps: &[&str]) {
    let Some((step, rest)) = steps.split_first() else { return };
    match step.strip_suffix(EACH) {
        Some(list) => {
            let items = value.get_mut(list).and_then(Value::as_list_mut);
            items.into_iter().flatten().for_each(|item| remove(item, rest));
        }
        None if rest.is_empty() => {
            value.remove_at(&[step]);
        }
        None => {
            if let Some(inner) = value.get_mut(step) {
                remove(inner, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    const OFF: Feature = Feature::GenericWorkload;
    const ON: Feature = Feature::ClusterTrustBundle;

    #[test]
    fn new_ones_go_and_old_ones_stay() {
        let check = |old: Option<Json>, expect: Json| {
            let mut new = Value::from(json!({"spec": {"soon": 2, "now": 1}}));
            let gated = GatedFields { below: "spec", fields: &[(OFF, "soon"), (OFF, "never.soon"), (ON, "now")] };
            gated.clear(&Gates::default(), old.map(Value::from).as_ref(), &mut new);
            assert_eq!(new, expect.into());
        };
        check(None, json!({"spec": {"now": 1}}));
        check(Some(json!({"spec": {"soon": null}})), json!({"spec": {"now": 1}}));
        check(Some(json!({"spec": {"soon": 1}})), json!({"spec": {"soon": 2, "now": 1}}));
    }

    #[test]
    fn an_element_that_has_one_keeps_it_for_all() {
        let check = |old: Option<Json>, expect: Json| {
            let mut new =
                Value::from(json!({"spec": {"list": [{"in": {"soon": 1}}, {"in": {"now": 1, "soon": 2}}, {}]}}));
            let gated = GatedFields { below: "spec", fields: &[(OFF, "list[].in.soon")] };
            gated.clear(&Gates::default(), old.map(Value::from).as_ref(), &mut new);
            assert_eq!(new, json!({"spec": {"list": expect}}).into());
        };
        check(None, json!([{"in": {}}, {"in": {"now": 1}}, {}]));
        check(Some(json!({"spec": {"list": [{}]}})), json!([{"in": {}}, {"in": {"now": 1}}, {}]));
        let had = json!({"spec": {"list": [{}, {"in": {"soon": 3}}]}});
        check(Some(had), json!([{"in": {"soon": 1}}, {"in": {"now": 1, "soon": 2}}, {}]));
    }
}
