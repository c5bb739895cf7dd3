//! The decision itself.

use quorate_meta::Status;
use quorate_meta::well_known::GROUP_MASTERS;

use super::attributes::Sentence;
use crate::authentication::User;
use crate::error::Error;
use crate::request::{RequestInfo, Verb};

/// Paths that every authenticated user may GET; those that end in `*` cover everything below.
const OPEN_PATHS: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];

/// Whether a user may do what the request line says; the error is the 403 to answer.
pub(crate) fn authorize(user: &User, info: &RequestInfo) -> Result<(), Error> {
    let open = !info.is_resource && info.verb == Verb::Get && is_open(&info.path);
    if open || user.is_in(GROUP_MASTERS) { Ok(()) } else { Err(refusal(user, info)) }
}

fn is_open(path: &str) -> bool {
    OPEN_PATHS.iter().any(|open| match open.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == *open,
    })
}

fn refusal(user: &User, info: &RequestInfo) -> Error {
    let sentence = Sentence { user, info }.to_string();
    if info.is_resource {
        Error::forbidden(&info.group, &info.resource, info.name.as_deref().unwrap_or_default(), &sentence)
    } else {
        Status::path_forbidden(&sentence).into()
    }
}
