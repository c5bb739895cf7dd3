//! The functions of authorization checks.

use quorate_meta::name::{dns_label, dns_subdomain};

use super::values::{AuthorizerValue, GroupCheck, PathCheck, ResourceCheck};
use super::{Check, CheckTarget, Decision, ResourceTarget, Subject};
use crate::environment::Release;
use crate::eval::EvalError;
use crate::library::arguments::{opaque, text};
use crate::library::cost::{estimated_size, exactly, product, size_of, sum};
use crate::library::names::{self, AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK};
use crate::overload::{ArgumentEstimate, Call, CallEstimate, Cost, Estimate, Overload};
use crate::types::Type;
use crate::value::Value;

/// The release in which selectors appeared.
const SINCE_SELECTORS: Release = Release(31);
/// Cost of asking an authorizer.
const CHECK_COST: u64 = 350_000;
/// Cost of a selector, however short.
const SELECTOR_COST: u64 = 10;
/// Cost of a requirement of a selector, of which there may be one for two characters.
const REQUIREMENT_COST: u64 = 50;

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    use Type::{Bool, String};
    let (authorizer, resource) = (|| names::object(AUTHORIZER), || names::object(RESOURCE_CHECK));
    let of = |function, id, receiver: Type, result, call: Call| {
        Overload::member(function, id, [receiver, String], result, call)
    };
    let narrowed = |function, id, call: Call| of(function, id, resource(), resource(), call);
    let selected = |function, id, call: Call| {
        let overload = narrowed(function, id, call).since(SINCE_SELECTORS);
        overload.costs(Cost::Always(cost_of_selecting), Estimate::Of(estimate_of_selecting))
    };
    let checked = |id, receiver, call: Call| {
        let overload = of("check", id, receiver, names::object(DECISION), call);
        overload.costs(Cost::Fixed(CHECK_COST), Estimate::Fixed(CHECK_COST))
    };
    let told = |function, id, result, call: Call| {
        Overload::member(function, id, [names::object(DECISION)], result, call)
    };
    let account = [authorizer(), String, String];
    vec![
        of("path", "authorizer_path", authorizer(), names::object(PATH_CHECK), path),
        of("group", "authorizer_group", authorizer(), names::object(GROUP_CHECK), group),
        Overload::member(
            "serviceAccount",
            "authorizer_serviceaccount",
            account,
            authorizer(),
            service_account,
        ),
        of("resource", "groupcheck_resource", names::object(GROUP_CHECK), resource(), resource_of),
        narrowed("subresource", "resourcecheck_subresource", |a| {
            with(a, |target| &mut target.subresource)
        }),
        narrowed("namespace", "resourcecheck_namespace", |a| {
            with(a, |target| &mut target.namespace)
        }),
        narrowed("name", "resourcecheck_name", |a| with(a, |target| &mut target.name)),
        selected("fieldSelector", "authorizer_fieldselector", |a| {
            with(a, |target| &mut target.field_selector)
        }),
        selected("labelSelector", "authorizer_labelselector", |a| {
            with(a, |target| &mut target.label_selector)
        }),
        checked("pathcheck_check", names::object(PATH_CHECK), check_path),
        checked("resourcecheck_check", resource(), check_resource),
        told("errored", "decision_errored", Bool, |a| {
            decided(a, |it| Value::Bool(it.error.is_some()))
        }),
        told("error", "decision_error", String, |a| {
            decided(a, |it| Value::string(it.error.as_deref().unwrap_or_default()))
        }),
        told("allowed", "decision_allowed", Bool, |a| decided(a, |it| Value::Bool(it.allowed))),
        told("reason", "decision_reason", String, |a| decided(a, |it| Value::string(&*it.reason))),
    ]
}

/// A selector's parsing, and a requirement for every two characters.
fn cost_of_selecting(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    let length = size_of(arguments, 1);
    let requirements = length.div_ceil(2).saturating_mul(REQUIREMENT_COST);
    SELECTOR_COST.saturating_add(length.div_ceil(10)).saturating_add(requirements)
}

fn estimate_of_selecting(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    let length = estimated_size(arguments, 1);
    let requirements = product(length.scaled(0.5), exactly(REQUIREMENT_COST));
    CallEstimate {
        cost: sum(sum(exactly(SELECTOR_COST), length.scaled(0.1)), requirements),
        size: None,
    }
}

fn path<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (authorizer, path) =
        (opaque::<AuthorizerValue>(arguments, 0)?.clone(), text(arguments, 1)?);
    if path.trim().is_empty() {
        return Err(EvalError::new("path must not be empty"));
    }
    Ok(Value::opaque(PathCheck { authorizer, path: path.to_owned() }))
}

fn group<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (authorizer, group) =
        (opaque::<AuthorizerValue>(arguments, 0)?.clone(), text(arguments, 1)?);
    Ok(Value::opaque(GroupCheck { authorizer, group: group.to_owned() }))
}

fn service_account<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let authorizer = opaque::<AuthorizerValue>(arguments, 0)?.clone();
    let (namespace, name) = (text(arguments, 1)?, text(arguments, 2)?);
    if !dns_subdomain(name).is_empty() {
        return Err(EvalError::new("Invalid service account name"));
    }
    if !dns_label(namespace).is_empty() {
        return Err(EvalError::new("Invalid service account namespace"));
    }
    let subject =
        Subject::ServiceAccount { namespace: namespace.to_owned(), name: name.to_owned() };
    Ok(Value::opaque(AuthorizerValue { subject, ..authorizer }))
}

fn resource_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (check, resource) = (opaque::<GroupCheck>(arguments, 0)?, text(arguments, 1)?);
    if resource.trim().is_empty() {
        return Err(EvalError::new("resource must not be empty"));
    }
    let GroupCheck { authorizer, group } = check.clone();
    let target =
        ResourceTarget { group, resource: resource.to_owned(), ..ResourceTarget::default() };
    Ok(Value::opaque(ResourceCheck { authorizer, target }))
}

/// The check with another part of what it asks about.
fn with<'a>(
    arguments: &[Value<'a>],
    part: fn(&mut ResourceTarget) -> &mut String,
) -> Result<Value<'a>, EvalError> {
    let mut check = opaque::<ResourceCheck>(arguments, 0)?.clone();
    text(arguments, 1)?.clone_into(part(&mut check.target));
    Ok(Value::opaque(check))
}

fn check_path<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let PathCheck { authorizer, path } = opaque::<PathCheck>(arguments, 0)?;
    ask(authorizer, CheckTarget::Path(path.clone()), text(arguments, 1)?)
}

fn check_resource<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let ResourceCheck { authorizer, target } = opaque::<ResourceCheck>(arguments, 0)?;
    ask(authorizer, CheckTarget::Resource(target.clone()), text(arguments, 1)?)
}

fn ask<'a>(
    authorizer: &AuthorizerValue,
    target: CheckTarget,
    verb: &str,
) -> Result<Value<'a>, EvalError> {
    let check = Check { subject: authorizer.subject.clone(), target, verb: verb.to_owned() };
    authorizer.answers.answer(&check).map(Value::opaque).ok_or(EvalError::Pending)
}

fn decided<'a>(
    arguments: &[Value<'a>],
    answer: fn(&Decision) -> Value<'a>,
) -> Result<Value<'a>, EvalError> {
    opaque::<Decision>(arguments, 0).map(answer)
}
