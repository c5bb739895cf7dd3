//! RuntimeClass: the overhead (KEP-688) and the scheduling constraints that a new pod takes from
//! the class that it names.
//!
//! Invariants: a pod has the overhead of its class and no other; its node selector may narrow that
//! of the class and not contradict it; it has the tolerations of the class besides its own.
//!
//! Not here: the handler of the class, which is the kubelet's.

mod tolerations;

use quorate_meta::{Map, Quantity, Value, quoted};

use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Terms};

const OTHER_OVERHEAD: &str =
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const NO_OVERHEAD: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// The plugin that sets the overhead and scheduling constraints of the class in pods.
pub(super) struct RuntimeClass;

impl Plugin for RuntimeClass {
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        let Some(class) = class_of(view, attributes, object)? else {
            return Ok(());
        };
        take_overhead(&class, object).map_err(|why| forbidden(attributes, why))?;
        let Some(scheduling) = given(&class, &["scheduling"]) else {
            return Ok(());
        };
        // The default tolerations of every pod come before those of the class. The kind adds them,
        // and not twice.
        attributes.target.resource.strategy.prepare_create(view.names, object);
        take_scheduling(scheduling, object).map_err(|why| forbidden(attributes, &why))
    }

    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        _: &mut Terms,
    ) -> Result<(), Error> {
        let class = class_of(view, attributes, new)?;
        match wrong_overhead(class.as_ref(), new) {
            Some(why) => Err(forbidden(attributes, why)),
            None => Ok(()),
        }
    }
}

/// The class that a pod names; `None` when it names none.
fn class_of(
    view: &SnapshotView<'_>,
    attributes: &Attributes<'_>,
    pod: &Value,
) -> Result<Option<Value>, Error> {
    let Some(name) = pod.str_at(&["spec", "runtimeClassName"]) else {
        return Ok(None);
    };
    let class = match view.resource("node", "v1", "runtimeclasses") {
        Some(resource) => view.get(resource, None, name)?,
        None => None,
    };
    let missing =
        || forbidden(attributes, &format!("pod rejected: RuntimeClass {} not found", quoted(name)));
    class.ok_or_else(missing).map(Some)
}

/// A field that is set, an empty one included.
fn given<'v>(object: &'v Value, path: &[&str]) -> Option<&'v Value> {
    object.at(path).filter(|value| !value.is_null())
}

/// Whether both are the same amounts of the same resources.
fn same_amounts(one: Option<&Value>, other: Option<&Value>) -> bool {
    let nothing = Map::new();
    let [one, other] =
        [one, other].map(|amounts| amounts.and_then(Value::as_map).unwrap_or(&nothing));
    let amount = |text: &Value| text.as_str().and_then(Quantity::parse);
    let mut pairs = one.iter().zip(other.iter());
    one.len() == other.len()
        && pairs.all(|((name, own), (like, its))| name == like && amount(own) == amount(its))
}

/// Sets the overhead of the class in a pod.
fn take_overhead(class: &Value, pod: &mut Value) -> Result<(), &'static str> {
    let Some(overhead) = given(class, &["overhead"]) else {
        return Ok(());
    };
    let fixed = given(overhead, &["podFixed"]);
    let own = given(pod, &["spec", "overhead"]);
    if own.is_some() && !same_amounts(own, fixed) {
        return Err(OTHER_OVERHEAD);
    }
    if let Some(fixed) = fixed {
        pod.set_at(&["spec", "overhead"], fixed.clone());
    }
    Ok(())
}

/// What is wrong with the overhead of a pod of this class, or of none.
fn wrong_overhead(class: Option<&Value>, pod: &Value) -> Option<&'static str> {
    let own = given(pod, &["spec", "overhead"]);
    match class.and_then(|class| given(class, &["overhead"])) {
        Some(overhead) => {
            (!same_amounts(own, given(overhead, &["podFixed"]))).then_some(OTHER_OVERHEAD)
        }
        None => own.map(|_| NO_OVERHEAD),
    }
}

