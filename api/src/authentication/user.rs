//! An authenticated user (document 000, user attributes).
//!
//! Invariant: every user but the anonymous one is a member of `system:authenticated`.

use quorate_meta::well_known::{GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED, USER_ANONYMOUS};

/// Who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// For example `admin` or `system:serviceaccount:a:b`.
    pub name: String,
    /// A stable identity where the authenticator knows one; else empty.
    pub uid: String,
    /// Groups, in the order the authenticator gave them.
    pub groups: Vec<String>,
    /// Further attributes.
    pub extra: Vec<(String, Vec<String>)>,
}

impl User {
    /// A user with these groups and `system:authenticated`.
    #[must_use]
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = String>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().collect();
        if !groups.iter().any(|group| group == GROUP_AUTHENTICATED) {
            groups.push(GROUP_AUTHENTICATED.into());
        }
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// The user who gave no credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { name: USER_ANONYMOUS.into(), groups: vec![GROUP_UNAUTHENTICATED.into()], ..Self::default() }
    }

    /// Whether the user is a member of a group.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }
}
