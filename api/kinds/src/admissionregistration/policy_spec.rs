//! What the `spec` of a validating and of a mutating policy have in common.
//!
//! Invariants: an expression that does not compile is refused; one that an update leaves as it is
//! may use everything that was known when it was stored.

use std::fmt;
use std::sync::OnceLock;

use quorate_meta::{Cause, Names, Value, name};
use quorate_policy::{Environments, MAX_VARIABLES, Problem};

use super::{expressions, match_resources};
use crate::field::Field;
use crate::rules;

/// What is wrong with the expressions of a `spec`, of which some are in an older one already.
type FindProblems = fn(&Environments, &Value, Option<&Value>) -> Vec<Problem>;

/// The check of a policy's expressions.
pub(super) struct ExpressionCheck {
    problems: FindProblems,
    /// What expressions may use; made when the first policy is written.
    environments: OnceLock<Environments>,
}

impl ExpressionCheck {
    pub(super) const fn new(problems: FindProblems) -> Self {
        Self { problems, environments: OnceLock::new() }
    }

    /// What is wrong with the expressions of a policy that replaces `old`.
    pub(super) fn check(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<Cause> {
        let spec = new.get("spec").unwrap_or(&Value::Null);
        let old = old.and_then(|old| old.get("spec"));
        if old == Some(spec) {
            return Vec::new();
        }
        let environments =
            self.environments.get_or_init(|| Environments::new(names.naming.names()));
        let problems = (self.problems)(environments, spec, old);
        let is_as_before = |field: &str| old.is_some_and(|old| old.get(field) == spec.get(field));
        let conditions_stay = is_as_before("matchConditions") && is_as_before("paramKind");
        let problems = problems.into_iter().filter(|problem| {
            !(conditions_stay && problem.path.as_str().starts_with("spec.matchConditions["))
        });
        problems
            .map(|problem| Cause::invalid(problem.path, problem.source, &problem.text))
            .collect()
    }
}

impl fmt::Debug for ExpressionCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpressionCheck").finish_non_exhaustive()
    }
}

/// Checks what both kinds of policies have; `check_rules` are the own checks of the rules in the
/// constraints.
pub(super) fn check(
    spec: &Field<'_>,
    check_rules: fn(&Field<'_>, &mut Vec<Cause>),
    causes: &mut Vec<Cause>,
) {
    rules::optional_one_of(&spec.get("failurePolicy"), &["Fail", "Ignore"], causes);
    let kind = spec.get("paramKind");
    if kind.is_set() {
        check_param_kind(&kind, causes);
    }
    check_constraints(&spec.get("matchConstraints"), causes);
    check_rules(&spec.get("matchConstraints.resourceRules"), causes);
    expressions::match_conditions(&spec.get("matchConditions"), causes);
    expressions::variables(&spec.get("variables"), MAX_VARIABLES, causes);
}

/// Checks the `matchConstraints` of a policy, which name at least one resource.
fn check_constraints(constraints: &Field<'_>, causes: &mut Vec<Cause>) {
    if !constraints.is_set() {
        causes.push(constraints.required(""));
        return;
    }
    match_resources::check(constraints, causes);
    rules::required(&constraints.get("resourceRules"), causes);
}

/// Checks a `paramKind`.
fn check_param_kind(kind: &Field<'_>, causes: &mut Vec<Cause>) {
    let (version, own) = (kind.get("apiVersion"), kind.get("kind"));
    rules::required(&version, causes);
    check_group_version(&version, causes);
    rules::name(&own, |text| name::dns_1035_label(&text.to_lowercase()), causes);
}

/// Checks `VERSION` or `GROUP/VERSION`.
fn check_group_version(field: &Field<'_>, causes: &mut Vec<Cause>) {
    let text = field.text();
    if text.is_empty() {
        return;
    }
    let (group, version) = text.split_once('/').unwrap_or(("", text));
    if version.contains('/') {
        causes.push(field.invalid("unexpected GroupVersion string"));
        return;
    }
    let of_group = if group.is_empty() { Vec::new() } else { name::dns_subdomain(group) };
    let of_version = match version {
        "" => vec!["version must be specified".to_owned()],
        version => name::dns_1035_label(version),
    };
    for (part, wrong) in [(group, of_group), (version, of_version)] {
        if !wrong.is_empty() {
            causes.push(Cause::invalid(field.path().clone(), part, &wrong.join(",")));
        }
    }
}
