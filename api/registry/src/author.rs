//! Authors of writes: the user on whose behalf a write is made, and the permissions that the user
//! needs besides that for the request itself.
//!
//! A handler that makes a [`crate::write::Writer`] for a user gives it an [`Author`].
//!
//! Invariant: a writer without an author is the server's own and needs no permission.
//!
//! Not here: users and rules, which are the authenticator's and the authorizer's.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use quorate_meta::Value;
use tokio::time::Instant;

use crate::error::Error;
use crate::options::Target;
use crate::permission::{AccessCheck, AccessDecision, Grant, Permission, UserInfo};

/// The user of a write, and the authorizer's decisions about it.
#[async_trait]
pub trait Author: Debug + Send + Sync {
    /// The user.
    fn user(&self) -> UserInfo<'_>;

    /// Whether the user has a permission for a resource of this name.
    async fn may(&self, permission: &Permission, name: &str) -> Result<bool, Error>;

    /// Admits an object that the user may write, in the place of `old` if it existed before.
    ///
    /// # Errors
    /// The refusal: a 403.
    fn check_object(
        &self,
        target: Target<'_>,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Error>;

    /// Admits rights that the user may grant by writing this object (RBAC escalation).
    ///
    /// # Errors
    /// The refusal: a 403.
    async fn check_grant(&self, target: Target<'_>, grant: &Grant) -> Result<(), Error>;

    /// The authorizer's decision about a question of an admission policy.
    async fn decide(&self, check: &AccessCheck) -> AccessDecision;

    /// The end of the request's time; `None` where it has none.
    fn deadline(&self) -> Option<Instant>;

    /// Takes note of what admission tells besides its decision, also where it refuses.
    fn note(&self, notes: Notes);
}

/// What admission tells besides its decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Warnings for the client, each once.
    pub warnings: Vec<String>,
    /// Annotations of the request's audit events, by key.
    pub annotations: BTreeMap<String, String>,
    /// The same for events that have the body of the request as well.
    pub request_annotations: BTreeMap<String, String>,
    /// What the request has waited for, in order.
    pub waits: Vec<AdmissionWait>,
}

/// The time that a request has spent on one webhook or policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionWait {
    /// `webhook` or `policy`.
    pub part: &'static str,
    /// Its name; that of a webhook comes after the one of its configuration, with a slash between.
    pub name: String,
    /// How long it took; those that were asked side by side took it at the same time.
    pub took: Duration,
}

impl Notes {
    /// Adds further notes; of annotations of one key the first stays.
    pub fn add(&mut self, more: Self) {
        for warning in more.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        for (key, value) in more.annotations {
            self.annotations.entry(key).or_insert(value);
        }
        for (key, value) in more.request_annotations {
            self.request_annotations.entry(key).or_insert(value);
        }
        self.waits.extend(more.waits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_runs_again_notes_nothing_twice() {
        let notes = |warning: &str, value: &str| Notes {
            warnings: vec![warning.to_owned()],
            annotations: BTreeMap::from([("k".to_owned(), value.to_owned())]),
            ..Notes::default()
        };
        let mut all = notes("a", "1");
        all.add(notes("b", "2"));
        all.add(notes("a", "1"));
        assert_eq!(all.warnings, ["a", "b"]);
        assert_eq!(all.annotations["k"], "1");
    }
}
