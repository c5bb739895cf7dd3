//! Gated fields: fields of features that may be disabled, and of those that this server keeps off.
//! While a feature is disabled, no write sets its fields.
//!
//! Invariant: an object that has such a field from an earlier write keeps it, and may change it.
//!
//! Not here: the gated fields of a kind, which are its strategy's.

use quorate_meta::Value;

use crate::features::{Feature, Gates};

/// The suffix of a list's name that stands for each of its elements.
const EACH: &str = "[]";

/// The gated fields of a kind below one path.
#[derive(Debug, Clone, Copy)]
pub struct GatedFields {
    /// The path of the parent of the fields.
    pub below: &'static str,
    /// The feature of each field, and its path below the parent; `a[].b` is the field `b` of every
    /// element of the list `a`.
    pub fields: &'static [(Feature, &'static str)],
    /// The paths of fields whose features are off whatever an operator sets: gates that are `fixed`
    /// in the table of the release.
    pub off: &'static [&'static str],
}

impl GatedFields {
    /// Removes the fields of disabled features from an object, each unless the old object has it.
    pub fn clear(self, gates: &Gates, old: Option<&Value>, new: &mut Value) {
        let disabled = self.fields.iter().filter(|(feature, _)| !gates.has(*feature));
        for field in disabled.map(|(_, field)| field).chain(self.off) {
            let steps: Vec<&str> = self.below.split('.').chain(field.split('.')).collect();
            if !old.is_some_and(|old| has(old, &steps)) {
                remove(new, &steps);
            }
        }
    }
}

fn has(value: &Value, steps: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return !value.is_null();
    };
    match step.strip_suffix(EACH) {
        Some(list) => {
            let items = value.get(list).and_then(Value::as_list).unwrap_or_default();
            items.iter().any(|item| has(item, rest))
        }
        None => value.get(step).is_some_and(|inner| has(inner, rest)),
    }
}

fn remove(value: &mut Value, steps: &[&str]) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
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
            let gated = GatedFields {
                below: "spec",
                fields: &[(OFF, "soon"), (OFF, "never.soon"), (ON, "now")],
                off: &[],
            };
            gated.clear(&Gates::default(), old.map(Value::from).as_ref(), &mut new);
            assert_eq!(new, expect.into());
        };
        check(None, json!({"spec": {"now": 1}}));
        check(Some(json!({"spec": {"soon": null}})), json!({"spec": {"now": 1}}));
        check(Some(json!({"spec": {"soon": 1}})), json!({"spec": {"soon": 2, "now": 1}}));
    }

    #[test]
    fn what_is_always_off_goes_with_every_gate() {
        let gated = GatedFields { below: "spec", fields: &[], off: &["soon"] };
        let check = |old: Option<Json>, expect: Json| {
            let mut new = Value::from(json!({"spec": {"soon": 1}}));
            let gates = "GenericWorkload=true".parse().unwrap();
            gated.clear(&gates, old.map(Value::from).as_ref(), &mut new);
            assert_eq!(new, expect.into());
        };
        check(None, json!({"spec": {}}));
        check(Some(json!({"spec": {"soon": 2}})), json!({"spec": {"soon": 1}}));
    }

    #[test]
    fn an_element_that_has_one_keeps_it_for_all() {
        let check = |old: Option<Json>, expect: Json| {
            let mut new = Value::from(
                json!({"spec": {"list": [{"in": {"soon": 1}}, {"in": {"now": 1, "soon": 2}}, {}]}}),
            );
            let gated = GatedFields { below: "spec", fields: &[(OFF, "list[].in.soon")], off: &[] };
            gated.clear(&Gates::default(), old.map(Value::from).as_ref(), &mut new);
            assert_eq!(new, json!({"spec": {"list": expect}}).into());
        };
        check(None, json!([{"in": {}}, {"in": {"now": 1}}, {}]));
        check(Some(json!({"spec": {"list": [{}]}})), json!([{"in": {}}, {"in": {"now": 1}}, {}]));
        let had = json!({"spec": {"list": [{}, {"in": {"soon": 3}}]}});
        check(Some(had), json!([{"in": {"soon": 1}}, {"in": {"now": 1, "soon": 2}}, {}]));
    }
}
