//! The authenticated user: name, uid, groups and extra fields.
//!
//! Invariant: every user is a member of `system:authenticated`, but for the anonymous user and
//! those whose groups include `system:unauthenticated`.

use quorate_meta::well_known::{GROUP_AUTHENTICATED, GROUP_UNAUTHENTICATED, USER_ANONYMOUS};

/// A user, as authorization and audit see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// For example `admin` or `system:serviceaccount:a:b`.
    pub name: String,
    /// A stable identity where the authenticator knows one; else empty.
    pub uid: String,
    /// Groups, in the order the authenticator gave them.
    pub groups: Vec<String>,
    /// Extra fields.
    pub extra: Vec<(String, Vec<String>)>,
}

impl User {
    /// A user with these groups and `system:authenticated`, unless these or the name say otherwise.
    #[must_use]
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = String>) -> Self {
        let mut user =
            Self { name: name.into(), groups: groups.into_iter().collect(), ..Self::default() };
        let is_said = user.is_in(GROUP_AUTHENTICATED) || user.is_in(GROUP_UNAUTHENTICATED);
        if !is_said && user.name != USER_ANONYMOUS {
            user.groups.push(GROUP_AUTHENTICATED.into());
        }
        user
    }

    /// The user of requests without credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            name: USER_ANONYMOUS.into(),
            groups: vec![GROUP_UNAUTHENTICATED.into()],
            ..Self::default()
        }
    }

    /// Whether the user is a member of a group.
    #[must_use]
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_is_not_unauthenticated_is_authenticated() {
        let check = |name: &str, groups: &[&str], expect: &[&str]| {
            let user = User::new(name, groups.iter().map(|group| (*group).to_owned()));
            assert_eq!(user.groups, expect, "{name} {groups:?}");
        };
        check("ann", &[], &[GROUP_AUTHENTICATED]);
        check("ann", &["a"], &["a", GROUP_AUTHENTICATED]);
        check("ann", &[GROUP_AUTHENTICATED, "a"], &[GROUP_AUTHENTICATED, "a"]);
        check("ann", &[GROUP_UNAUTHENTICATED, "a"], &[GROUP_UNAUTHENTICATED, "a"]);
        check(USER_ANONYMOUS, &["a"], &["a"]);
    }
}
