//! Restricted checks of the Pod Security Standards, besides those of the baseline.
//!
//! Invariant: a value in the pod's security context holds for each container that sets none itself.

use quorate_meta::Value;

use super::checks::Violation;
use super::pod::{Pod, context, field, flag, items, listed, name, plural, who};
use super::{baseline, profiles};

/// Volume types that are allowed.
const SOURCES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
    "image",
];
/// Volume types that are forbidden, which messages name.
const OTHER_SOURCES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

pub(super) fn privilege_escalation(pod: &Pod<'_>) -> Option<Violation> {
    let found = pod
        .containers_that(|container| flag(container, &["allowPrivilegeEscalation"]) != Some(false));
    let what = "must set securityContext.allowPrivilegeEscalation=false";
    Violation::by(&who(false, &found), "allowPrivilegeEscalation != false", what)
}

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    let keeps_some = |container: &Value| {
        let dropped = context(container, &["capabilities"])
            .map(|lists| items(lists, &["drop"]))
            .unwrap_or_default();
        !dropped.iter().any(|name| name.as_str() == Some("ALL"))
    };
    let keep_some = who(false, &pod.containers_that(keeps_some));
    let mut wrong = Vec::new();
    if !keep_some.is_empty() {
        wrong.push(format!("{keep_some} must set securityContext.capabilities.drop=[\"ALL\"]"));
    }
    wrong.extend(baseline::capabilities_beyond(pod, &["NET_BIND_SERVICE"]));
    (!wrong.is_empty())
        .then(|| Violation { reason: "unrestricted capabilities", detail: wrong.join("; ") })
}

pub(super) fn volumes(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = items(pod.spec, &["volumes"]);
    let wrong: Vec<(&str, &str)> =
        volumes.iter().filter_map(|volume| Some((name(volume), other_source(volume)?))).collect();
    if wrong.is_empty() {
        return None;
    }
    let names: Vec<&str> = wrong.iter().map(|(name, _)| *name).collect();
    let mut sources: Vec<&str> = wrong.iter().map(|(_, source)| *source).collect();
    sources.sort_unstable();
    sources.dedup();
    let (which, uses) =
        (plural(names.len(), "volume", "volumes"), plural(names.len(), "uses", "use"));
    let kinds = plural(sources.len(), "restricted volume type", "restricted volume types");
    let detail = format!("{which} {} {uses} {kinds} {}", listed(names), listed(sources));
    Some(Violation { reason: "restricted volume types", detail })
}

/// The forbidden type of a volume.
fn other_source(volume: &Value) -> Option<&'static str> {
    let comes_from = |source: &&str| field(volume, &[*source]).is_some();
    if SOURCES.iter().any(comes_from) {
        return None;
    }
    Some(OTHER_SOURCES.into_iter().find(comes_from).unwrap_or("unknown"))
}

pub(super) fn run_as_non_root(pod: &Pod<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    let says = |owner: &Value| flag(owner, &["runAsNonRoot"]);
    let own = says(pod.spec);
    let wrong =
        who(own == Some(false), &pod.containers_that(|container| says(container) == Some(false)));
    if !wrong.is_empty() {
        return Violation::by(&wrong, REASON, "must not set securityContext.runAsNonRoot=false");
    }
    let silent = pod.containers_that(|container| own.is_none() && says(container).is_none());
    must_set(&silent, REASON, "must set securityContext.runAsNonRoot=true")
}

pub(super) fn run_as_user(pod: &Pod<'_>) -> Option<Violation> {
    let is_root = |owner: &Value| context(owner, &["runAsUser"]).and_then(Value::as_i64) == Some(0);
    let found = who(is_root(pod.spec), &pod.containers_that(is_root));
    Violation::by(&found, "runAsUser=0", "must not set runAsUser=0")
}

pub(super) fn seccomp(pod: &Pod<'_>) -> Option<Violation> {
    let wrong = profiles::seccomp(pod);
    if wrong.is_some() {
        return wrong;
    }
    let own = profiles::says_seccomp(pod.spec);
    let silent = pod.containers_that(|container| !own && !profiles::says_seccomp(container));
    let what =
        "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
    must_set(&silent, "seccompProfile", what)
}

/// A violation by containers that do not set a field that the pod does not set either.
fn must_set(containers: &[&str], reason: &'static str, what: &str) -> Option<Violation> {
    let silent = who(false, containers);
    if silent.is_empty() { None } else { Violation::by(&format!("pod or {silent}"), reason, what) }
}

#[cfg(test)]
mod tests {
    use super::super::pod::testing::check;
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
    fn escalation_of_privileges() {
        let of = |allowed: Json| json!({"allowPrivilegeEscalation": allowed});
        check(privilege_escalation, spec(json!(null), &[of(json!(false))]), "", "");
        let contexts = [json!(null), json!({}), of(json!(true)), of(json!(false))];
        let expect =
            r#"containers "a", "b", "c" must set securityContext.allowPrivilegeEscalation=false"#;
        check(
            privilege_escalation,
            spec(of(json!(false)), &contexts),
            "allowPrivilegeEscalation != false",
            expect,
        );
    }

