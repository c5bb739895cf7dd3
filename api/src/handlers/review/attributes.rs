//! The attributes that access reviews ask about: what is wrong with them, and the action that they
//! mean.

use std::borrow::Cow;

use quorate_meta::{Cause, Map, Names, Path, Value, name};

use crate::Api;
use quorate_access::authentication::User;
use quorate_access::authorization::{
    Action, Decision, Operator, Requirement, ResourceAction, Verdict, fields, labels,
};

/// What is wrong with the attributes in a review's `spec`, in the order in which clients are told;
/// `about_user` is what is wrong with the user that they are about.
pub(super) fn problems(spec: &Value, about_user: Option<Cause>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let path = Path::new("spec");
    let on = present(spec, "resourceAttributes");
    match (on, present(spec, "nonResourceAttributes")) {
        (Some(_), Some(other)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            causes.push(Cause::invalid(path.child("nonResourceAttributes"), other.clone(), why));
        }
        (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(Cause::invalid(path.child("resourceAttributes"), Value::Null, why));
        }
        _ => {}
    }
    causes.extend(about_user);
    if let Some(on) = on {
        let path = path.child("resourceAttributes");
        check_selector(on, &path.child("fieldSelector"), "fieldSelector", false, &mut causes);
        check_selector(on, &path.child("labelSelector"), "labelSelector", true, &mut causes);
    }
    causes
}

/// The `status` of a review whether a user may do what its valid `spec` asks about.
pub(super) async fn decide(api: &Api, user: &User, spec: &Value) -> Map {
    let group = group(api.names, spec);
    let (action, errors) = action(spec, &group);
    status(api.authorizer.decide(user, &action).await, errors)
}

/// The canonical name of the group that `spec` asks about.
fn group<'v>(names: &Names, spec: &'v Value) -> Cow<'v, str> {
    let asked = spec.str_at(&["resourceAttributes", "group"]).unwrap_or_default();
    names.edge_group(asked).map_or(Cow::Borrowed(asked), Cow::Owned)
}

/// The action that a valid `spec` asks about, on a resource of this group, and what could not be
/// understood of its selectors.
fn action<'v>(spec: &'v Value, group: &'v str) -> (Action<'v>, Vec<String>) {
    let Some(on) = present(spec, "resourceAttributes") else {
        let text = |field: &str| spec.str_at(&["nonResourceAttributes", field]).unwrap_or_default();
        return (Action::Path { verb: text("verb"), path: text("path") }, Vec::new());
    };
    let mut errors = Vec::new();
    let mut selector = |field: &str, read: fn(&Value, &str) -> Understood| {
        let Understood { requirements, is_whole } = read(on, field);
        if !is_whole {
            let how = if requirements.is_empty() { "ignored" } else { "partially ignored" };
            errors.push(format!("spec.resourceAttributes.{field} {how} due to parse error"));
        }
        requirements
    };
    let fields = selector("fieldSelector", field_requirements);
    let labels = selector("labelSelector", label_requirements);
    let text = |field: &str| on.str_at(&[field]).unwrap_or_default();
    let action = ResourceAction {
        verb: text("verb"),
        group,
        version: text("version"),
        resource: text("resource"),
        subresource: text("subresource"),
        namespace: text("namespace"),
        name: text("name").into(),
        fields,
        labels,
    };
    (Action::Resource(action), errors)
}

/// What could be understood of a selector. Requirements restrict, so an action with fewer of them is
/// a wider one.
struct Understood {
    requirements: Vec<Requirement>,
    /// Whether nothing was left out.
    is_whole: bool,
}

fn field_requirements(on: &Value, field: &str) -> Understood {
    understood(on, field, fields, |found| {
        let requirement = requirement(found)?;
        // A field has one value, so that a selector in a query can say the same.
        let says_one = matches!(requirement.operator, Operator::In | Operator::NotIn);
        (says_one && requirement.values.len() == 1).then_some(requirement)
    })
}

fn label_requirements(on: &Value, field: &str) -> Understood {
    understood(on, field, labels, requirement)
}

