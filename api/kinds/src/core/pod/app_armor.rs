//! AppArmor profiles of containers (KEP-24): the fields of security contexts, and the annotations
//! that they have replaced.
//!
//! Invariant: in a new pod of a system with AppArmor the field and the annotation of a container
//! say the same.
//!
//! Not here: the rules for the fields alone, which are in `security`.

use quorate_meta::{Cause, Map, Names, Value};

use super::defaults::CONTAINERS;
use crate::field::Field;

/// The beginning of the annotations' keys, before the profile's domain.
const BEGIN: &str = "container.apparmor.security.beta.";
const UNCONFINED: &str = "unconfined";
const RUNTIME_DEFAULT: &str = "runtime/default";
const LOCALHOST: &str = "localhost/";
const PROFILE: [&str; 2] = ["securityContext", "appArmorProfile"];
/// Why an annotation has a warning.
pub(super) const DEPRECATED: &str =
    "deprecated since v1.30; use the \"appArmorProfile\" field instead";

/// The key of a container's annotation.
pub(super) fn key(names: &Names, container: &str) -> String {
    format!("{BEGIN}{}", names.domain_key(container))
}

/// The container whose annotation this is; `None` for other annotations.
pub(super) fn container_of<'k>(names: &Names, key: &'k str) -> Option<&'k str> {
    key.strip_prefix(BEGIN)?.strip_prefix(names.domain)?.strip_prefix('/')
}

/// A profile as its annotation says it; `None` for one that no annotation can say.
pub(super) fn annotation(profile: &Field<'_>) -> Option<String> {
    let local = profile.get("localhostProfile");
    match profile.get("type").text() {
        "Unconfined" => Some(UNCONFINED.to_owned()),
        "RuntimeDefault" => Some(RUNTIME_DEFAULT.to_owned()),
        "Localhost" if local.is_set() => Some(format!("{LOCALHOST}{}", local.text())),
        _ => None,
    }
}

/// The profile that an annotation says; `None` where no field can say it.
fn profile(annotation: &str) -> Option<Map> {
    let of = |kind: &str| Map::from([("type", Value::from(kind))]);
    match annotation {
        UNCONFINED => Some(of("Unconfined")),
        RUNTIME_DEFAULT => Some(of("RuntimeDefault")),
        _ => {
            let local = annotation.strip_prefix(LOCALHOST)?;
            let mut profile = of("Localhost");
            profile.insert("localhostProfile", local);
            (!local.is_empty() && local.trim() == local).then_some(profile)
        }
    }
}

/// Whether the pod is of a system that has no AppArmor.
fn is_elsewhere(pod: &Value) -> bool {
    pod.str_at(&["spec", "os", "name"]) == Some("windows")
}

/// What becomes of a container's annotation and field.
enum Sync {
    /// The annotation is set to this text.
    Annotate(String),
    /// The field is set to this profile.
    Fill(Map),
    /// The annotation says nothing that a field could say.
    Unreadable,
}

fn sync(names: &Names, pod: &Value, container: &Value) -> Option<Sync> {
    let root = Field::root(pod);
    let whole = root.get("spec.securityContext.appArmorProfile");
    let own = Field::root(container).get("securityContext.appArmorProfile");
    let key = key(names, container.str_at(&["name"]).unwrap_or_default());
    match pod.str_at(&["metadata", "annotations", &key]) {
        None => annotation(if own.is_set() { &own } else { &whole }).map(Sync::Annotate),
        Some(_) if own.is_set() => None,
        Some(text) => match profile(text) {
            None => Some(Sync::Unreadable),
            Some(profile) if Some(&profile) == whole.value().as_map() => None,
            Some(profile) => Some(Sync::Fill(profile)),
        },
    }
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    CONTAINERS.iter().flat_map(|list| {
        pod.at(&["spec", list]).and_then(Value::as_list).unwrap_or_default().iter()
    })
}