    #[test]
    fn capabilities_that_are_kept_or_added() {
        let of = |add: Json, drop: Json| json!({"capabilities": {"add": add, "drop": drop}});
        let reason = "unrestricted capabilities";
        let good = of(json!(["NET_BIND_SERVICE"]), json!(["NET_RAW", "ALL"]));
        check(
            capabilities,
            spec(json!(null), &[good.clone(), of(json!(null), json!(["ALL"]))]),
            "",
            "",
        );
        let keep = r#"containers "a", "c" must set securityContext.capabilities.drop=["ALL"]"#;
        let silent = [json!(null), good.clone(), of(json!(null), json!(["all"]))];
        check(capabilities, spec(json!(null), &silent), reason, keep);
        let add = r#"must not include "CHOWN", "FOO" in securityContext.capabilities.add"#;
        let added = [good, of(json!(["FOO", "CHOWN"]), json!(["ALL"]))];
        check(capabilities, spec(json!(null), &added), reason, &format!(r#"container "b" {add}"#));
        let both = [of(json!(["FOO"]), json!([])), json!({}), of(json!(["CHOWN"]), json!([]))];
        let keep = r#"containers "a", "b", "c" must set securityContext.capabilities.drop=["ALL"]"#;
        check(
            capabilities,
            spec(json!(null), &both),
            reason,
            &format!(r#"{keep}; containers "a", "c" {add}"#),
        );
    }

    #[test]
    fn sources_of_volumes() {
        let reason = "restricted volume types";
        let of = |sources: &[&str]| {
            let volumes = sources.iter().map(|source| {
                let mut volume = json!({"name": format!("of-{source}")});
                volume[*source] = json!({});
                volume
            });
            json!({"volumes": volumes.collect::<Vec<_>>()})
        };
        check(volumes, of(&SOURCES), "", "");
        let expect = r#"volume "of-nfs" uses restricted volume type "nfs""#;
        check(volumes, of(&["secret", "nfs"]), reason, expect);
        let expect = r#"volumes "of-nfs", "of-hostPath", "of-odd" use restricted volume types "hostPath", "nfs", "unknown""#;
        check(volumes, of(&["nfs", "hostPath", "csi", "odd"]), reason, expect);
        let alike = json!({"volumes": [{"name": "a", "nfs": {}}, {"name": "b", "nfs": {}}]});
        check(volumes, alike, reason, r#"volumes "a", "b" use restricted volume type "nfs""#);
        for source in OTHER_SOURCES {
            let expect = format!(r#"volume "of-{source}" uses restricted volume type "{source}""#);
            check(volumes, of(&[source]), reason, &expect);
        }
    }

    #[test]
    fn users_that_are_root_perhaps() {
        let reason = "runAsNonRoot != true";
        let of = |value: bool| json!({"runAsNonRoot": value});
        check(run_as_non_root, spec(of(true), &[json!(null), of(true)]), "", "");
        check(run_as_non_root, spec(json!(null), &[of(true), of(true)]), "", "");
        let must = "must set securityContext.runAsNonRoot=true";
        let silent = spec(json!({}), &[json!(null), json!({}), of(true)]);
        check(run_as_non_root, silent, reason, &format!(r#"pod or containers "a", "b" {must}"#));
        let must_not = "must not set securityContext.runAsNonRoot=false";
        check(run_as_non_root, spec(of(false), &[json!(null)]), reason, &format!("pod {must_not}"));
        let wrong = [of(false), json!(null), of(false)];
        check(
            run_as_non_root,
            spec(of(true), &wrong),
            reason,
            &format!(r#"containers "a", "c" {must_not}"#),
        );
        check(
            run_as_non_root,
            spec(of(false), &wrong),
            reason,
            &format!(r#"pod and containers "a", "c" {must_not}"#),
        );
    }

    #[test]
    fn users_that_are_root() {
        let of = |id: i64| json!({"runAsUser": id});
        check(run_as_user, spec(of(1000), &[json!(null), of(1)]), "", "");
        let wrong = spec(of(1), &[of(0), json!(null)]);
        check(run_as_user, wrong, "runAsUser=0", r#"container "a" must not set runAsUser=0"#);
        let wrong = spec(of(0), &[of(0), of(0)]);
        check(
            run_as_user,
            wrong,
            "runAsUser=0",
            r#"pod and containers "a", "b" must not set runAsUser=0"#,
        );
    }

    #[test]
    fn calls_of_the_system() {
        let of = |kind: &str| json!({"seccompProfile": {"type": kind}});
        check(seccomp, spec(of("RuntimeDefault"), &[json!(null), of("Localhost")]), "", "");
        check(seccomp, spec(json!(null), &[of("Localhost")]), "", "");
        let must =
            r#"must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#;
        let silent = spec(json!(null), &[json!({}), of("Localhost"), json!(null)]);
        check(seccomp, silent, "seccompProfile", &format!(r#"pod or containers "a", "c" {must}"#));
        let must_not = r#"must not set securityContext.seccompProfile.type to "Unconfined""#;
        let wrong = spec(json!(null), &[json!({}), of("Unconfined")]);
        check(seccomp, wrong, "seccompProfile", &format!(r#"container "b" {must_not}"#));
    }
}
