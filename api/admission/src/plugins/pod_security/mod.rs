//! Pod Security Admission (KEP-2579): the levels of the Pod Security Standards that the labels of a
//! namespace set for its pods.
//!
//! Pods that violate the enforced level are refused; clients get warnings for pods and workloads
//! that violate the level of warnings.
//!
//! Invariants: a namespace without these labels admits every pod, at the price of one look at its
//! labels; invalid labels enforce `restricted`, and a write of a namespace with new invalid labels
//! is refused. The server's own writes are not checked.
//!
//! Not here: exemptions, cluster-wide defaults and audit annotations; labels of the mode `audit`
//! are only validated.

mod baseline;
mod checks;
mod counting;
mod existing;
mod level;
mod pod;
mod profiles;
mod restricted;
mod update;

use quorate_meta::{Status, Value, quoted};

use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden};
use checks::{in_detail, violations};
use counting::CountedEvaluation;
use level::{Policy, Standard};
use pod::Pod;
use quorate_registry::error::Error;
use quorate_registry::{Attributes, NAMESPACES, Terms, stored_codec};

/// The plugin that checks pods against the level of their namespace.
pub(super) struct PodSecurity;

impl Plugin for PodSecurity {
    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        terms: &mut Terms,
    ) -> Result<(), Error> {
        let resource = attributes.target.resource;
        match (resource.group.as_str(), resource.plural.as_str()) {
            ("", NAMESPACES) => check_namespace(view, attributes, new, terms),
            ("", "pods") => check_pod(view, attributes, new, terms),
            (group, plural) => {
                if let Some(path) = template_path(group, plural) {
                    check_workload(view, attributes, new.at(path), terms);
                }
                Ok(())
            }
        }
    }
}

/// The path of the pod template in a workload; `None` for a kind without one.
fn template_path(group: &str, plural: &str) -> Option<&'static [&'static str]> {
    let path: &'static [&'static str] = match (group, plural) {
        ("", "podtemplates") => &["template"],
        ("", "replicationcontrollers") | ("batch", "jobs") => &["spec", "template"],
        ("apps", "daemonsets" | "deployments" | "replicasets" | "statefulsets") => {
            &["spec", "template"]
        }
        ("batch", "cronjobs") => &["spec", "jobTemplate", "spec", "template"],
        _ => return None,
    };
    Some(path)
}

/// Refuses new invalid labels, and warns of existing pods that violate a stricter level than
/// before.
fn check_namespace(
    view: &SnapshotView<'_>,
    attributes: &Attributes<'_>,
    new: &Value,
    terms: &mut Terms,
) -> Result<(), Error> {
    let (policy, wrong) = Policy::of_object(view.names, new);
    let before = attributes.old.map(|old| Policy::of_object(view.names, old));
    let was_wrong = before.as_ref().is_some_and(|(_, was)| *was == wrong);
    if !wrong.is_empty() && !was_wrong {
        return Err(Status::invalid(
            &attributes.target.resource.group_kind(),
            attributes.target.name,
            wrong,
        )
        .into());
    }
    if before.is_some_and(|(before, _)| policy.enforce.may_forbid_more_than(before.enforce)) {
        terms.warnings.extend(existing::warnings(view, attributes.target.name, policy.enforce));
    }
    Ok(())
}

fn check_pod(
    view: &SnapshotView<'_>,
    attributes: &Attributes<'_>,
    new: &Value,
    terms: &mut Terms,
) -> Result<(), Error> {
    let Some(namespace) = attributes.target.namespace else {
        return Ok(());
    };
    if attributes.old.is_some_and(|old| !update::is_significant(old, new)) {
        return Ok(());
    }
    let policy = policy_of(view, namespace)
        .inspect_err(|_| counting::failed(view, attributes, "pod", true))?;
    let pod = Pod::new(view.names, new);
    let found = violations(policy.enforce, &pod);
    let count = CountedEvaluation { view, attributes, resource: "pod" };
    count.evaluated("enforce", policy.enforce, found.is_empty());
    if !found.is_empty() {
        let standard = quoted(&policy.enforce.to_string());
        return Err(forbidden(
            attributes,
            &format!("violates PodSecurity {standard}: {}", in_detail(&found)),
        ));
    }
    if policy.warn != policy.enforce {
        let warning = warning(policy.warn, &pod);
        count.evaluated("warn", policy.warn, warning.is_none());
        terms.warnings.extend(warning);
    }
    Ok(())
}

/// Workloads are never refused, only their pods are. A namespace that cannot be read gives no
/// warnings.
fn check_workload(
    view: &SnapshotView<'_>,
    attributes: &Attributes<'_>,
    template: Option<&Value>,
    terms: &mut Terms,
) {
    let Some(namespace) = attributes.target.namespace else {
        return;
    };
    let Some(template) = template.filter(|template| !template.is_null()) else {
        return;
    };
    match policy_of(view, namespace) {
        Ok(policy) => {
            let warning = warning(policy.warn, &Pod::new(view.names, template));
            let count = CountedEvaluation { view, attributes, resource: "controller" };
            count.evaluated("warn", policy.warn, warning.is_none());
            terms.warnings.extend(warning);
        }
        Err(_) => counting::failed(view, attributes, "controller", false),
    }
}

/// The policy of a namespace for its pods.
fn policy_of(view: &SnapshotView<'_>, namespace: &str) -> Result<Policy, Error> {
    let Some(namespaces) = view.resource("", "v1", NAMESPACES) else {
        return Ok(Policy::NONE);
    };
    let entry = view.entry(namespaces, None, namespace);
    let entry = entry.ok_or_else(|| Status::not_found(&namespaces.group_resource(), namespace))?;
    Ok(Policy::of(view.names, stored_codec::header(namespaces, &entry.value)?.labels()).0)
}

fn warning(standard: Standard, pod: &Pod<'_>) -> Option<String> {
    let found = violations(standard, pod);
    let told = || {
        format!(
            "would violate PodSecurity {}: {}",
            quoted(&standard.to_string()),
            in_detail(&found)
        )
    };
    (!found.is_empty()).then(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_of_workloads() {
        let check = |group: &str, plural: &str, expect: &str| {
            assert_eq!(
                template_path(group, plural).unwrap_or_default().join("."),
                expect,
                "{group} {plural}"
            );
        };
        check("", "podtemplates", "template");
        check("", "replicationcontrollers", "spec.template");
        for plural in ["daemonsets", "deployments", "replicasets", "statefulsets"] {
            check("apps", plural, "spec.template");
        }
        check("batch", "jobs", "spec.template");
        check("batch", "cronjobs", "spec.jobTemplate.spec.template");
        for (group, plural) in
            [("", "configmaps"), ("apps", "controllerrevisions"), ("example.com", "jobs")]
        {
            check(group, plural, "");
        }
    }
}
