//! SelfSubjectReview: the user who asks; with impersonation, the impersonated one.

use quorate_meta::{Map, Time, Value};

use super::{user_info, with_status};
use crate::Api;
use crate::handlers::Request;
use quorate_registry::error::Error;

/// The review with the user who asks.
pub(super) fn answer(api: &Api, request: &Request<'_>, mut object: Value) -> Result<Value, Error> {
    object.set_at(
        &["metadata"],
        [("creationTimestamp", Time::from_ms(api.env.clock.now_ms()).seconds())],
    );
    Ok(with_status(object, Map::from([("userInfo", user_info::of(request.user))])))
}
