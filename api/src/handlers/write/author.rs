//! The author of a request's writes: its user, with the permissions that writes turn out to need.

use std::sync::Arc;

use async_trait::async_trait;
use quorate_meta::Value;

use crate::Api;
use quorate_access::authentication::User;
use quorate_access::authorization::{Action, ResourceAction, check_escalation};
use quorate_registry::error::Error;
use quorate_registry::write::{Target, Writer};
use quorate_registry::{Author, Grant, Permission, UserInfo};

/// The user of a request, and what the authorizer says about them.
#[derive(Debug)]
struct Requester {
    api: Arc<Api>,
    user: Arc<User>,
}

#[async_trait]
impl Author for Requester {
    fn user(&self) -> UserInfo<'_> {
        let User { name, uid, groups, extra } = &*self.user;
        UserInfo { name, uid, groups, extra }
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
}

/// A writer on behalf of a user.
pub(in crate::handlers) fn writer_for(api: &Arc<Api>, user: &Arc<User>) -> Writer {
    let requester = Requester { api: Arc::clone(api), user: Arc::clone(user) };
    api.writer().on_behalf_of(Arc::new(requester))
}
