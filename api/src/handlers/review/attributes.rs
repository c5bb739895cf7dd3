//! The attributes that access reviews ask about: what is wrong with them, and the action that they
//! mean.

use std::borrow::Cow;

use quorate_meta::{Cause, Map, Names, Path, Value, name};

use crate::Api;
use quorate_access::authentication::User;
use quorate_access::authorization::{
    Action, Decision, Operator, Requirement, ResourceAction, Verdict, fields, labels,
};

/// What is wrong with the attributes in a review's `spec`.
pub(super) fn problems(spec: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let path = Path::new("spec");
    match (present(spec, "resourceAttributes"), present(spec, "nonResourceAttributes")) {
        (Some(_), Some(other)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            causes.push(Cause::invalid(path.child("nonResourceAttributes"), other.clone(), why));
        }
        (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(Cause::invalid(path.child("resourceAttributes"), Value::Null, why));
        }
        (Some(on), None) => {
            let path = path.child("resourceAttributes");
            check_selector(on, &path.child("fieldSelector"), "fieldSelector", false, &mut causes);
            check_selector(on, &path.child("labelSelector"), "labelSelector", true, &mut causes);
        }
        (None, Some(_)) => {}
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
    let mut selector = |field: &str, parse: fn(&str) -> Result<Vec<Requirement>, String>| {
        let raw = on.str_at(&[field, "rawSelector"]).unwrap_or_default();
        if raw.is_empty() {
            return requirements(on, field).filter_map(requirement).collect();
        }
        parse(raw).unwrap_or_else(|error| {
            errors.push(format!(
                "spec.resourceAttributes.{field} partially ignored due to parse error: {error}"
            ));
            Vec::new()
        })
    };
    let (fields, labels) = (selector("fieldSelector", fields), selector("labelSelector", labels));
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

/// A decision as the `status` of an access review.
fn status(decision: Decision, mut errors: Vec<String>) -> Map {
    let mut status = Map::from([("allowed", Value::from(decision.is_allowed()))]);
    if decision.verdict == Verdict::Deny {
        status.insert("denied", true);
    }
    if !decision.reason.is_empty() {
        status.insert("reason", decision.reason);
    }
    if !decision.error.is_empty() {
        errors.push(decision.error);
    }
    errors.extend(decision.problems);
    if !errors.is_empty() {
        status.insert("evaluationError", errors.join(", "));
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

/// A requirement of a valid selector.
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

/// An empty selector restricts nothing, and a text that does not parse is no reason to refuse.
fn check_selector(on: &Value, path: &Path, field: &str, of_labels: bool, causes: &mut Vec<Cause>) {
    let raw = on.str_at(&[field, "rawSelector"]).unwrap_or_default();
    if !raw.is_empty() && requirements(on, field).next().is_some() {
        causes.push(Cause::invalid(
            path.child("rawSelector"),
            raw,
            "may not specified at the same time as requirements",
        ));
        return;
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
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let known = ["In", "NotIn", "Exists", "DoesNotExist"];
            causes.push(Cause::not_supported(path.child("operator"), other, &known));
        }
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
