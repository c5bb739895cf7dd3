//! The sentence of a refusal: `User "u" cannot get resource "r" in API group "g" in the namespace "n"`.
//!
//! Invariant: names the request as the rules see it; the texts are those of the recordings.

use std::fmt;

use crate::authentication::User;
use crate::request::RequestInfo;

/// A refused action, displayed as the refusal's sentence.
pub(super) struct Sentence<'a> {
    pub(super) user: &'a User,
    pub(super) info: &'a RequestInfo,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, info } = self;
        write!(f, "User {:?} cannot ", user.name)?;
        if !info.is_resource {
            return write!(f, "{} path {:?}", info.verb.method_name(), info.path);
        }
        write!(f, "{} resource \"{}", info.verb.name(), info.resource)?;
        if let Some(subresource) = &info.subresource {
            write!(f, "/{subresource}")?;
        }
        write!(f, "\" in API group {:?} ", info.group)?;
        match namespace(info) {
            Some(namespace) => write!(f, "in the namespace {namespace:?}"),
            None => f.write_str("at the cluster scope"),
        }
    }
}

/// The namespace that rules see: a request for one namespace object counts as one in that namespace.
pub(super) fn namespace(info: &RequestInfo) -> Option<&str> {
    let own = if info.group.is_empty() && info.resource == "namespaces" { info.name.as_deref() } else { None };
    info.namespace.as_deref().or(own)
}
