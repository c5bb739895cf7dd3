//! What controllers say about objects in `status.conditions`; first of all, what holds a namespace that is being deleted.

use quorate_meta::{Map, Status, Time, Value};

use super::context::{Context, is_overtaken, is_settled};
use super::namespaces::{Failures, Found, Remaining};
use quorate_registry::Part;
use quorate_registry::error::Error;
use quorate_registry::write::{Target, UpdateOptions};

/// Failures that a message tells of one resource, and in all.
const SHOWN_OF_ONE: usize = 3;
const SHOWN: usize = 30;

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
fn says(object: &Value, (kind, status, reason, message): &Condition) -> bool {
    let list = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let text = |condition: &Value, field: &str| condition.str_at(&[field]).unwrap_or_default().to_owned();
    let status = if *status { "True" } else { "False" };
    let expect = [*kind, status, *reason, message.as_str()];
    list.iter().any(|condition| ["type", "status", "reason", "message"].map(|field| text(condition, field)) == expect)
}

/// Writes a condition of an object that was seen like this, unless it says so already or has changed since.
pub(super) async fn say(
    context: &Context,
    target: Target<'_>,
    seen: &Value,
    condition: Condition,
) -> Result<(), Error> {
    if says(seen, &condition) {
        return Ok(());
    }
    write(context, target, &[condition], |current| same(target, seen, current)).await
}

/// The object as it is now; 404 when it is gone, 409 when it has changed since it was seen.
pub(super) fn same(target: Target<'_>, seen: &Value, current: Option<&Value>) -> Result<Value, Error> {
    const VERSION: [&str; 2] = ["metadata", "resourceVersion"];
    let current = current.ok_or_else(|| Status::not_found(&target.resource.group_resource(), target.name))?;
    match current.str_at(&VERSION) == seen.str_at(&VERSION) {
        true => Ok(current.clone()),
        false => Err(Status::stale(&target.resource.group_resource(), target.name).into()),
    }
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
    let now = Time::from_ms(context.env.clock.now_ms()).seconds();
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
    let Remaining { objects, finalizers, failures, .. } = remaining;
    let content = match failures.is_empty() {
        true => {
            (false, "ContentDeleted", "All content successfully deleted, may be waiting on finalization".to_owned())
        }
        false => (true, "ContentDeletionFailed", failed(failures)),
    };
    let left = match objects.is_empty() {
        true => (false, "ContentRemoved", "All content successfully removed".to_owned()),
        false => (true, "SomeResourcesRemain", format!("Some resources are remaining: {}", list(objects, "has"))),
    };
    let held = match finalizers.is_empty() {
        true => (false, "ContentHasNoFinalizers", "All content-preserving finalizers finished".to_owned()),
        false => {
            let holders = list(finalizers, "in");
            let message = format!("Some content in the namespace has finalizers remaining: {holders}");
            (true, "SomeFinalizersRemain", message)
        }
    };
    let discovered = "All resources successfully discovered".to_owned();
    let parsed = "All legacy types successfully parsed".to_owned();
    [
        ("NamespaceDeletionDiscoveryFailure", false, "ResourcesDiscovered", discovered),
        ("NamespaceDeletionGroupVersionParsingFailure", false, "ParsedGroupVersions", parsed),
        ("NamespaceDeletionContentFailure", content.0, content.1, content.2),
        ("NamespaceContentRemaining", left.0, left.1, left.2),
        ("NamespaceFinalizersRemaining", held.0, held.1, held.2),
    ]
}

/// Which objects stay and why: the first ones by resource and name, so that the same failures give the same text.
fn failed(failures: &Failures) -> String {
    let mut parts = Vec::new();
    for (resource, objects) in failures {
        let shown = objects.iter().take(SHOWN_OF_ONE);
        parts.extend(shown.map(|(name, why)| format!("{resource} {name}: {why}")));
        if objects.len() > SHOWN_OF_ONE {
            parts.push(format!("{} more {resource}", objects.len() - SHOWN_OF_ONE));
        }
    }
    if parts.len() > SHOWN {
        parts.truncate(SHOWN);
        parts.push("and others".to_owned());
    }
    format!("Failed to delete all resource types, {} remaining: {}", failures.len(), parts.join(", "))
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

    #[test]
    fn failures_are_told_until_they_are_over() {
        let check = |names: &[(&str, &str)], expect: (bool, &str, &str)| {
            let mut remaining = Remaining::default();
            for (resource, name) in names {
                let failures = remaining.failures.entry((*resource).to_owned()).or_default();
                failures.insert((*name).to_owned(), "refused".to_owned());
            }
            let [_, _, (_, status, reason, message), ..] = conditions(&remaining);
            assert_eq!((status, reason, message.as_str()), expect);
        };
        let deleted = "All content successfully deleted, may be waiting on finalization";
        check(&[], (false, "ContentDeleted", deleted));
        let two = "Failed to delete all resource types, 2 remaining: pods p: refused, secrets s: refused";
        check(&[("secrets", "s"), ("pods", "p")], (true, "ContentDeletionFailed", two));
        let many = "Failed to delete all resource types, 1 remaining: \
            pods a: refused, pods b: refused, pods c: refused, 2 more pods";
        let pods = ["e", "d", "c", "b", "a"].map(|name| ("pods", name));
        check(&pods, (true, "ContentDeletionFailed", many));
    }

    #[test]
    fn the_message_about_failures_has_bounds() {
        let objects: std::collections::BTreeMap<_, _> =
            (0..100).map(|at| (format!("o{at}"), "refused".to_owned())).collect();
        let failures: Failures = (0..100).map(|at| (format!("r{at}"), objects.clone())).collect();
        let message = failed(&failures);
        assert_eq!(message.matches(", ").count(), SHOWN + 1, "{message}");
        assert!(message.ends_with(", and others"), "{message}");
    }

    #[test]
    fn an_empty_namespace_has_nothing_left() {
        assert!(conditions(&Remaining::default()).iter().all(|(_, status, ..)| !status));
    }
}
