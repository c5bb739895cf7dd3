//! The refusal of a write by mutating policies.
//!
//! Invariants: the first error is the message; every error is a cause; a policy with
//! `failurePolicy: Ignore` has none.

use quorate_meta::{Cause, CauseReason, Reason, Status};
use quorate_policy::FailurePolicy;
use quorate_policy::mutation::MutatingPolicy;
use quorate_registry::Resource;
use quorate_registry::error::Error;

use super::{StoredBinding, StoredPolicy};

/// Every error, with the reason that it gives.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    errors: Vec<(String, Reason)>,
}

impl Refusal {
    /// Whether nothing is refused.
    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// A policy, or a binding of it, cannot be asked because of how it is set up.
    pub(super) fn misconfigured(
        &mut self,
        policy: &StoredPolicy<MutatingPolicy>,
        binding: Option<&StoredBinding>,
        why: &str,
    ) {
        let what = if binding.is_some() { "binding" } else { "policy" };
        let why = format!("failed to configure {what}: {why}");
        self.add(policy, binding, &why, Reason::Forbidden);
    }

    /// A policy cannot be evaluated.
    pub(super) fn failed(
        &mut self,
        policy: &StoredPolicy<MutatingPolicy>,
        binding: &StoredBinding,
        why: &str,
    ) {
        self.add(policy, Some(binding), why, Reason::Invalid);
    }

    fn add(
        &mut self,
        policy: &StoredPolicy<MutatingPolicy>,
        binding: Option<&StoredBinding>,
        why: &str,
        reason: Reason,
    ) {
        if policy.failure_policy == FailurePolicy::Ignore {
            return;
        }
        let name = &policy.name;
        let text = match binding {
            Some(binding) => {
                format!("policy '{name}' with binding '{}' denied request: {why}", binding.name)
            }
            None => format!("policy \"{name}\" denied request: {why}"),
        };
        self.errors.push((text, reason));
    }

    /// The refusal of a write of this object, if there is one.
    pub(super) fn tell(&self, resource: &Resource, name: &str) -> Result<(), Error> {
        let Some((message, reason)) = self.errors.first() else {
            return Ok(());
        };
        let mut status = Status::forbidden(&resource.group_resource(), name, "");
        status.message.clone_from(message);
        status.reason = reason.clone();
        if let Some(details) = &mut status.details {
            let causes = self.errors.iter();
            details.causes.extend(
                causes.map(|(text, _)| Cause::new(CauseReason::default(), "", text.clone())),
            );
        }
        Err(status.into())
    }
}