fn understood(
    on: &Value,
    field: &str,
    parse: fn(&str) -> Result<Vec<Requirement>, String>,
    read: impl Fn(&Value) -> Option<Requirement>,
) -> Understood {
    let raw = on.str_at(&[field, "rawSelector"]).unwrap_or_default();
    if raw.is_empty() {
        let all: Vec<_> = requirements(on, field).map(read).collect();
        let is_whole = all.iter().all(Option::is_some);
        return Understood { requirements: all.into_iter().flatten().collect(), is_whole };
    }
    let parsed = parse(raw);
    Understood { is_whole: parsed.is_ok(), requirements: parsed.unwrap_or_default() }
}

/// A decision as the `status` of an access review, with what could not be understood of the
/// question.
fn status(decision: Decision, of_question: Vec<String>) -> Map {
    let mut status = Map::from([("allowed", Value::from(decision.is_allowed()))]);
    if decision.verdict == Verdict::Deny {
        status.insert("denied", true);
    }
    if !decision.reason.is_empty() {
        status.insert("reason", decision.reason);
    }
    let mut errors = decision.problems;
    if !decision.error.is_empty() {
        errors.insert(0, decision.error);
    }
    let of_decision = Some(errors.join(", ")).filter(|text| !text.is_empty());
    let errors: Vec<String> = of_decision.into_iter().chain(of_question).collect();
    if !errors.is_empty() {
        status.insert("evaluationError", errors.join("; "));
    }
    status
}

fn present<'v>(spec: &'v Value, field: &str) -> Option<&'v Value> {
    spec.get(field).filter(|value| !value.is_null())
}

fn requirements<'v>(on: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    on.at(&[field, "requirements"]).and_then(Value::as_list).unwrap_or_default().iter()
}

fn values(requirement: &Value) -> impl Iterator<Item = &str> {
    let list = requirement.get("values").and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str)
}

/// A requirement of a valid selector; `None` for one whose operator is not known, as of a client
/// that is newer.
fn requirement(found: &Value) -> Option<Requirement> {
    let operator = match found.str_at(&["operator"])? {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        _ => return None,
    };
    let values = values(found).map(str::to_owned).collect();
    Some(Requirement {
        key: found.str_at(&["key"]).unwrap_or_default().to_owned(),
        operator,
        values,
    })
}

/// An empty selector restricts nothing, and neither a text that does not parse nor an operator that
/// is not known is a reason to refuse.
fn check_selector(on: &Value, path: &Path, field: &str, of_labels: bool, causes: &mut Vec<Cause>) {
    let raw = on.str_at(&[field, "rawSelector"]).unwrap_or_default();
    if !raw.is_empty() && requirements(on, field).next().is_some() {
        causes.push(Cause::invalid(
            path.child("rawSelector"),
            raw,
            "may not specified at the same time as requirements",
        ));
    }
    for (index, requirement) in requirements(on, field).enumerate() {
        check_requirement(requirement, &path.child("requirements").index(index), of_labels, causes);
    }
}

fn check_requirement(requirement: &Value, path: &Path, of_labels: bool, causes: &mut Vec<Cause>) {
    let key = requirement.str_at(&["key"]).unwrap_or_default();
    if !of_labels && key.is_empty() {
        causes.push(Cause::required(path.child("key"), "must be specified"));
    }
    let at = path.child("values");
    let given = values(requirement).count();
    match requirement.str_at(&["operator"]).unwrap_or_default() {
        "In" | "NotIn" if given == 0 => {
            causes
                .push(Cause::required(&at, "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if given > 0 => {
            causes.push(Cause::forbidden(
                &at,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ));
        }
        // Operators that are not known are for the evaluation to tell.
        _ => {}
    }
    if !of_labels {
        return;
    }
    causes.extend(
        name::qualified_name(key).iter().map(|why| Cause::invalid(path.child("key"), key, why)),
    );
    for (index, value) in values(requirement).enumerate() {
        causes.extend(
            name::label_value(value).iter().map(|why| Cause::invalid(at.index(index), value, why)),
        );
    }
}
