//! The condition `KubernetesAPIApprovalPolicyConformant` of definitions in the groups that belong
//! to the community: whether an annotation says that the API was approved.
//!
//! Invariant: other groups have no such condition.

use quorate_meta::{Names, Value, quoted};

use crate::conditions::Condition;

/// The type of the condition.
const CONFORMANT: &str = "KubernetesAPIApprovalPolicyConformant";
/// Where the policy is written.
const POLICY: &str = "https://github.com/kubernetes/enhancements/pull/1111";

/// The condition of a definition of this group; `None` for a group that needs no approval.
pub(super) fn decide(names: &Names, group: &str, object: &Value) -> Option<Condition> {
    if ![names.domain, names.group_suffix].iter().any(|owner| is_within(group, owner)) {
        return None;
    }
    let key = names.annotation_api_approved;
    let text = object.str_at(&["metadata", "annotations", key]).unwrap_or_default();
    let demand = format!("protected groups must have approval annotation {}", quoted(key));
    let (status, reason, message) = if text.is_empty() {
        (false, "MissingAnnotation", format!("{demand}, see {POLICY}"))
    } else if text.starts_with("unapproved") {
        (false, "UnapprovedAnnotation", format!("not approved: {}", quoted(text)))
    } else if is_url(text) {
        (true, "ApprovedAnnotation", format!("approved in {text}"))
    } else {
        let either = "with either a URL or a reason starting with \"unapproved\"";
        (false, "InvalidAnnotation", format!("{demand} {either}, see {POLICY}"))
    };
    Some((CONFORMANT, status, reason, message))
}

/// Whether a group is the domain or lies below it.
fn is_within(group: &str, domain: &str) -> bool {
    group.strip_suffix(domain).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

/// Whether a text is an absolute URL with a host.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(inner)
        && !host.is_empty()
        && !host.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}', '%'])
        && !text.contains(|c: char| c.is_ascii_control())
}

#[cfg(test)]
mod tests {
    use quorate_meta::{Map, Naming};

    use super::*;

    fn found(naming: Naming, group: &str, text: &str) -> Option<Condition> {
        let names = naming.names();
        let mut object = Value::Map(Map::new());
        object.set_at(&["metadata", "annotations", names.annotation_api_approved], text);
        decide(names, group, &object)
    }

    #[test]
    fn groups_of_the_community_need_an_approval() {
        let check = |naming: Naming, group: &str, expect: bool| {
            assert_eq!(found(naming, group, "").is_some(), expect, "{group}");
        };
        for (group, kubernetes, svc) in [
            ("k8s.io", true, false),
            ("x.k8s.io", true, false),
            ("kubernetes.io", true, false),
            ("a.b.kubernetes.io", true, false),
            ("svc.io", false, true),
            ("x.svc.io", false, true),
            ("xk8s.io", false, false),
            ("xsvc.io", false, false),
            ("k8s.io.example.com", false, false),
            ("example.com", false, false),
        ] {
            check(Naming::Kubernetes, group, kubernetes);
            check(Naming::Svc, group, svc);
        }
    }

    #[test]
    fn the_annotation_decides() {
        let check = |text: &str, status: bool, reason: &str, message: &str| {
            let (_, is, why, told) = found(Naming::Svc, "x.svc.io", text).unwrap();
            assert_eq!((is, why), (status, reason), "{text}");
            assert!(told.starts_with(message), "{told}");
        };
        let demand = "protected groups must have approval annotation \"api-approved.svc.io\"";
        check("", false, "MissingAnnotation", &format!("{demand}, see https://"));
        let either = "with either a URL or a reason starting with \"unapproved\", see https://";
        for text in ["yes", "example.com/1", "/1", "https://", "1s://a", "https:///a", "a://b\n"] {
            check(text, false, "InvalidAnnotation", &format!("{demand} {either}"));
        }
        check(
            "unapproved, a test",
            false,
            "UnapprovedAnnotation",
            "not approved: \"unapproved, a test\"",
        );
        let url = "https://example.com/pull/1?a=b";
        check(url, true, "ApprovedAnnotation", &format!("approved in {url}"));
    }
}
