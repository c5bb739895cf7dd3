//! The content of a terminating namespace that is still there, and why.

use std::collections::BTreeMap;

use quorate_meta::Value;
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_registry::write::Target;
use quorate_store::{NotApplied, Snapshot};

use crate::context::{Context, is_object_error};

/// Characters of a failure that are kept.
const MAX_REASON_CHARS: usize = 256;

/// Why objects stay that were to be deleted, by resource and name.
pub(super) type Failures = BTreeMap<String, BTreeMap<String, String>>;

/// What is left in a namespace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Remaining {
    /// Objects by resource.
    pub(super) objects: BTreeMap<String, usize>,
    /// Objects by the finalizer that holds them.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// What is wrong with objects that are still there.
    pub(super) failures: Failures,
    /// Bytes of them all.
    pub(super) bytes: usize,
}

/// Records a failure that is about one object; returns any other error.
pub(super) fn record_failure(
    failures: &mut Failures,
    target: Target<'_>,
    error: Error,
) -> Result<(), Error> {
    if !is_object_error(&error) {
        return Err(error);
    }
    failures
        .entry(target.resource.qualified())
        .or_default()
        .insert(target.name.to_owned(), reason(error));
    Ok(())
}

/// The message about a failure: the same text for the same failure, or the condition would be
/// written again and again.
fn reason(error: Error) -> String {
    let message = match error {
        Error::Store(quorate_store::Error::NotApplied(NotApplied::OutOfSpace { .. })) => {
            "the store is full".to_owned()
        }
        error => error.into_status().message,
    };
    message.chars().take(MAX_REASON_CHARS).collect()
}

/// What is left. A failure counts while its object is there; an object that cannot be read is one
/// more.
pub(super) async fn remaining(
    context: &Context,
    snapshot: &Snapshot,
    namespace: &str,
    mut recorded: Failures,
) -> Remaining {
    let mut remaining = Remaining::default();
    let catalogue = context.catalogue.load();
    for resource in catalogue.stored().filter(|resource| resource.namespaced) {
        let plural = resource.qualified();
        let mut of_resource = recorded.remove(&plural).unwrap_or_default();
        let shown = format!("{}.{}", resource.plural, resource.group);
        for (key, entry) in snapshot.range(&resource.prefix(Some(namespace)), None) {
            tokio::task::consume_budget().await;
            *remaining.objects.entry(shown.clone()).or_default() += 1;
            remaining.bytes += entry.value.len();
            let name = resource
                .parse_key(key)
                .map_or_else(|| String::from_utf8_lossy(key), |(_, name)| name.into());
            let mut failure = of_resource.remove(&*name);
            match stored_codec::decode(resource, entry) {
                Ok(object) => {
                    let finalizers = object
                        .at(&["metadata", "finalizers"])
                        .and_then(Value::as_list)
                        .unwrap_or_default();
                    for finalizer in finalizers.iter().filter_map(Value::as_str) {
                        *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                    }
                }
                Err(error) => failure = failure.or_else(|| Some(reason(error))),
            }
            if let Some(failure) = failure {
                remaining
                    .failures
                    .entry(plural.clone())
                    .or_default()
                    .insert(name.into_owned(), failure);
            }
        }
    }
    remaining
}

#[cfg(test)]
mod tests {
    use quorate_meta::Status;

    use super::*;

    #[test]
    fn what_is_wrong_with_one_object_is_told_from_failures_of_the_store() {
        let check = |error: Error, expect: Option<&str>| {
            let told = is_object_error(&error).then(|| reason(error.clone()));
            assert_eq!(told.as_deref(), expect, "{error}");
        };
        let store = |refusal: NotApplied| Error::Store(refusal.into());
        check(Error::bad_request("no"), Some("no"));
        check(Error::internal("unreadable"), Some("Internal error occurred: unreadable"));
        let large =
            "Request entity too large: the transaction has 3 bytes and the limit is 2 bytes";
        check(store(NotApplied::TooLarge { size: 3, limit: 2 }), Some(large));
        check(store(NotApplied::OutOfSpace { used: 3, limit: 2 }), Some("the store is full"));
        let long = "é".repeat(MAX_REASON_CHARS);
        check(Error::bad_request(format!("{long}{long}")), Some(long.as_str()));
        check(store(NotApplied::NoLeader), None);
        check(store(NotApplied::Overloaded), None);
        check(store(NotApplied::Unavailable("stopping".into())), None);
        check(Error::Store(quorate_store::Error::Unknown("deposed".into())), None);
        check(Error::History(quorate_store::HistoryError::Unreadable), None);
        check(Status::service_unavailable("not now").into(), None);
    }
}
