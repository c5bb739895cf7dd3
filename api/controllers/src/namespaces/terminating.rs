//! A terminating namespace, told by its uid from a later one of the same name.

use quorate_meta::{Status, Value};
use quorate_registry::error::Error;
use quorate_registry::write::Target;

/// The uid of a namespace that is being deleted.
#[derive(Debug)]
pub(super) struct TerminatingNamespace(String);

impl TerminatingNamespace {
    /// The namespace of an object.
    pub(super) fn new(object: &Value) -> Self {
        Self(object.str_at(&["metadata", "uid"]).unwrap_or_default().to_owned())
    }

    /// Whether an object is that namespace, and still being deleted.
    pub(super) fn is(&self, object: &Value) -> bool {
        let text = |field: &str| object.str_at(&["metadata", field]).unwrap_or_default();
        text("uid") == self.0 && !text("deletionTimestamp").is_empty()
    }

    /// The namespace to change; 404 when it is gone, even if another one has its name now.
    pub(super) fn unchanged(
        &self,
        target: Target<'_>,
        current: Option<&Value>,
    ) -> Result<Value, Error> {
        let same = current.filter(|object| self.is(object)).cloned();
        same.ok_or_else(|| Status::not_found(&target.resource.group_resource(), target.name).into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_namespace_is_told_from_a_later_one_of_its_name() {
        let found = TerminatingNamespace("u".into());
        let check = |metadata: serde_json::Value, expect: bool| {
            assert_eq!(found.is(&json!({"metadata": metadata}).into()), expect, "{metadata}");
        };
        let gone = "2030-01-01T00:00:00Z";
        check(json!({"name": "a", "uid": "u", "deletionTimestamp": gone}), true);
        check(json!({"name": "a", "uid": "u"}), false);
        check(json!({"name": "a", "uid": "v"}), false);
        check(json!({"name": "a", "uid": "v", "deletionTimestamp": gone}), false);
    }
}
