//! May this user act as another one? Each part of whom they name takes a permission of its own (document 000, "Impersonation").
//!
//! Invariant: acting as somebody is as fresh a right as what is done that way needs; a request that goes on to a newer state asks here
//! again.

use futures::future::join_all;
use http::HeaderMap;

use super::{Action, Authorizer, ResourceAction};
use crate::authentication::{ImpersonatedPart, User, requested_impersonation};
use quorate_registry::error::Error;

impl Authorizer {
    /// Whom the headers name, if they name anybody and the sender may act as them for this.
    ///
    /// # Errors
    /// The 400 or 403 to answer; 503 when it cannot be decided just now.
    pub async fn acting(
        &self,
        sender: &User,
        headers: &HeaderMap,
        what_for: &Action<'_>,
    ) -> Result<Option<User>, Error> {
        let Some(impersonation) = requested_impersonation(self.names, headers)? else { return Ok(None) };
        // All at once: where no quorum answers, each of them takes its time.
        let checks = impersonation.parts.iter().map(|part| self.check_part(sender, part, what_for));
        join_all(checks).await.into_iter().collect::<Result<(), Error>>()?;
        Ok(Some(impersonation.user))
    }

    async fn check_part(&self, sender: &User, part: &ImpersonatedPart, what_for: &Action<'_>) -> Result<(), Error> {
        let group = if part.of_authentication { self.names.group("authentication") } else { String::new() };
        let on = ResourceAction {
            verb: "impersonate",
            group: &group,
            version: "v1",
            resource: part.resource,
            subresource: &part.subresource,
            namespace: &part.namespace,
            name: part.name.as_str().into(),
            ..ResourceAction::default()
        };
        self.check_for(what_for, sender, &Action::Resource(on)).await
    }
}