/// Warnings about the annotations of a new pod that no field repeats.
pub(super) fn warnings(names: &Names, pod: &Value) -> Vec<String> {
    if is_elsewhere(pod) {
        return Vec::new();
    }
    let found = containers(pod).filter_map(|container| match sync(names, pod, container)? {
        Sync::Annotate(_) => None,
        Sync::Fill(_) | Sync::Unreadable => {
            let key = key(names, container.str_at(&["name"]).unwrap_or_default());
            Some(format!("metadata.annotations[{key}]: {DEPRECATED}"))
        }
    });
    found.collect()
}

/// Sets the annotation or the field of each container of a new pod, whichever is missing.
pub(super) fn align(names: &Names, pod: &mut Value) {
    if is_elsewhere(pod) {
        return;
    }
    for list in CONTAINERS {
        let count = pod.at(&["spec", list]).and_then(Value::as_list).map_or(0, <[Value]>::len);
        for index in 0..count {
            align_one(names, pod, list, index);
        }
    }
}

fn align_one(names: &Names, pod: &mut Value, list: &str, index: usize) {
    let at = |pod: &Value| pod.at(&["spec", list]).and_then(Value::as_list)?.get(index).cloned();
    let Some(container) = at(pod) else {
        return;
    };
    match sync(names, pod, &container) {
        Some(Sync::Annotate(text)) => {
            let key = key(names, container.str_at(&["name"]).unwrap_or_default());
            pod.set_at(&["metadata", "annotations", &key], text);
        }
        Some(Sync::Fill(profile)) => {
            let all = pod.at_mut(&["spec", list]).and_then(Value::as_list_mut);
            if let Some(container) = all.and_then(|all| all.get_mut(index)) {
                container.set_at(&PROFILE, profile);
            }
        }
        Some(Sync::Unreadable) | None => {}
    }
}

/// Checks the annotations beside a specification: each is of a container and has a known form.
pub(super) fn check(
    names: &Names,
    annotations: &Field<'_>,
    spec: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    for (key, field) in annotations.entries() {
        let Some(container) = container_of(names, key) else {
            continue;
        };
        let lists = CONTAINERS.map(|list| spec.get(list));
        let mut all = lists.iter().flat_map(Field::items);
        if !all.any(|one| one.get("name").text() == container) {
            causes.push(Cause::invalid(field.path(), container, "container not found"));
        }
        let text = field.text();
        let known = matches!(text, "" | UNCONFINED | RUNTIME_DEFAULT);
        if !known && !text.starts_with(LOCALHOST) {
            causes.push(field.invalid(&format!("invalid AppArmor profile name: {text:?}")));
        }
    }
}

