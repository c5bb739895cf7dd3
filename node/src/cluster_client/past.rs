//! What the server tells of the past: whether it keeps one, and one change.

use http::{Method, StatusCode};
use quorate_meta::Value;

use super::{ClusterClient, JSON};
use crate::error::Error;

/// Where the server says how far back it knows.
const PAST: &str = "/past";

/// Fails where the server has no past: other servers ignore what they do not know of a query, and would answer with the
/// present.
pub(crate) async fn check_past(client: &mut ClusterClient) -> Result<(), Error> {
    let reply = client.send(Method::GET, PAST, JSON, None).await?;
    match reply.status {
        StatusCode::NOT_FOUND => Err(Error::failed(
            "this server knows nothing of the past: it is not Quorate, or an older one",
        )),
        // Users who may read objects need not be allowed to read this.
        StatusCode::FORBIDDEN => Ok(()),
        _ => reply.into_body().map(drop),
    }
}

/// A change of an object, as the server tells it.
#[derive(Debug, Clone)]
pub(crate) struct Change(pub(crate) Value);

impl Change {
    /// The revision that it made.
    pub(crate) fn revision(&self) -> Option<u64> {
        self.0.str_at(&["revision"])?.parse().ok()
    }

    /// The text of a member; empty where it is not known.
    pub(crate) fn text(&self, member: &str) -> &str {
        self.0.str_at(&[member]).unwrap_or_default()
    }

    /// Whether it is the deletion of the object.
    pub(crate) fn is_deletion(&self) -> bool {
        self.text("type") == "DELETED"
    }

    /// Whether it made the object. The first version that is known may have been there before.
    pub(crate) fn is_creation(&self) -> bool {
        self.text("type") == "ADDED"
    }

    /// What was done: the verb, with the subresource.
    pub(crate) fn verb(&self) -> String {
        let verb = match self.text("verb") {
            "" if self.0.get("oldest").is_some() => "(older)",
            "" => match self.text("type") {
                "ADDED" => "create",
                "DELETED" => "delete",
                _ => "update",
            },
            verb => verb,
        };
        match self.text("subresource") {
            "" => verb.to_owned(),
            subresource => format!("{verb} {subresource}"),
        }
    }

    /// Who made it: a user, who may have acted for another, or a part of the server.
    pub(crate) fn user(&self) -> String {
        let user = self.0.str_at(&["user", "username"]).unwrap_or(self.text("source"));
        match self.0.str_at(&["impersonator", "username"]) {
            Some(impersonator) => format!("{user} (by {impersonator})"),
            None => user.to_owned(),
        }
    }

    /// The paths that it changed.
    pub(crate) fn changed(&self) -> Vec<&str> {
        let paths = self.0.get("changed").and_then(Value::as_list).unwrap_or_default();
        paths.iter().filter_map(Value::as_str).collect()
    }

    /// The paths in a few words: `most` of them, and how many more there are.
    pub(crate) fn changed_briefly(&self, most: usize) -> String {
        let paths = self.changed();
        let mut words = paths.iter().take(most).copied().collect::<Vec<_>>().join(" ");
        let left = paths.len().saturating_sub(most);
        if left > 0 {
            let more = if self.0.get("changedTruncated").is_some() { "+" } else { "" };
            words.push_str(&format!(" and {left}{more} more"));
        }
        words
    }

    /// Whether it marked the object for deletion.
    pub(crate) fn begins_deletion(&self) -> bool {
        self.changed().contains(&".metadata.deletionTimestamp")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changes_are_told_in_words() {
        let check = |change: serde_json::Value, expect: [&str; 3]| {
            let change = Change(change.into());
            assert_eq!([change.verb(), change.user(), change.changed_briefly(2)], expect);
        };
        check(
            json!({"revision": "3", "type": "MODIFIED", "verb": "patch", "subresource": "status",
                "user": {"username": "ann"}, "changed": [".a", ".b", ".c"]}),
            ["patch status", "ann", ".a .b and 1 more"],
        );
        check(
            json!({"type": "DELETED", "source": "namespace-controller"}),
            ["delete", "namespace-controller", ""],
        );
        check(
            json!({"type": "ADDED", "oldest": true, "user": {"username": "b"}, "impersonator": {"username": "a"}}),
            ["(older)", "b (by a)", ""],
        );
    }

    #[test]
    fn the_mark_of_a_deletion_is_seen() {
        let check = |paths: &[&str], expect: bool| {
            let change = Change(json!({"changed": paths}).into());
            assert_eq!(change.begins_deletion(), expect, "{paths:?}");
        };
        check(&[".metadata.deletionTimestamp", ".metadata.generation"], true);
        check(&[".spec.deletionTimestamp"], false);
    }
}
