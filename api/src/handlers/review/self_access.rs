//! SelfSubjectAccessReview: whether the user who asks may take an action.

use quorate_meta::Value;

use super::{attributes, check_metadata, refuse, with_status};
use crate::Api;
use crate::handlers::Request;
use quorate_registry::error::Error;

/// The review with the answer for the user who asks.
pub(super) async fn answer(
    api: &Api,
    request: &Request<'_>,
    object: Value,
) -> Result<Value, Error> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut causes = attributes::problems(spec, None);
    check_metadata(&object, &mut causes);
    refuse(request, causes)?;
    let status = attributes::decide(api, request.user, spec).await;
    Ok(with_status(object, status))
}
