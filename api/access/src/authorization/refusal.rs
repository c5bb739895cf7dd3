//! The 403 of authorization: `User "u" cannot get resource "r" in API group "g" in the namespace
//! "n"`.
//!
//! Invariant: it names the action as rules see it, in the words of kube-apiserver.

use std::fmt;

use quorate_meta::Status;

use super::Action;
use crate::authentication::User;
use quorate_registry::error::Error;

/// The 403 for an action that is not allowed.
pub(super) fn refusal(user: &User, action: &Action<'_>, reason: &str) -> Error {
    let mut sentence = escaped(&Sentence { user, action }.to_string());
    if !reason.is_empty() {
        sentence = format!("{sentence}: {reason}");
    }
    match action {
        Action::Resource(on) => Error::forbidden(on.group, on.resource, &on.name, &sentence),
        Action::Path { .. } => Status::path_forbidden(&sentence).into(),
    }
}

/// The text, escaped for a client that shows it as HTML: the user has chosen parts of it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A refused action, displayed as the refusal's sentence.
struct Sentence<'a> {
    user: &'a User,
    action: &'a Action<'a>,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User {:?} cannot ", self.user.name)?;
        let on = match self.action {
            Action::Path { verb, path } => return write!(f, "{verb} path {path:?}"),
            Action::Resource(on) => on,
        };
        write!(f, "{} resource \"{}", on.verb, on.resource)?;
        if !on.subresource.is_empty() {
            write!(f, "/{}", on.subresource)?;
        }
        write!(f, "\" in API group {:?} ", on.group)?;
        match on.namespace {
            "" => f.write_str("at the cluster scope"),
            namespace => write!(f, "in the namespace {namespace:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_told_in_text() {
        let check = |user: &str, path: &str, expect: &str| {
            let action = Action::Path { verb: "get", path };
            let status = refusal(&User::new(user, []), &action, "").into_status();
            assert_eq!(status.message, format!("forbidden: {expect}"));
        };
        check("bob", "/foo&bar", r#"User "bob" cannot get path "/foo&amp;bar""#);
        check("a<b>&c", "/", r#"User "a&lt;b&gt;&amp;c" cannot get path "/""#);
    }
}