/// Checks that the fields of a new pod say what the annotations say.
pub(super) fn check_agreement(names: &Names, pod: &Value, causes: &mut Vec<Cause>) {
    if is_elsewhere(pod) {
        return;
    }
    let spec = Field::root(pod).get("spec");
    let whole = spec.get("securityContext.appArmorProfile");
    for list in CONTAINERS {
        for container in spec.get(list).items() {
            let own = container.get("securityContext.appArmorProfile");
            let key = key(names, container.get("name").text());
            let profile = if own.is_set() { &own } else { &whole };
            let Some(text) = pod.str_at(&["metadata", "annotations", &key]) else {
                continue;
            };
            let (kind, local) = (profile.get("type").text(), profile.get("localhostProfile"));
            let agrees = match kind {
                "Unconfined" => text == UNCONFINED,
                "RuntimeDefault" => text == RUNTIME_DEFAULT,
                "Localhost" => text.starts_with(LOCALHOST),
                _ => true,
            };
            // The path is that of the container, also where its pod has the profile.
            if !agrees {
                let why = "apparmor type in annotation and field must match";
                causes.push(Cause::forbidden(own.path().child("type"), why));
            } else if kind == "Localhost" && text.strip_prefix(LOCALHOST) != Some(local.text()) {
                let why = "apparmor profile in annotation and field must match";
                causes.push(Cause::forbidden(own.path().child("localhostProfile"), why));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    const KEY: &str = "container.apparmor.security.beta.kubernetes.io/c";

    fn profile(kind: &str) -> Json {
        json!({"appArmorProfile": {"type": kind}})
    }

    fn pod(annotation: Option<&str>, pod: Json, container: Json) -> Value {
        let annotations = annotation.map_or(json!({}), |text| json!({ KEY: text }));
        let containers = json!([{"name": "c", "securityContext": container}]);
        json!({"metadata": {"annotations": annotations},
            "spec": {"containers": containers, "securityContext": pod}})
        .into()
    }

    #[test]
    fn annotations_and_fields_say_the_same() {
        let names = Naming::Kubernetes.names();
        let check = |given: Value, expect: Value, warned: usize| {
            let mut aligned = given.clone();
            align(names, &mut aligned);
            assert_eq!(aligned, expect);
            assert_eq!(warnings(names, &given).len(), warned, "{given:?}");
        };
        let none = || json!({});
        let both = |text: &str, kind: &str| pod(Some(text), none(), profile(kind));
        let default = RUNTIME_DEFAULT;
        check(pod(Some(default), none(), none()), both(default, "RuntimeDefault"), 1);
        check(pod(None, none(), profile("Unconfined")), both(UNCONFINED, "Unconfined"), 0);
        check(both(default, "RuntimeDefault"), both(default, "RuntimeDefault"), 0);
        let of_pod = || profile("RuntimeDefault");
        check(pod(None, of_pod(), none()), pod(Some(default), of_pod(), none()), 0);
        check(pod(Some(default), of_pod(), none()), pod(Some(default), of_pod(), none()), 0);
        let own = pod(Some(UNCONFINED), of_pod(), profile("Unconfined"));
        check(pod(Some(UNCONFINED), of_pod(), none()), own, 1);
        let local = json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": "p"}});
        check(pod(Some("localhost/p"), none(), none()), pod(Some("localhost/p"), none(), local), 1);
        for unreadable in ["odd", "localhost/", ""] {
            check(pod(Some(unreadable), none(), none()), pod(Some(unreadable), none(), none()), 1);
        }
        check(pod(None, none(), none()), pod(None, none(), none()), 0);
        let mut windows = pod(Some(default), none(), none());
        windows.set_at(&["spec", "os", "name"], "windows");
        check(windows.clone(), windows, 0);
    }

    #[test]
    fn bad_annotations() {
        let names = Naming::Kubernetes.names();
        let run = |pod: Value, expect: &[&str]| {
            let (root, mut causes) = (Field::root(&pod), Vec::new());
            let annotations = root.get("metadata.annotations");
            check(names, &annotations, &root.get("spec"), &mut causes);
            check_agreement(names, &pod, &mut causes);
            assert_eq!(shown(&causes), expect, "{pod:?}");
        };
        let none = || json!({});
        let annotation = format!("Invalid metadata.annotations[{KEY}]");
        let field = "spec.containers[0].securityContext.appArmorProfile";
        for good in ["", UNCONFINED, RUNTIME_DEFAULT, "localhost/p"] {
            run(pod(Some(good), none(), none()), &[]);
        }
        run(pod(Some("odd"), none(), none()), &[&annotation]);
        let mut unknown = pod(Some(UNCONFINED), none(), none());
        unknown.set_at(&["spec", "containers"], Value::from(json!([{"name": "d"}])));
        run(unknown, &[&annotation]);
        let kind = format!("Forbidden {field}.type");
        run(pod(Some(UNCONFINED), none(), profile("RuntimeDefault")), &[&kind]);
        run(pod(Some(UNCONFINED), profile("RuntimeDefault"), none()), &[&kind]);
        let local = |name: &str| json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": name}});
        run(pod(Some("localhost/p"), none(), local("p")), &[]);
        run(
            pod(Some("localhost/p"), none(), local("q")),
            &[&format!("Forbidden {field}.localhostProfile")],
        );
    }
}
