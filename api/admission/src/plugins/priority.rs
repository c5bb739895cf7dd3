//! Pod priority and preemption policy: a new pod gets those of its PriorityClass, and at most one
//! class is the global default.
//!
//! Invariants: `spec.priority` is the value of the class; a pod that sets another one is refused.
//! Two classes may be marked as the global default at the same moment; then the one of the lower
//! value is used.
//!
//! Not here: preemption, which is the scheduler's.

use memchr::memmem;
use quorate_meta::{Map, Value};

use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Terms, stored_codec};

/// `globalDefault: true` in the stored form of a class.
const MARK: &[u8] = br#""globalDefault":true"#;
/// The priority of pods when no class is the global default.
const NO_CLASS: i64 = 0;
/// The preemption policy when a class sets none.
const NO_CLASS_POLICY: &str = "PreemptLowerPriority";

/// The plugin that sets the priority of pods.
pub(super) struct Priority;

impl Plugin for Priority {
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        let Some(spec) = object.get_mut("spec").and_then(Value::as_map_mut) else {
            return Ok(());
        };
        let class = match spec.get_str("priorityClassName").filter(|name| !name.is_empty()) {
            Some(name) => {
                let missing = || {
                    forbidden(attributes, &format!("no PriorityClass with name {name} was found"))
                };
                Some(class(view, name)?.ok_or_else(missing)?)
            }
            None => default_class(view),
        };
        rank(spec, class.as_ref()).map_err(|why| forbidden(attributes, &why))
    }

    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        _: &mut Terms,
    ) -> Result<(), Error> {
        if !is_default(new) {
            return Ok(());
        }
        let Some(other) = default_class(view) else {
            return Ok(());
        };
        let name = other.str_at(&["metadata", "name"]).unwrap_or_default();
        if attributes.old.is_some() && name == attributes.target.name {
            return Ok(());
        }
        let why = format!(
            "PriorityClass {name} is already marked as default. Only one default can exist"
        );
        Err(forbidden(attributes, &why))
    }
}

fn class(view: &SnapshotView<'_>, name: &str) -> Result<Option<Value>, Error> {
    match view.resource("scheduling", "v1", "priorityclasses") {
        Some(resource) => view.get(resource, None, name),
        None => Ok(None),
    }
}

/// The global default class. A class that cannot be read is skipped.
fn default_class(view: &SnapshotView<'_>) -> Option<Value> {
    let resource = view.resource("scheduling", "v1", "priorityclasses")?;
    // Asked for every new pod without a class, so classes that are not marked are not parsed.
    let marked =
        view.list(resource, None).filter(|(_, entry)| memmem::find(&entry.value, MARK).is_some());
    lowest(marked.filter_map(|(_, entry)| stored_codec::decode(resource, entry).ok()))
}

fn is_default(class: &Value) -> bool {
    class.at(&["globalDefault"]).and_then(Value::as_bool) == Some(true)
}

/// The marked class of the lowest value, the first one where several have it.
fn lowest(classes: impl Iterator<Item = Value>) -> Option<Value> {
    classes.filter(is_default).min_by_key(value)
}

fn value(class: &Value) -> i64 {
    class.at(&["value"]).and_then(Value::as_i64).unwrap_or_default()
}

/// Sets the priority and preemption policy of the class in a pod; an error when the pod sets
/// others.
fn rank(spec: &mut Map, class: Option<&Value>) -> Result<(), String> {
    let (priority, policy) = match class {
        Some(class) => (value(class), class.str_at(&["preemptionPolicy"])),
        None => (NO_CLASS, Some(NO_CLASS_POLICY)),
    };
    let wrong = |what: &str, own: &str, expect: &str| {
        format!(
            "the {what} ({own}) must not be provided in pod spec; \
             priority admission controller computed {expect} from the given PriorityClass name"
        )
    };
    if let Some(own) = spec.get("priority").and_then(Value::as_i64).filter(|own| *own != priority) {
        return Err(wrong("integer value of priority", &own.to_string(), &priority.to_string()));
    }
    if let (Some(own), Some(policy)) = (spec.get_str("preemptionPolicy"), policy)
        && own != policy
    {
        return Err(wrong("string value of PreemptionPolicy", own, policy));
    }
    if let Some(name) = class.and_then(|class| class.str_at(&["metadata", "name"])) {
        spec.insert("priorityClassName", name);
    }
    spec.insert("priority", priority);
    if let Some(policy) = policy {
        spec.insert("preemptionPolicy", policy);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn pods_are_ranked_by_their_class() {
        let class =
            || Some(json!({"metadata": {"name": "c"}, "value": 4000, "preemptionPolicy": "Never"}));
        let check = |spec: Json, class: Option<Json>, expect: Result<Json, &str>| {
            let mut ranked = Value::from(spec);
            let done = rank(ranked.as_map_mut().unwrap(), class.map(Value::from).as_ref());
            match expect {
                Ok(expect) => assert_eq!((done, ranked), (Ok(()), expect.into())),
                Err(expect) => {
                    assert!(done.as_ref().is_err_and(|why| why.starts_with(expect)), "{done:?}")
                }
            }
        };
        let plain = || Ok(json!({"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}));
        let never =
            || Ok(json!({"priorityClassName": "c", "priority": 4000, "preemptionPolicy": "Never"}));
        check(json!({}), None, plain());
        check(json!({"priority": 0}), None, plain());
        check(json!({}), class(), never());
        check(
            json!({"priorityClassName": "c", "priority": 4000, "preemptionPolicy": "Never"}),
            class(),
            never(),
        );
        check(
            json!({"priority": 7}),
            None,
            Err("the integer value of priority (7) must not be provided"),
        );
        check(
            json!({"preemptionPolicy": "Never"}),
            None,
            Err("the string value of PreemptionPolicy (Never) must not"),
        );
        check(
            json!({"preemptionPolicy": "PreemptLowerPriority"}),
            class(),
            Err("the string value of PreemptionPolicy"),
        );
        // A class without a preemption policy leaves the policy to the pod.
        let silent = json!({"metadata": {"name": "s"}, "value": 1});
        let expect = json!({"priorityClassName": "s", "priority": 1, "preemptionPolicy": "Never"});
        check(json!({"preemptionPolicy": "Never"}), Some(silent), Ok(expect));
    }

    #[test]
    fn the_default_class() {
        let check = |classes: &[(&str, i64, bool)], expect: Option<&str>| {
            let classes = classes.iter().map(|(name, value, marked)| {
                Value::from(
                    json!({"metadata": {"name": name}, "value": value, "globalDefault": marked}),
                )
            });
            let found = lowest(classes);
            assert_eq!(
                found.as_ref().and_then(|class| class.str_at(&["metadata", "name"])),
                expect
            );
        };
        check(&[], None);
        check(&[("a", 1, false)], None);
        check(&[("a", 1, false), ("b", 9, true), ("c", 5, true), ("d", 5, true)], Some("c"));
    }
}
