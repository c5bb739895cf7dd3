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
mod rule;
mod suspended;
mod validating_admission_policy;
mod validating_admission_policy_binding;
mod webhook;
mod webhook_configuration;

use std::sync::Arc;

use quorate_registry::Strategy;

use mutating_admission_policy::MutatingAdmissionPolicy;
use mutating_admission_policy_binding::MutatingAdmissionPolicyBinding;
use rule::AdmissionRule;
use validating_admission_policy::ValidatingAdmissionPolicy;
use validating_admission_policy_binding::ValidatingAdmissionPolicyBinding;
use webhook_configuration::WebhookConfiguration;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "MutatingWebhookConfiguration" => Arc::new(AdmissionRule(WebhookConfiguration::new(true))),
        "ValidatingWebhookConfiguration" => {
            Arc::new(AdmissionRule(WebhookConfiguration::new(false)))
        }
        "MutatingAdmissionPolicy" => Arc::new(AdmissionRule(MutatingAdmissionPolicy::new())),
        "MutatingAdmissionPolicyBinding" => Arc::new(AdmissionRule(MutatingAdmissionPolicyBinding)),
        "ValidatingAdmissionPolicy" => Arc::new(AdmissionRule(ValidatingAdmissionPolicy::new())),
        "ValidatingAdmissionPolicyBinding" => {
            Arc::new(AdmissionRule(ValidatingAdmissionPolicyBinding))
        }
        _ => return None,
    })
}
