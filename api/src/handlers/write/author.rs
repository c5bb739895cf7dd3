//! A request's user as the author of what it writes.

use std::sync::Arc;

use async_trait::async_trait;
use quorate_meta::Value;

use crate::Api;
use crate::authentication::User;
use crate::authorization::{Action, ResourceAction};
use crate::error::Error;
use crate::registry::write::{Target, Writer};
use crate::registry::{Author, Gift, Permission, Who};

/// See the module.
#[derive(Debug)]
struct Requester {
    api: Arc<Api>,
    user: Arc<User>,
}

#[async_trait]
impl Author for Requester {
    fn who(&self) -> Who<'_> {
        let User { name, uid, groups, extra } = &*self.user;
        Who { name, uid, groups, extra }
    }

    async fn may(&self, permission: &Permission, name: &str) -> Result<bool, Error> {
        let Permission { verb, group, resource, .. } = permission;
        let action =
            ResourceAction { verb, group, version: "*", resource, name: name.into(), ..ResourceAction::default() };
        Ok(self.api.authorizer.decide(&self.user, &Action::Resource(action)).await.is_allowed())
    }

    fn write(&self, target: Target<'_>, old: Option<&Value>, new: &Value) -> Result<(), Error> {
        self.api.authorizer.check_object(&self.user, target, old, new)
    }

    async fn give(&self, target: Target<'_>, gift: &Gift) -> Result<(), Error> {
        self.api.authorizer.check_gift(&self.user, target, gift).await
    }
}

impl Api {
    /// A writer on behalf of a user, whose writes pass admission.
    pub(crate) fn writer_for(self: &Arc<Self>, user: &Arc<User>) -> Writer {
        let requester = Requester { api: self.clone(), user: Arc::clone(user) };
        self.writer().on_behalf_of(Arc::new(requester)).admitted_by(self.admission.clone())
    }
}
