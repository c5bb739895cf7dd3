//! Baseline checks of AppArmor, SELinux and seccomp profiles (Pod Security Standards).
//!
//! Invariant: a profile that is not set is the default of the container runtime and is admitted.

use std::collections::BTreeSet;

use quorate_meta::{Value, quoted};

use super::checks::Violation;
use super::pod::{Found, Pod, context, listed, name, plural};

/// Types of profiles that confine a container.
const CONFINING: [&str; 2] = ["RuntimeDefault", "Localhost"];
/// SELinux types of container processes; the last one was allowed later than the others.
const SE_LINUX_TYPES: [&str; 4] =
    ["container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

pub(super) fn app_armor(pod: &Pod<'_>) -> Option<Violation> {
    let found = Found::anywhere(pod, |owner| wrong_profile(owner, "appArmorProfile"));
    let prefix = format!("container.apparmor.security.beta.{}/", pod.domain());
    let confines =
        |value: &str| matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
    let annotations = pod
        .annotations()
        .filter(|(key, value)| key.starts_with(prefix.as_str()) && !confines(value));
    let annotations: BTreeSet<String> =
        annotations.map(|(key, value)| format!("{key}={}", quoted(value))).collect();
    let mut who = vec![found.who()];
    if !annotations.is_empty() {
        who.push(plural(annotations.len(), "annotation", "annotations").to_owned());
    }
    who.retain(|who| !who.is_empty());
    let values: Vec<&str> =
        found.what.iter().copied().chain(annotations.iter().map(String::as_str)).collect();
    let reason = plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles");
    Violation::by(
        &who.join(" and "),
        reason,
        &format!("must not set AppArmor profile type to {}", listed(values)),
    )
}

/// The type of a profile that does not confine.
fn wrong_profile<'v>(owner: &'v Value, profile: &str) -> Vec<&'v str> {
    let kind =
        context(owner, &[profile]).map(|profile| profile.str_at(&["type"]).unwrap_or_default());
    kind.filter(|kind| !CONFINING.contains(kind)).into_iter().collect()
}

/// Violations of SELinux options, in the order of messages.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label<'v> {
    Type(&'v str),
    User,
    Role,
}

pub(super) fn se_linux_1_0(pod: &Pod<'_>) -> Option<Violation> {
    se_linux(pod, &SE_LINUX_TYPES[..3])
}

pub(super) fn se_linux_1_31(pod: &Pod<'_>) -> Option<Violation> {
    se_linux(pod, &SE_LINUX_TYPES)
}

fn se_linux(pod: &Pod<'_>, types: &[&str]) -> Option<Violation> {
    let found = Found::anywhere(pod, |owner| wrong_labels(owner, types));
    let who = found.who();
    let (mut kinds, mut wrong) = (Vec::new(), Vec::new());
    for label in found.what {
        match label {
            Label::Type(kind) => kinds.push(kind),
            Label::User => wrong.push("user may not be set".to_owned()),
            Label::Role => wrong.push("role may not be set".to_owned()),
        }
    }
    if !kinds.is_empty() {
        wrong.insert(0, format!("{} {}", plural(kinds.len(), "type", "types"), listed(kinds)));
    }
    let what = format!("set forbidden securityContext.seLinuxOptions: {}", wrong.join("; "));
    Violation::by(&who, "seLinuxOptions", &what)
}

fn wrong_labels<'v>(owner: &'v Value, types: &[&str]) -> Vec<Label<'v>> {
    let Some(options) = context(owner, &["seLinuxOptions"]) else {
        return Vec::new();
    };
    let is_set = |field: &str| options.get(field).is_some_and(|text| !text.is_empty());
    let kind = options.str_at(&["type"]).filter(|kind| !kind.is_empty() && !types.contains(kind));
    let mut wrong: Vec<Label<'v>> = kind.map(Label::Type).into_iter().collect();
    wrong.extend(is_set("user").then_some(Label::User));
    wrong.extend(is_set("role").then_some(Label::Role));
    wrong
}

/// Profiles in annotations, which older versions of the standard check: there were no fields yet.
pub(super) fn seccomp_annotations(pod: &Pod<'_>) -> Option<Violation> {
    let domain = pod.domain();
    let own = format!("seccomp.security.alpha.{domain}/pod");
    let of_container = |container: &Value| {
        format!("container.seccomp.security.alpha.{domain}/{}", name(container))
    };
    let wrong = |key: String| {
        let value = pod.annotation(&key)?;
        let confines = matches!(value, "runtime/default" | "docker/default")
            || value.starts_with("localhost/");
        (!confines).then(|| format!("{key}={}", quoted(value)))
    };
    let found: BTreeSet<String> =
        pod.containers().map(of_container).chain([own]).filter_map(wrong).collect();
    if found.is_empty() {
        return None;
    }
    let which = plural(found.len(), "annotation", "annotations");
    let found: Vec<String> = found.into_iter().collect();
    Some(Violation {
        reason: "seccompProfile",
        detail: format!("forbidden {which} {}", found.join(", ")),
    })
}

pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let found = Found::anywhere(pod, |owner| wrong_profile(owner, "seccompProfile"));
    let who = found.who();
    let what =
        format!("must not set securityContext.seccompProfile.type to {}", listed(found.what));
    Violation::by(&who, "seccompProfile", &what)
}

