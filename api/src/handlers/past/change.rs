//! A change as answers about the past have it: when, by whom, and how.
//!
//! Invariant: what is not known is left out.

use quorate_meta::{Map, Value};
use quorate_registry::{Origin, OriginUser};
use quorate_store::Revision;

use super::state::time_text;

/// Members of a change that is told.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) revision: Revision,
    pub(super) time_ms: Option<u64>,
    pub(super) origin: &'a [u8],
}

impl Change<'_> {
    /// The members that every change has, without what happened to an object.
    pub(super) fn members(&self) -> Map {
        let mut members = self.origin();
        members.insert("revision", self.revision.to_string());
        if let Some(ms) = self.time_ms {
            members.insert("time", time_text(ms));
        }
        members
    }

    fn origin(&self) -> Map {
        let Some(origin) = Origin::decode(self.origin) else { return Map::new() };
        let texts = [
            ("verb", &origin.verb),
            ("subresource", &origin.subresource),
            ("manager", &origin.manager),
            ("userAgent", &origin.user_agent),
            ("auditID", &origin.audit_id),
            ("source", &origin.source),
        ];
        let mut members: Map = texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name, Value::from(text.as_str())))
            .collect();
        for (name, user) in [("user", &origin.user), ("impersonator", &origin.impersonator)] {
            if !user.is_absent() {
                members.insert(name, Value::Map(user_members(user)));
            }
        }
        let options = options(&origin);
        if !options.is_empty() {
            members.insert("options", Value::Map(options));
        }
        if origin.truncated {
            members.insert("truncated", true);
        }
        members
    }
}

fn options(origin: &Origin) -> Map {
    let mut options = Map::new();
    if origin.force {
        options.insert("force", true);
    }
    if let Some(policy) = origin.propagation {
        options.insert("propagationPolicy", policy.name());
    }
    if let Some(seconds) = origin.grace_seconds {
        options.insert("gracePeriodSeconds", seconds);
    }
    options
}

fn user_members(user: &OriginUser) -> Map {
    let OriginUser { name, uid, groups, extra } = user;
    quorate_registry::UserInfo { name, uid, groups, extra }.to_fields()
}

/// What a change did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeType {
    Added,
    Modified,
    Deleted,
}

impl ChangeType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}
