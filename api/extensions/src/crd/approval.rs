//! The approval of definitions in protected groups, those of the API's own domains, by an annotation.
//!
//! Invariant: only groups of the naming profile's domains are protected.
//! Not here: the controller that writes the condition.

use quorate_meta::{Cause, Names, Path, Value};

use super::definition::DefinitionCondition;

/// The type of the condition that shows the state.
pub const APPROVAL_CONDITION: &str = "KubernetesAPIApprovalPolicyConformant";
const POLICY: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalState {
    /// There is none.
    Missing,
    /// It is neither a URL nor a reason.
    Invalid,
    /// It has the URL of the approval.
    Approved,
    /// It has a reason why there is no approval.
    Bypassed,
}

/// The approval of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// What the annotation says.
    pub state: ApprovalState,
    /// The same, for people.
    pub message: String,
}

/// Whether definitions of a group must be approved.
#[must_use]
pub fn is_protected(names: &Names, group: &str) -> bool {
    [names.domain, names.group_suffix].iter().any(|domain| {
        group.strip_suffix(domain).is_some_and(|head| head.is_empty() || head.ends_with('.'))
    })
}

impl Approval {
    /// Reads the annotation of a definition.
    #[must_use]
    pub fn read(names: &Names, definition: &Value) -> Self {
        let key = names.annotation_api_approved;
        let annotation = annotation(names, definition);
        let (state, message) = if annotation.is_empty() {
            let message =
                format!("protected groups must have approval annotation \"{key}\", {POLICY}");
            (ApprovalState::Missing, message)
        } else if annotation.starts_with("unapproved") {
            let shown = quorate_meta::quoted(annotation);
            (ApprovalState::Bypassed, format!("not approved: {shown}"))
        } else if is_url(annotation) {
            (ApprovalState::Approved, format!("approved in {annotation}"))
        } else {
            let message = format!(
                "protected groups must have approval annotation \"{key}\" with either a URL or a reason starting with \"unapproved\", {POLICY}"
            );
            (ApprovalState::Invalid, message)
        };
        Self { state, message }
    }

    /// The condition that shows it.
    #[must_use]
    pub fn condition(&self) -> DefinitionCondition {
        let (status, reason) = match self.state {
            ApprovalState::Missing => ("False", "MissingAnnotation"),
            ApprovalState::Invalid => ("False", "InvalidAnnotation"),
            ApprovalState::Approved => ("True", "ApprovedAnnotation"),
            ApprovalState::Bypassed => ("False", "UnapprovedAnnotation"),
        };
        DefinitionCondition {
            ty: APPROVAL_CONDITION.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: self.message.clone(),
        }
    }
}

fn annotation<'v>(names: &Names, definition: &'v Value) -> &'v str {
    let path = ["metadata", "annotations", names.annotation_api_approved];
    definition.str_at(&path).unwrap_or_default()
}

/// Whether a text is a URL with a scheme and a host.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.bytes().all(is_scheme)
        && !host.is_empty()
        && !host.contains(' ')
        && !text.contains(char::is_control)
}

/// Refuses a definition in a protected group without a valid annotation, unless its state was the
/// same before.
pub(super) fn check(
    names: &Names,
    old: Option<&Value>,
    definition: &Value,
    causes: &mut Vec<Cause>,
) {
    if !is_protected(names, definition.str_at(&["spec", "group"]).unwrap_or_default()) {
        return;
    }
    let approval = Approval::read(names, definition);
    if old.is_some_and(|old| Approval::read(names, old).state == approval.state) {
        return;
    }
    let path = Path::new("metadata.annotations").key(names.annotation_api_approved);
    match approval.state {
        ApprovalState::Missing => causes.push(Cause::required(path, &approval.message)),
        ApprovalState::Invalid => {
            let annotation = annotation(names, definition);
            causes.push(Cause::invalid(path, annotation, &approval.message));
        }
        ApprovalState::Approved | ApprovalState::Bypassed => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn groups_of_the_own_domains_are_protected() {
        let check = |group: &str, svc: bool, kubernetes: bool| {
            assert_eq!(is_protected(Naming::Svc.names(), group), svc, "{group}");
            assert_eq!(is_protected(Naming::Kubernetes.names(), group), kubernetes, "{group}");
        };
        check("svc.io", true, false);
        check("x.svc.io", true, false);
        check("xsvc.io", false, false);
        check("x.k8s.io", false, true);
        check("kubernetes.io", false, true);
        check("gateway.networking.x-k8s.io", false, false);
    }

    #[test]
    fn states() {
        let names = Naming::Svc.names();
        let check = |annotation: &str, state: ApprovalState, reason: &str, causes: usize| {
            let definition = json!({
                "metadata": {"annotations": {"api-approved.svc.io": annotation}}, "spec": {"group": "x.svc.io"}
            });
            let definition = Value::from(definition);
            let approval = Approval::read(names, &definition);
            assert_eq!((approval.state, approval.condition().reason.as_str()), (state, reason));
            let mut found = Vec::new();
            check(names, None, &definition, &mut found);
            assert_eq!(found.len(), causes, "{annotation}");
            check(names, Some(&definition), &definition, &mut found);
            assert_eq!(found.len(), causes, "{annotation} as before");
        };
        check("", ApprovalState::Missing, "MissingAnnotation", 1);
        check("https://x.example/1", ApprovalState::Approved, "ApprovedAnnotation", 0);
        check("unapproved, a test", ApprovalState::Bypassed, "UnapprovedAnnotation", 0);
        check("no", ApprovalState::Invalid, "InvalidAnnotation", 1);
        check("https:///path", ApprovalState::Invalid, "InvalidAnnotation", 1);
    }

    #[test]
    fn messages() {
        let approval = Approval::read(Naming::Svc.names(), &Value::default());
        let expect = "protected groups must have approval annotation \"api-approved.svc.io\", see https://github.com/kubernetes/enhancements/pull/1111";
        assert_eq!(approval.message, expect);
        assert_eq!(approval.condition().ty, "KubernetesAPIApprovalPolicyConformant");
    }
}
