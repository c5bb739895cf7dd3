//! What the `spec` of the bindings of validating and of mutating policies have in common.

use quorate_meta::{Cause, name};

use super::match_resources;
use crate::field::Field;
use crate::rules;

/// Checks the name of the policy, the reference of parameters and the resources.
pub(super) fn check(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::name(&spec.get("policyName"), name::dns_subdomain, causes);
    let parameter = spec.get("paramRef");
    if parameter.is_set() {
        check_parameter(&parameter, causes);
    }
    if spec.get("matchResources").is_set() {
        match_resources::check(&spec.get("matchResources"), causes);
    }
}

fn check_parameter(parameter: &Field<'_>, causes: &mut Vec<Cause>) {
    let (own, selector) = (parameter.get("name"), parameter.get("selector"));
    match (own.is_empty(), selector.is_set()) {
        (false, true) => {
            causes.extend(
                [&own, &selector]
                    .map(|field| field.forbidden("name and selector are mutually exclusive")),
            );
        }
        (true, false) => {
            causes.push(parameter.required("one of name or selector must be specified"));
        }
        (false, false) => causes.extend(own.invalid_for(&name::path_segment(own.text()))),
        (true, true) => rules::selector(&selector, causes),
    }
    rules::one_of(&parameter.get("parameterNotFoundAction"), &["Allow", "Deny"], causes);
}
