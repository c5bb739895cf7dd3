//! Pod updates that Pod Security Admission checks.
//!
//! Invariant: only those changes are checked that a client may make to a pod and that a check
//! reads: an image, an added container, an annotation with a seccomp profile. Every other update is
//! admitted, so that a running pod can be written under any level.

use std::collections::HashSet;

use quorate_meta::Value;

use super::pod::{items, name};

/// The prefixes of annotations with seccomp profiles: the pod's, and a container's.
const SECCOMP: [&str; 2] = ["seccomp.security.alpha.", "container.seccomp.security.alpha."];

/// Whether the update changes something that a check reads.
pub(super) fn is_significant(old: &Value, new: &Value) -> bool {
    let differs = |list: &str| {
        let (before, after) = (items(old, &["spec", list]), items(new, &["spec", list]));
        before.len() != after.len()
            || before.iter().zip(after).any(|(before, after)| image(before) != image(after))
    };
    let guests = |pod| {
        items(pod, &["spec", "ephemeralContainers"]).iter().map(|guest| (name(guest), image(guest)))
    };
    let known: HashSet<_> = guests(old).collect();
    differs("containers")
        || differs("initContainers")
        || guests(new).any(|guest| !known.contains(&guest))
        || !profiles(old).eq(profiles(new))
}

/// The annotations with seccomp profiles, in order.
fn profiles(pod: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let annotations = pod.at(&["metadata", "annotations"]).and_then(Value::as_map);
    let annotations = annotations.into_iter().flat_map(|annotations| annotations.iter());
    annotations.filter(|(key, _)| SECCOMP.iter().any(|prefix| key.starts_with(prefix)))
}

fn image(container: &Value) -> &str {
    container.str_at(&["image"]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes() {
        let old = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}],
            "ephemeralContainers": [{"name": "e", "image": "x"}], "tolerations": []}});
        let check = |path: &str, value: serde_json::Value, expect: bool| {
            let mut new = old.clone();
            *new.pointer_mut(path).unwrap() = value.clone();
            assert_eq!(is_significant(&old.clone().into(), &new.into()), expect, "{path} {value}");
        };
        check("/metadata", json!({"annotations": {"a": "b"}}), false);
        check(
            "/metadata",
            json!({"annotations": {"seccomp.security.alpha.svc.io/pod": "unconfined"}}),
            true,
        );
        check(
            "/metadata",
            json!({"annotations": {"container.seccomp.security.alpha.svc.io/c": "x"}}),
            true,
        );
        check("/spec/tolerations", json!([{"operator": "Exists"}]), false);
        check(
            "/spec/containers/0",
            json!({"name": "c", "image": "x", "securityContext": {"privileged": true}}),
            false,
        );
        check("/spec/containers/0/image", json!("y"), true);
        check("/spec/containers", json!([]), true);
        check("/spec/ephemeralContainers", json!([]), false);
        check("/spec/ephemeralContainers/0/image", json!("y"), true);
        check(
            "/spec/ephemeralContainers",
            json!([{"name": "f", "image": "x"}, {"name": "e", "image": "x"}]),
            true,
        );
        check(
            "/spec",
            json!({"initContainers": [{"name": "i"}], "containers": [{"name": "c", "image": "x"}]}),
            true,
        );
    }
}
