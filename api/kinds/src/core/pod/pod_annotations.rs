//! Annotations of pods and templates that have a meaning of their own: of mirror pods, the cost of
//! a deletion, tolerations, and AppArmor profiles.
//!
//! Invariant: what admission or the kubelet relied on does not change.

use quorate_meta::{Cause, Map, Names, Path, Value};
use quorate_wire::json;

use super::app_armor;
use super::scheduling::check_tolerations;
use crate::field::Field;

/// The annotation of mirror pods, which represent static pods of a kubelet.
const MIRROR: &str = "config.mirror";

/// Whether a pod is a mirror pod.
pub(super) fn is_mirror(names: &Names, pod: &Value) -> bool {
    pod.at(&["metadata", "annotations", &names.domain_key(MIRROR)]).is_some()
}

/// Checks the annotations beside a specification; `old` are those before a change.
pub(super) fn check(
    names: &Names,
    old: Option<&Value>,
    annotations: &Field<'_>,
    spec: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    let value = |key: &str| annotations.value().str_at(&[key]);
    let mirror = names.domain_key(MIRROR);
    if let Some(text) = value(&mirror).filter(|_| spec.get("nodeName").is_empty()) {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        causes.push(Cause::invalid(annotations.path().key(&mirror), text, why));
    }
    check_toleration_text(names, annotations, causes);
    let cost = format!("controller.{}", names.domain_key("pod-deletion-cost"));
    let was_odd = old.and_then(|old| old.str_at(&[&cost])).is_some_and(|text| !is_cost(text));
    if let Some(text) = value(&cost).filter(|text| !was_odd && !is_cost(text)) {
        let path = annotations.path().key(&cost);
        causes.push(Cause::invalid(path, text, "must be a 32bit integer"));
    }
    app_armor::check(names, annotations, spec, causes);
}

/// Whether a text is the cost of a deletion: a number of 32 bits without a plus sign and leading
/// zeros.
fn is_cost(text: &str) -> bool {
    let begins = text == "0" || text.starts_with(|first| matches!(first, '-' | '1'..='9'));
    begins && text.parse::<i32>().is_ok()
}

/// Checks the tolerations that an annotation has in JSON.
fn check_toleration_text(names: &Names, annotations: &Field<'_>, causes: &mut Vec<Cause>) {
    let key = format!("scheduler.alpha.{}", names.domain_key("tolerations"));
    let Some(text) = annotations.value().str_at(&[&key]).filter(|text| !text.is_empty()) else {
        return;
    };
    let list = json::parse(text.as_bytes()).map_err(|error| error.to_string());
    let list = list.map(|(list, _)| list);
    match list {
        Ok(list) if list.is_null() || is_list_of_maps(&list) => {
            let path = annotations.path().child(&key);
            check_tolerations(&Field::new(&list, path), causes);
        }
        Ok(_) => {
            let why = "must be a list of tolerations";
            causes.push(Cause::invalid(annotations.path(), key, why));
        }
        Err(why) => causes.push(Cause::invalid(annotations.path(), key, &why)),
    }
}

fn is_list_of_maps(value: &Value) -> bool {
    value.as_list().is_some_and(|list| list.iter().all(|item| item.as_map().is_some()))
}

/// Checks a change of the annotations: those that admission relied on are immutable.
pub(super) fn check_change(names: &Names, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (annotations(old), annotations(new));
    let at = |key: &str| Path::new("metadata.annotations").key(key);
    for (key, value) in before.iter().flat_map(|before| before.iter()) {
        let is_same = after.and_then(|after| after.get(key)) == Some(value);
        if let Some(what) = fixed(names, key).filter(|_| !is_same) {
            causes.push(Cause::forbidden(at(key), &format!("may not remove or update {what}")));
        }
    }
    for (key, _) in after.iter().flat_map(|after| after.iter()) {
        let is_known = before.is_some_and(|before| before.contains_key(key));
        if let Some(what) = fixed(names, key).filter(|_| !is_known) {
            causes.push(Cause::forbidden(at(key), &format!("may not add {what}")));
        }
    }
}

fn annotations(pod: &Value) -> Option<&Map> {
    pod.at(&["metadata", "annotations"]).and_then(Value::as_map)
}

/// The name of an immutable annotation in messages.
fn fixed(names: &Names, key: &str) -> Option<&'static str> {
    if app_armor::container_of(names, key).is_some() {
        return Some("AppArmor annotations");
    }
    (key == names.domain_key(MIRROR)).then_some("mirror pod annotation")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn annotations_with_a_meaning() {
        let run = |old: Option<&str>, key: &str, text: &str, expect: &[&str]| {
            let object = Value::from(json!({"a": {key: text}, "spec": {}}));
            let old = old.map(|text| Value::from(json!({key: text})));
            let (root, mut causes) = (Field::root(&object), Vec::new());
            let names = Naming::Kubernetes.names();
            check(names, old.as_ref(), &root.get("a"), &root.get("spec"), &mut causes);
            assert_eq!(shown(&causes), expect, "{text}");
        };
        let cost = "controller.kubernetes.io/pod-deletion-cost";
        let odd = format!("Invalid a[{cost}]");
        for good in ["0", "-5", "10", "2147483647"] {
            run(None, cost, good, &[]);
        }
        for bad in ["", "+10", "008", "x", "2147483648", "-", "1.5"] {
            run(None, cost, bad, &[&odd]);
        }
        run(Some("x"), cost, "y", &[]);
        run(Some("1"), cost, "y", &[&odd]);
        let tolerations = "scheduler.alpha.kubernetes.io/tolerations";
        for good in ["", "[]", "null", r#"[{"key": "k", "value": "v"}]"#] {
            run(None, tolerations, good, &[]);
        }
        for bad in ["x", "{}", "[1]"] {
            run(None, tolerations, bad, &["Invalid a"]);
        }
        let key = format!("Invalid a.{tolerations}[0].operator");
        run(None, tolerations, r#"[{"operator": "Equal"}]"#, &[&key]);
        let mirror = "kubernetes.io/config.mirror";
        run(None, mirror, "x", &[&format!("Invalid a[{mirror}]")]);
        run(None, "other.io/config.mirror", "x", &[]);
    }

    #[test]
    fn annotations_that_stay() {
        let check = |before: Json, after: Json, expect: &[&str]| {
            let [old, new] =
                [before, after].map(|of| Value::from(json!({"metadata": {"annotations": of}})));
            let mut causes = Vec::new();
            check_change(Naming::Svc.names(), &old, &new, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let profile = "container.apparmor.security.beta.svc.io/c";
        let forbidden = format!("Forbidden metadata.annotations[{profile}]");
        check(json!({profile: "a", "b": "c"}), json!({profile: "a", "b": "d", "e": "f"}), &[]);
        check(json!({profile: "a"}), json!({profile: "b"}), &[&forbidden]);
        check(json!({profile: "a"}), json!(null), &[&forbidden]);
        check(json!({}), json!({profile: "unconfined"}), &[&forbidden]);
        let mirror = "Forbidden metadata.annotations[svc.io/config.mirror]";
        check(json!(null), json!({"svc.io/config.mirror": "x"}), &[mirror]);
        let other = "container.apparmor.security.beta.kubernetes.io/c";
        check(json!({}), json!({other: "x", "example.com/config.mirror": "x"}), &[]);
    }
}
