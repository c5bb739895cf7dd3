//! Permissions that a request turns out to need besides its own.

use futures::future::BoxFuture;

use crate::Api;
use crate::handlers::Request;
use quorate_access::authorization::Action;
use quorate_access::request::{RequestInfo, Verb};
use quorate_registry::error::Error;

/// Whether the user may create the object that the request changes; asked when there is none.
pub(in crate::handlers) fn creation<'a>(
    api: &'a Api,
    request: &'a Request<'a>,
) -> BoxFuture<'a, Result<(), Error>> {
    let info = RequestInfo { verb: Verb::Create, ..request.info.clone() };
    Box::pin(async move { api.authorizer.check(request.user, &Action::of(&info)).await })
}
