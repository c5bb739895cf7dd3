//! The author of a request's writes: its user, with the permissions that writes turn out to need.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_meta::Value;
use quorate_meta::well_known::{GROUP_SERVICE_ACCOUNTS, USER_SERVICE_ACCOUNT_PREFIX};
use tokio::time::Instant;

use crate::Api;
use crate::handlers::Request;
use crate::handlers::write::origin::{origin_of, user_info};
use quorate_access::authentication::User;
use quorate_access::authorization::{Action, ResourceAction, check_escalation, fields, labels};
use quorate_registry::error::Error;
use quorate_registry::write::{Target, Writer};
use quorate_registry::{
    AccessCheck, AccessDecision, AccessTarget, Author, Grant, Notes, Permission, UserInfo,
};

/// The user of a request, and what the authorizer says about them.
#[derive(Debug)]
struct Requester {
    api: Arc<Api>,
    user: Arc<User>,
    deadline: Instant,
    notes: Arc<Mutex<Notes>>,
}

#[async_trait]
impl Author for Requester {
    fn user(&self) -> UserInfo<'_> {
        user_info(&self.user)
    }

    async fn may(&self, permission: &Permission, name: &str) -> Result<bool, Error> {
        let Permission { verb, group, resource, .. } = permission;
        let action = ResourceAction {
            verb,
            group,
            version: "*",
            resource,
            name: name.into(),
            ..ResourceAction::default()
        };
        Ok(self.api.authorizer.decide(&self.user, &Action::Resource(action)).await.is_allowed())
    }

    fn check_object(
        &self,
        target: Target<'_>,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<(), Error> {
        let restriction = self.api.authorizer.node_restriction(&self.user);
        restriction.map_or(Ok(()), |restriction| restriction.check_object(target, old, new))
    }

    async fn check_grant(&self, target: Target<'_>, grant: &Grant) -> Result<(), Error> {
        check_escalation(&self.api.authorizer, &self.user, target, grant).await
    }

    async fn decide(&self, check: &AccessCheck) -> AccessDecision {
        let account = check.service_account.as_ref();
        let account = account.map(|(namespace, name)| service_account(namespace, name));
        let user = account.as_ref().unwrap_or(&self.user);
        let decision = self.api.authorizer.decide(user, &action(check)).await;
        let error = Some(decision.error.clone()).filter(|error| !error.is_empty());
        AccessDecision { allowed: decision.is_allowed(), reason: decision.reason, error }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.deadline)
    }

    fn note(&self, notes: Notes) {
        self.notes.lock().add(notes);
    }
}

/// The user that a service account is to the expressions of policies: a member of the groups of
/// service accounts and of no other.
fn service_account(namespace: &str, name: &str) -> User {
    let groups =
        vec![GROUP_SERVICE_ACCOUNTS.to_owned(), format!("{GROUP_SERVICE_ACCOUNTS}:{namespace}")];
    let name = format!("{USER_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}");
    User { name, groups, ..User::default() }
}

/// What a question is about; a selector that cannot be read narrows nothing.
fn action(check: &AccessCheck) -> Action<'_> {
    let verb = check.verb.as_str();
    match &check.target {
        AccessTarget::Path(path) => Action::Path { verb, path },
        AccessTarget::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
            fields: field_selector,
            labels: label_selector,
        } => Action::Resource(ResourceAction {
            verb,
            group,
            version: "*",
            resource,
            subresource,
            namespace,
            name: name.into(),
            fields: fields(field_selector).unwrap_or_default(),
            labels: labels(label_selector).unwrap_or_default(),
        }),
    }
}

/// A writer on behalf of the user of a request.
pub(in crate::handlers) fn writer_for(api: &Arc<Api>, request: &Request<'_>) -> Writer {
    let notes = request.record.shared_notes().clone();
    let (user, deadline) = (Arc::clone(request.user), request.record.deadline());
    let requester = Requester { api: Arc::clone(api), user, deadline, notes };
    api.writer().from_origin(origin_of(request)).on_behalf_of(Arc::new(requester))
}
