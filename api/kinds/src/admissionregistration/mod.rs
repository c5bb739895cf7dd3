//! The kinds of the admissionregistration group, as objects.
//!
//! What they do to requests is part of admission. Expressions are compiled.

mod binding_spec;
mod expressions;
mod lockout;
mod match_resources;
mod mutating_admission_policy;
mod mutating_admission_policy_binding;
mod policy_spec;
mod suspended;
mod validating_admission_policy;
mod validating_admission_policy_binding;
mod webhook;
mod webhook_configuration;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    use webhook_configuration::WebhookConfiguration;
    Some(match kind {
        "MutatingWebhookConfiguration" => Arc::new(WebhookConfiguration::new(true)),
        "ValidatingWebhookConfiguration" => Arc::new(WebhookConfiguration::new(false)),
        "MutatingAdmissionPolicy" => {
            Arc::new(mutating_admission_policy::MutatingAdmissionPolicy::new())
        }
        "MutatingAdmissionPolicyBinding" => {
            Arc::new(mutating_admission_policy_binding::MutatingAdmissionPolicyBinding)
        }
        "ValidatingAdmissionPolicy" => {
            Arc::new(validating_admission_policy::ValidatingAdmissionPolicy::new())
        }
        "ValidatingAdmissionPolicyBinding" => {
            Arc::new(validating_admission_policy_binding::ValidatingAdmissionPolicyBinding)
        }
        _ => return None,
    })
}