/// Whether a seccomp profile is set, by a field or an annotation, valid or not.
pub(super) fn says_seccomp(owner: &Value) -> bool {
    context(owner, &["seccompProfile"]).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::pod::testing::{check, said};
    use super::*;
    use serde_json::{Value as Json, json};

    /// The security contexts of the pod and of containers `a`, `b`, …
    fn spec(own: Json, contexts: &[Json]) -> Json {
        let names = ["a", "b", "c", "d"].iter();
        let containers = names
            .zip(contexts)
            .map(|(name, context)| json!({"name": name, "securityContext": context}));
        json!({"securityContext": own, "containers": containers.collect::<Vec<_>>()})
    }

    #[test]
    fn app_armor_profiles() {
        let (one, many) = ("forbidden AppArmor profile", "forbidden AppArmor profiles");
        let of = |kind: &str| json!({"appArmorProfile": {"type": kind}});
        check(
            app_armor,
            spec(json!({}), &[json!(null), of("RuntimeDefault"), of("Localhost")]),
            "",
            "",
        );
        let what = r#"must not set AppArmor profile type to "Unconfined""#;
        check(app_armor, spec(of("Unconfined"), &[of("Localhost")]), one, &format!("pod {what}"));
        let spec = spec(of("Unconfined"), &[of("Unconfined"), json!({}), of("Unconfined")]);
        check(app_armor, spec.clone(), one, &format!(r#"pod and containers "a", "c" {what}"#));
        let prefix = "container.apparmor.security.beta.svc.io";
        let annotated = |annotations: Json, spec: &Json| {
            said(app_armor, json!({"metadata": {"annotations": annotations}, "spec": spec}))
                .unwrap_or_default()
        };
        let good = json!({format!("{prefix}/a"): "", format!("{prefix}/b"): "runtime/default",
            format!("{prefix}/c"): "localhost/x", "container.apparmor.security.beta.kubernetes.io/d": "unconfined"});
        assert_eq!(annotated(good, &json!({})), ("", String::new()));
        let bad = json!({format!("{prefix}/b"): "unconfined", format!("{prefix}/a"): "odd"});
        let expect = format!(
            r#"annotations must not set AppArmor profile type to "{prefix}/a="odd"", "{prefix}/b="unconfined"""#
        );
        assert_eq!(annotated(bad, &json!({})), (many, expect));
        let expect =
            format!(r#"pod and containers "a", "c" and annotation {what}, "{prefix}/a="odd"""#);
        assert_eq!(annotated(json!({format!("{prefix}/a"): "odd"}), &spec), (many, expect));
    }

    #[test]
    fn se_linux_labels() {
        let of = |options: Json| json!({"seLinuxOptions": options});
        let reason = "seLinuxOptions";
        let known = [
            of(json!({"type": "container_t"})),
            of(json!({"level": "s0"})),
            of(json!({"type": "", "user": ""})),
        ];
        check(se_linux_1_0, spec(of(json!({})), &known), "", "");
        check(se_linux_1_31, spec(of(json!({"type": "container_engine_t"})), &known), "", "");
        let what = "set forbidden securityContext.seLinuxOptions:";
        let engine = spec(of(json!({"type": "container_engine_t"})), &known);
        check(se_linux_1_0, engine, reason, &format!(r#"pod {what} type "container_engine_t""#));
        let user = spec(json!(null), &[of(json!({"user": "u"}))]);
        check(se_linux_1_31, user, reason, &format!(r#"container "a" {what} user may not be set"#));
        let all = spec(
            of(json!({"type": "foo", "role": "r"})),
            &[of(json!({"type": "bar"})), of(json!({})), of(json!({"user": "u"}))],
        );
        let expect = format!(
            r#"pod and containers "a", "c" {what} types "bar", "foo"; user may not be set; role may not be set"#
        );
        check(se_linux_1_31, all, reason, &expect);
    }

    #[test]
    fn seccomp_profiles() {
        let of = |kind: &str| json!({"seccompProfile": {"type": kind}});
        check(
            seccomp,
            spec(json!({}), &[of("Localhost"), of("RuntimeDefault"), json!(null)]),
            "",
            "",
        );
        let what = r#"must not set securityContext.seccompProfile.type to "Unconfined""#;
        let containers = [of("Unconfined"), of("Localhost"), of("Unconfined")];
        check(
            seccomp,
            spec(of("Localhost"), &containers),
            "seccompProfile",
            &format!(r#"containers "a", "c" {what}"#),
        );
        let expect = format!(r#"pod and containers "a", "c" {what}"#);
        check(seccomp, spec(of("Unconfined"), &containers), "seccompProfile", &expect);
        let says = |owner: Json| says_seccomp(&owner.into());
        assert!(
            says(json!({"securityContext": of("Unconfined")}))
                && !says(json!({"securityContext": {}}))
        );
    }

    #[test]
    fn annotations_for_seccomp() {
        let of = |annotations: Json| {
            let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
            said(
                seccomp_annotations,
                json!({"metadata": {"annotations": annotations}, "spec": spec}),
            )
        };
        let (own, prefix) =
            ("seccomp.security.alpha.svc.io/pod", "container.seccomp.security.alpha.svc.io");
        assert_eq!(
            of(
                json!({own: "docker/default", format!("{prefix}/a"): "localhost/x", format!("{prefix}/z"): "odd"})
            ),
            None
        );
        let expect = format!(r#"forbidden annotation {own}="unconfined""#);
        assert_eq!(of(json!({own: "unconfined"})), Some(("seccompProfile", expect)));
        let all = json!({own: "", format!("{prefix}/a"): "odd", format!("{prefix}/b"): "runtime/default"});
        let expect = format!(r#"forbidden annotations {prefix}/a="odd", {own}="""#);
        assert_eq!(of(all), Some(("seccompProfile", expect)));
    }
}
