//! What controllers say about objects in `status.conditions`; first of all, what holds a namespace that is being deleted.

use quorate_meta::{Map, Time, Value};

use super::context::{Context, is_overtaken, is_settled};
use super::namespaces::{Found, Remaining};
use crate::error::Error;
use crate::registry::Part;
use crate::registry::write::{Target, UpdateOptions};

/// Type, status, reason and message of a condition.
pub(super) type Condition = (&'static str, bool, &'static str, String);

/// Writes what holds a namespace.
pub(super) async fn report(
    context: &Context,
    target: Target<'_>,
    found: &Found,
    remaining: &Remaining,
) -> Result<(), Error> {
    write(context, target, &conditions(remaining), |current| found.again(target, current)).await
}

/// Whether an object says a condition already.
pub(super) fn says(object: &Value, (kind, status, reason, message): &Condition) -> bool {
    let list = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let text = |condition: &Value, field: &str| condition.str_at(&[field]).unwrap_or_default().to_owned();
    let status = if *status { "True" } else { "False" };
    let expect = [*kind, status, *reason, message.as_str()];
    list.iter().any(|condition| ["type", "status", "reason", "message"].map(|field| text(condition, field)) == expect)
}

/// Writes conditions into the status of the object that `again` finds to be the same as before, unless it has changed;
/// nothing is written while they stay the same.
pub(super) async fn write<F>(
    context: &Context,
    target: Target<'_>,
    conditions: &[Condition],
    again: F,
) -> Result<(), Error>
where
    F: Fn(Option<&Value>) -> Result<Value, Error> + Send + Sync,
{
    let now = Time::from_ms(context.api.env.clock.now_ms()).seconds();
    let change = |current: Option<&Value>| {
        let mut object = again(current)?;
        let before = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default().to_vec();
        object.set_at(&["status", "conditions"], Value::List(merged(before, conditions, &now)));
        Ok(object)
    };
    let options =
        UpdateOptions { write: context.options(), part: Part::Status, if_match: None, replaces: false, named: None };
    match context.writer.update(target, options, change).await {
        Err(error) if is_settled(&error) || is_overtaken(&error) => Ok(()),
        updated => updated.map(drop),
    }
}

fn conditions(remaining: &Remaining) -> [Condition; 5] {
    let list = |counts: &std::collections::BTreeMap<String, usize>, verb: &str| {
        let parts: Vec<_> =
            counts.iter().map(|(what, count)| format!("{what} {verb} {count} resource instances")).collect();
        parts.join(", ")
    };
    let objects = format!("Some resources are remaining: {}", list(&remaining.objects, "has"));
    let finalizers = match remaining.finalizers.is_empty() {
        true => "All content-preserving finalizers finished".to_owned(),
        false => {
            let holders = list(&remaining.finalizers, "in");
            format!("Some content in the namespace has finalizers remaining: {holders}")
        }
    };
    let held = !remaining.finalizers.is_empty();
    let discovered = "All resources successfully discovered".to_owned();
    let parsed = "All legacy types successfully parsed".to_owned();
    let deleted = "All content successfully deleted, may be waiting on finalization".to_owned();
    [
        ("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", discovered),
        ("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", parsed),
        ("NamespaceDeletionContentFailure", false, "ContentDeleted", deleted),
        ("NamespaceContentRemaining", true, "SomeResourcesRemain", objects),
        (
            "NamespaceFinalizersRemaining",
            held,
            if held { "SomeFinalizersRemain" } else { "ContentHasNoFinalizers" },
            finalizers,
        ),
    ]
}

/// The list with these conditions in it; the time of one moves with its status only.
fn merged(mut list: Vec<Value>, conditions: &[Condition], now: &str) -> Vec<Value> {
    for (kind, status, reason, message) in conditions {
        let status = if *status { "True" } else { "False" };
        let at = list.iter().position(|other| other.str_at(&["type"]) == Some(kind));
        let since = at.map(|at| &list[at]).filter(|other| other.str_at(&["status"]) == Some(status));
        let since = since.and_then(|other| other.str_at(&["lastTransitionTime"])).unwrap_or(now).to_owned();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_keep_their_time_while_their_status_lasts() {
        let mut remaining = Remaining::default();
        remaining.objects.insert("configmaps".into(), 1);
        let first = merged(Vec::new(), &conditions(&remaining), "t1");
        remaining.finalizers.insert("example.com/f".into(), 1);
        let second = merged(first.clone(), &conditions(&remaining), "t2");
        assert_eq!(merged(second.clone(), &conditions(&remaining), "t3"), second);
        let time = |list: &[Value], at: usize| list[at].str_at(&["lastTransitionTime"]).map(str::to_owned);
        assert_eq!((first.len(), second.len()), (5, 5));
        assert_eq!((time(&second, 3), time(&second, 4)), (Some("t1".into()), Some("t2".into())));
        let message = "Some resources are remaining: configmaps has 1 resource instances";
        assert_eq!(first[3].str_at(&["message"]), Some(message));
    }
}
