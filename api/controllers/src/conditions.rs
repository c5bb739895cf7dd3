//! The writes of `status.conditions` that controllers share.
//!
//! Invariant: a condition's `lastTransitionTime` moves with its status only, and a condition that
//! is there already is not written again.

use quorate_meta::{Map, Status, Time, Value};

use super::context::{Context, is_conflict, is_settled};
use quorate_registry::Part;
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// Type, status, reason and message of a condition.
pub(super) type Condition = (&'static str, bool, &'static str, String);

/// Whether an object has a condition already.
fn has(object: &Value, (kind, status, reason, message): &Condition) -> bool {
    let list = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let text =
        |condition: &Value, field: &str| condition.str_at(&[field]).unwrap_or_default().to_owned();
    let status = if *status { "True" } else { "False" };
    let expect = [*kind, status, *reason, message.as_str()];
    list.iter().any(|condition| {
        ["type", "status", "reason", "message"].map(|field| text(condition, field)) == expect
    })
}

/// Writes a condition of an object that was read like this, unless it has it already or has changed
/// since.
pub(super) async fn set(
    context: &Context,
    target: Target<'_>,
    seen: &Value,
    condition: Condition,
) -> Result<(), Error> {
    if has(seen, &condition) {
        return Ok(());
    }
    set_all(context, target, &[condition], |current| unchanged(target, seen, current)).await
}

/// The object as it is now; 404 when it is gone, 409 when it has changed since it was read.
pub(super) fn unchanged(
    target: Target<'_>,
    seen: &Value,
    current: Option<&Value>,
) -> Result<Value, Error> {
    const VERSION: [&str; 2] = ["metadata", "resourceVersion"];
    let current =
        current.ok_or_else(|| Status::not_found(&target.resource.group_resource(), target.name))?;
    match current.str_at(&VERSION) == seen.str_at(&VERSION) {
        true => Ok(current.clone()),
        false => Err(Status::stale(&target.resource.group_resource(), target.name).into()),
    }
}

/// Writes conditions into the status of the object that `again` finds to be the same as before,
/// unless it has changed; nothing is written while they stay the same.
pub(super) async fn set_all<F>(
    context: &Context,
    target: Target<'_>,
    conditions: &[Condition],
    again: F,
) -> Result<(), Error>
where
    F: Fn(Option<&Value>) -> Result<Value, Error> + Send + Sync,
{
    let now = Time::from_ms(context.env.clock.now_ms()).seconds();
    let change = |current: Option<&Value>| {
        let mut object = again(current)?;
        let before = object
            .at(&["status", "conditions"])
            .and_then(Value::as_list)
            .unwrap_or_default()
            .to_vec();
        object.set_at(&["status", "conditions"], Value::List(merged(before, conditions, &now)));
        Ok(object)
    };
    let options = context.update_options(Part::Status);
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) || is_conflict(&error) => Ok(()),
        updated => updated.map(drop),
    }
}

/// The list with these conditions in it; the time of one moves with its status only.
pub(super) fn merged(mut list: Vec<Value>, conditions: &[Condition], now: &str) -> Vec<Value> {
    for (kind, status, reason, message) in conditions {
        let status = if *status { "True" } else { "False" };
        let at = list.iter().position(|other| other.str_at(&["type"]) == Some(kind));
        let since =
            at.map(|at| &list[at]).filter(|other| other.str_at(&["status"]) == Some(status));
        let since =
            since.and_then(|other| other.str_at(&["lastTransitionTime"])).unwrap_or(now).to_owned();
        let condition = Value::Map(Map::from([
            ("lastTransitionTime", since.as_str()),
            ("message", message),
            ("reason", reason),
            ("status", status),
            ("type", kind),
        ]));
        match at {
            Some(at) => list[at] = condition,
            None => list.push(condition),
        }
    }
    list
}
