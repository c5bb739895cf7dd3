//! LimitRange: the default requests and limits of new pods in a namespace, and the bounds of pods
//! and claims.
//!
//! Invariants: LimitRanges are asked in the order of their names, and the first that an object
//! violates is the one in the refusal. A pod is checked when it is created and when it is resized,
//! because its resources do not change through an update of the pod itself; a claim at every write,
//! unless its deletion has begun. A LimitRange that cannot be read refuses every write it could apply to.
//!
//! Not here: sums over a namespace, which are ResourceQuota's.

mod bounds;
mod defaults;

use std::collections::HashSet;

use quorate_meta::Value;

use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Terms, stored_codec};

/// The plugin that defaults and bounds requests and limits.
pub(super) struct LimitRanger;

impl Plugin for LimitRanger {
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        let key = view.names.domain_key("limit-ranger");
        for range in ranges(view, attributes)? {
            defaults::give(&range, object, &key);
        }
        Ok(())
    }

    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        _: &mut Terms,
    ) -> Result<(), Error> {
        if is_terminating(attributes.old) {
            return Ok(());
        }
        let is_pod = attributes.target.resource.plural == "pods";
        for range in ranges(view, attributes)? {
            let problems =
                if is_pod { bounds::of_pod(&range, new) } else { bounds::of_claim(&range, new) };
            if let Some(why) = told(problems) {
                return Err(forbidden(attributes, &why));
            }
        }
        Ok(())
    }
}

/// The limit ranges of the object's namespace.
fn ranges(view: &SnapshotView<'_>, attributes: &Attributes<'_>) -> Result<Vec<Value>, Error> {
    let Some(resource) = view.resource("", "v1", "limitranges") else {
        return Ok(Vec::new());
    };
    view.list(resource, attributes.target.namespace)
        .map(|(_, entry)| stored_codec::decode(resource, entry))
        .collect()
}

/// Whether the object's deletion had begun before this write.
fn is_terminating(old: Option<&Value>) -> bool {
    old.is_some_and(|old| old.str_at(&["metadata", "deletionTimestamp"]).is_some())
}

/// The items of a LimitRange, each with the defaults and bounds of one type.
fn items(range: &Value) -> &[Value] {
    range.at(&["spec", "limits"]).and_then(Value::as_list).unwrap_or_default()
}

/// All problems in one text, each of them once; `None` when there are none.
fn told(mut problems: Vec<String>) -> Option<String> {
    let mut seen = HashSet::new();
    problems.retain(|problem| seen.insert(problem.clone()));
    match problems.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        all => Some(format!("[{}]", all.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn problems_in_one_text() {
        let check = |problems: &[&str], expect: Option<&str>| {
            let problems = problems.iter().map(|&problem| problem.to_owned()).collect();
            assert_eq!(told(problems).as_deref(), expect);
        };
        check(&[], None);
        check(&["a"], Some("a"));
        check(&["a", "a"], Some("a"));
        check(&["b", "a", "b"], Some("[b, a]"));
    }

    #[test]
    fn what_is_terminating() {
        let check = |old: Option<serde_json::Value>, expect: bool| {
            assert_eq!(is_terminating(old.map(Value::from).as_ref()), expect);
        };
        check(None, false);
        check(Some(json!({"metadata": {"name": "c"}})), false);
        check(Some(json!({"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}})), true);
    }
}