/// Merges the scheduling constraints of the class into a pod.
fn take_scheduling(scheduling: &Value, pod: &mut Value) -> Result<(), String> {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_map_mut) else {
        return Ok(());
    };
    let nodes =
        scheduling.get("nodeSelector").and_then(Value::as_map).filter(|nodes| !nodes.is_empty());
    if let Some(nodes) = nodes
        && let Some(selector) = spec.map_mut("nodeSelector")
    {
        selector.merge_with(nodes.clone(), |key, own, of_class| match own {
            Some(own) if own != of_class => Err(conflict(key, &of_class, &own)),
            _ => Ok(Some(of_class)),
        })?;
    }
    let list = |value: Option<&Value>| value.and_then(Value::as_list).unwrap_or_default().to_vec();
    let mut all = list(spec.get("tolerations"));
    all.extend(list(scheduling.get("tolerations")));
    if !all.is_empty() {
        spec.insert("tolerations", tolerations::merged(all));
    }
    Ok(())
}

fn conflict(key: &str, of_class: &Value, own: &Value) -> String {
    let [of_class, own] = [of_class, own].map(|value| value.as_str().unwrap_or_default());
    format!(
        "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {of_class}; pod.spec.nodeSelector[{key}] = {own}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn pod(overhead: Json) -> Value {
        json!({"spec": {"overhead": overhead}}).into()
    }

    #[test]
    fn overhead() {
        let class = |overhead: Json| Value::from(json!({"overhead": overhead}));
        let check = |class: Value, own: Json, expect: Result<Json, &str>| {
            let mut taken = pod(own.clone());
            let done = take_overhead(&class, &mut taken);
            assert_eq!(done.map(|()| taken), expect.map(pod), "{own}");
        };
        let fixed = || json!({"podFixed": {"cpu": "250m"}});
        check(class(json!(null)), json!({"cpu": "1"}), Ok(json!({"cpu": "1"})));
        check(class(fixed()), json!(null), Ok(json!({"cpu": "250m"})));
        check(class(fixed()), json!({"cpu": "0.25"}), Ok(json!({"cpu": "250m"})));
        check(class(json!({})), json!(null), Ok(json!(null)));
        for other in [
            json!({"cpu": "1"}),
            json!({}),
            json!({"cpu": "250m", "memory": "1"}),
            json!({"memory": "250m"}),
        ] {
            check(class(fixed()), other, Err(OTHER_OVERHEAD));
        }
    }

    #[test]
    fn overhead_that_comes_from_elsewhere() {
        let class = |overhead: Json| Some(Value::from(json!({"overhead": overhead})));
        let check = |class: Option<Value>, own: Json, expect: Option<&str>| {
            assert_eq!(wrong_overhead(class.as_ref(), &pod(own)), expect);
        };
        let fixed = || json!({"podFixed": {"cpu": "1"}});
        check(None, json!(null), None);
        check(None, json!({"cpu": "1"}), Some(NO_OVERHEAD));
        check(class(json!(null)), json!({"cpu": "1"}), Some(NO_OVERHEAD));
        check(class(fixed()), json!({"cpu": "1000m"}), None);
        check(class(fixed()), json!(null), Some(OTHER_OVERHEAD));
        check(class(json!({})), json!(null), None);
    }

    #[test]
    fn where_it_may_run() {
        let check = |scheduling: Json, spec: Json, expect: Result<Json, &str>| {
            let mut placed = Value::from(json!({ "spec": spec }));
            let done = take_scheduling(&scheduling.into(), &mut placed);
            let expect =
                expect.map(|spec| Value::from(json!({ "spec": spec }))).map_err(str::to_owned);
            assert_eq!(done.map(|()| placed), expect);
        };
        let nodes = |value: &str| json!({"nodeSelector": {"kind": value}});
        check(json!({}), json!({}), Ok(json!({})));
        check(nodes("x"), json!({}), Ok(nodes("x")));
        check(nodes("x"), nodes("x"), Ok(nodes("x")));
        let both = json!({"nodeSelector": {"disk": "ssd", "kind": "x"}});
        check(nodes("x"), json!({"nodeSelector": {"disk": "ssd"}}), Ok(both));
        let why = "conflict: runtimeClass.scheduling.nodeSelector[kind] = x; pod.spec.nodeSelector[kind] = y";
        check(nodes("x"), nodes("y"), Err(why));
        let tolerates = |keys: &[&str]| {
            let each: Vec<Json> =
                keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect();
            json!({ "tolerations": each })
        };
        check(tolerates(&["a", "b"]), tolerates(&["c", "a"]), Ok(tolerates(&["c", "a", "b"])));
        check(tolerates(&["a"]), json!({}), Ok(tolerates(&["a"])));
    }
}
