//! What all policies together say of a write: the refusal, warnings and audit annotations.
//!
//! Invariants: the first denial in the order of policies, bindings, parameters and validations is
//! the refusal; warnings and annotations are told of a refused write as well.

use std::collections::BTreeMap;

use quorate_meta::{Cause, CauseReason, Map, Names, Reason, Status, Value};
use quorate_policy::{Denial, FailurePolicy, Findings, Policy};
use quorate_registry::error::Error;
use quorate_registry::{AdmissionWait, Attributes, Resource};

use super::policy_set::{Actions, StoredBinding, StoredPolicy};
use crate::matching::subject::name_of;

/// What policies say of one write.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The first denial: its message and reason.
    refusal: Option<(String, Reason)>,
    pub(super) warnings: Vec<String>,
    /// The policies that took long.
    pub(super) waits: Vec<AdmissionWait>,
    /// By key.
    annotations: BTreeMap<String, Vec<String>>,
    /// The validations that failed under a binding with the action `Audit`.
    failures: Vec<Value>,
}

impl Report {
    pub(super) fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// What cannot be told of a policy, or of a binding of it, because of how it is set up.
    pub(super) fn misconfigured(
        &mut self,
        policy: &StoredPolicy<Policy>,
        binding: Option<&StoredBinding>,
        why: &str,
    ) {
        if policy.failure_policy == FailurePolicy::Ignore {
            return;
        }
        let what = if binding.is_some() { "binding" } else { "policy" };
        let why = format!("failed to configure {what}: {why}");
        self.deny(policy, binding, &why, Reason::Invalid);
    }

    /// What a policy finds for a binding.
    pub(super) fn add(
        &mut self,
        policy: &StoredPolicy<Policy>,
        binding: &StoredBinding,
        findings: Findings,
    ) {
        for denial in findings.denials {
            let Actions { deny, warn, audit } = binding.actions;
            if deny {
                self.deny(policy, Some(binding), &denial.message, denial.reason.clone());
            }
            if audit {
                self.failures.push(failure(policy, binding, &denial));
            }
            if warn {
                let text = format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name, binding.name, denial.message
                );
                if !self.warnings.contains(&text) {
                    self.warnings.push(text);
                }
            }
        }
        for error in findings.annotation_errors {
            self.deny(policy, Some(binding), &error, Reason::Invalid);
        }
        for annotation in findings.annotations {
            let values =
                self.annotations.entry(format!("{}/{}", policy.name, annotation.key)).or_default();
            if !values.contains(&annotation.value) {
                values.push(annotation.value);
            }
        }
    }

    fn deny(
        &mut self,
        policy: &StoredPolicy<Policy>,
        binding: Option<&StoredBinding>,
        why: &str,
        reason: Reason,
    ) {
        if self.refusal.is_some() {
            return;
        }
        let with = binding.map(|binding| format!(" with binding '{}'", binding.name));
        let with = with.unwrap_or_default();
        let name = &policy.name;
        let text = format!("ValidatingAdmissionPolicy '{name}'{with} denied request: {why}");
        self.refusal = Some((text, reason));
    }

    /// The annotations of the audit event: key and value.
    pub(super) fn annotations(&self, names: &Names) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> =
            self.annotations.iter().map(|(key, values)| (key.clone(), values.join(", "))).collect();
        if !self.failures.is_empty() {
            let key = format!("validation.policy.{}/validation_failure", names.group("admission"));
            let list = Value::List(self.failures.clone());
            all.push((key, serde_json::to_string(&list).unwrap_or_default()));
        }
        all
    }

    /// Everything that is said of the write: an action, and the message of it.
    pub(super) fn told(self) -> Vec<(&'static str, String)> {
        let denied = self.refusal.map(|(message, _)| ("Deny", message));
        let warned = self.warnings.into_iter().map(|message| ("Warn", message));
        let message = |failure: &Value| failure.str_at(&["message"]).unwrap_or_default().to_owned();
        let audited = self.failures.iter().map(|failure| ("Audit", message(failure)));
        denied.into_iter().chain(warned).chain(audited).collect()
    }

    /// The refusal, if there is one.
    pub(super) fn refusal(self, subject_of: &Refused<'_>) -> Result<(), Error> {
        let Some((message, reason)) = self.refusal else {
            return Ok(());
        };
        let Refused { resource, name } = subject_of;
        let mut status = Status::forbidden(&resource.group_resource(), name, &message);
        status.code = reason.code();
        status.reason = reason;
        if let Some(details) = &mut status.details {
            details.causes.push(Cause::new(CauseReason::default(), "", message));
        }
        Err(status.into())
    }
}

/// What a refusal names.
pub(super) struct Refused<'a> {
    pub(super) resource: &'a Resource,
    pub(super) name: &'a str,
}

impl<'a> Refused<'a> {
    pub(super) fn of(attributes: &Attributes<'a>) -> Self {
        Self { resource: attributes.target.resource, name: name_of(attributes) }
    }
}

/// A failed validation, as the audit event tells it.
fn failure(policy: &StoredPolicy<Policy>, binding: &StoredBinding, denial: &Denial) -> Value {
    let Actions { deny, warn, audit } = binding.actions;
    let actions = [(deny, "Deny"), (warn, "Warn"), (audit, "Audit")];
    let actions = actions.into_iter().filter(|(does, _)| *does);
    let index = i64::try_from(denial.index).unwrap_or_default();
    Value::Map(Map::from([
        ("message", Value::from(denial.message.as_str())),
        ("policy", Value::from(policy.name.as_str())),
        ("binding", Value::from(binding.name.as_str())),
        ("expressionIndex", Value::from(index)),
        ("validationActions", Value::List(actions.map(|(_, name)| Value::from(name)).collect())),
    ]))
}
