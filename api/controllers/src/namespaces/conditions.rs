//! The conditions of a terminating namespace: what still holds it.

use std::collections::BTreeMap;

use quorate_registry::error::Error;
use quorate_registry::write::Target;

use super::remaining::{Failures, Remaining};
use super::terminating::TerminatingNamespace;
use crate::conditions::{self, Condition};
use crate::context::Context;

/// Failures that a message names of one resource, and in all.
const MAX_FAILURES_PER_RESOURCE: usize = 3;
const MAX_FAILURES: usize = 30;

/// Writes the conditions of a namespace.
pub(super) async fn report(
    context: &Context,
    target: Target<'_>,
    found: &TerminatingNamespace,
    remaining: &Remaining,
) -> Result<(), Error> {
    conditions::set_all(context, target, &of_remaining(remaining), |current| {
        found.unchanged(target, current)
    })
    .await
}

fn of_remaining(remaining: &Remaining) -> [Condition; 5] {
    let list = |counts: &BTreeMap<String, usize>, verb: &str| {
        let parts: Vec<_> = counts
            .iter()
            .map(|(what, count)| format!("{what} {verb} {count} resource instances"))
            .collect();
        parts.join(", ")
    };
    let Remaining { objects, finalizers, failures, .. } = remaining;
    let content = match failures.is_empty() {
        true => (
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        ),
        false => (true, "ContentDeletionFailed", failed(failures)),
    };
    let left = match objects.is_empty() {
        true => (false, "ContentRemoved", "All content successfully removed".to_owned()),
        false => (
            true,
            "SomeResourcesRemain",
            format!("Some resources are remaining: {}", list(objects, "has")),
        ),
    };
    let held = match finalizers.is_empty() {
        true => (
            false,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished".to_owned(),
        ),
        false => {
            let holders = list(finalizers, "in");
            let message =
                format!("Some content in the namespace has finalizers remaining: {holders}");
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

/// Which objects stay and why: the first ones by resource and name, so that the same failures give
/// the same text.
fn failed(failures: &Failures) -> String {
    let mut parts = Vec::new();
    for (resource, objects) in failures {
        let shown = objects.iter().take(MAX_FAILURES_PER_RESOURCE);
        parts.extend(shown.map(|(name, why)| format!("{resource} {name}: {why}")));
        if objects.len() > MAX_FAILURES_PER_RESOURCE {
            parts.push(format!("{} more {resource}", objects.len() - MAX_FAILURES_PER_RESOURCE));
        }
    }
    if parts.len() > MAX_FAILURES {
        parts.truncate(MAX_FAILURES);
        parts.push("and others".to_owned());
    }
    format!(
        "Failed to delete all resource types, {} remaining: {}",
        failures.len(),
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use quorate_meta::Value;

    use super::*;
    use crate::conditions::merged;

    #[test]
    fn conditions_keep_their_time_while_their_status_lasts() {
        let mut remaining = Remaining::default();
        remaining.objects.insert("configmaps.".into(), 1);
        let first = merged(Vec::new(), &of_remaining(&remaining), "t1");
        remaining.finalizers.insert("example.com/f".into(), 1);
        let second = merged(first.clone(), &of_remaining(&remaining), "t2");
        assert_eq!(merged(second.clone(), &of_remaining(&remaining), "t3"), second);
        let time =
            |list: &[Value], at: usize| list[at].str_at(&["lastTransitionTime"]).map(str::to_owned);
        assert_eq!((first.len(), second.len()), (5, 5));
        assert_eq!((time(&second, 3), time(&second, 4)), (Some("t1".into()), Some("t2".into())));
        let message = "Some resources are remaining: configmaps. has 1 resource instances";
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
            let [_, _, (_, status, reason, message), ..] = of_remaining(&remaining);
            assert_eq!((status, reason, message.as_str()), expect);
        };
        let deleted = "All content successfully deleted, may be waiting on finalization";
        check(&[], (false, "ContentDeleted", deleted));
        let two =
            "Failed to delete all resource types, 2 remaining: pods p: refused, secrets s: refused";
        check(&[("secrets", "s"), ("pods", "p")], (true, "ContentDeletionFailed", two));
        let many = "Failed to delete all resource types, 1 remaining: \
            pods a: refused, pods b: refused, pods c: refused, 2 more pods";
        let pods = ["e", "d", "c", "b", "a"].map(|name| ("pods", name));
        check(&pods, (true, "ContentDeletionFailed", many));
    }

    #[test]
    fn the_message_about_failures_has_bounds() {
        let objects: BTreeMap<_, _> =
            (0..100).map(|at| (format!("o{at}"), "refused".to_owned())).collect();
        let failures: Failures = (0..100).map(|at| (format!("r{at}"), objects.clone())).collect();
        let message = failed(&failures);
        assert_eq!(message.matches(", ").count(), MAX_FAILURES + 1, "{message}");
        assert!(message.ends_with(", and others"), "{message}");
    }

    #[test]
    fn an_empty_namespace_has_nothing_left() {
        assert!(of_remaining(&Remaining::default()).iter().all(|(_, status, ..)| !status));
    }
}
