//! Authors of writes: the user on whose behalf a write is made, and the permissions that the user
//! needs besides that for the request itself.
//!
//! A handler that makes a [`crate::write::Writer`] for a user gives it an [`Author`].
//!
//! Invariant: a writer without an author is the server's own and needs no permission.
//!
//! Not here: users and rules, which are the authenticator's and the authorizer's.

use std::fmt::Debug;

use async_trait::async_trait;
use quorate_meta::Value;

use crate::error::Error;
use crate::options::Target;
use crate::permission::{Grant, Permission, UserInfo};

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
}
