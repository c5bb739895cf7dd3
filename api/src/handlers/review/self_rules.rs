//! SelfSubjectRulesReview: the rules of the user who asks, in a namespace.

use quorate_meta::{Map, Value};

use super::with_status;
use crate::Api;
use crate::handlers::Request;
use quorate_registry::error::Error;

/// The review with the rules of the user who asks.
pub(super) async fn answer(
    api: &Api,
    request: &Request<'_>,
    object: Value,
) -> Result<Value, Error> {
    let namespace = object.str_at(&["spec", "namespace"]).unwrap_or_default();
    if namespace.is_empty() {
        return Err(Error::bad_request("no namespace on request"));
    }
    let rights = api.authorizer.rights(request.user, namespace).await;
    let mut status = Map::from([
        ("incomplete", Value::from(!rights.incomplete.is_empty())),
        ("resourceRules", Value::List(rights.resources)),
        ("nonResourceRules", Value::List(rights.paths)),
    ]);
    let errors: Vec<String> = rights.incomplete.into_iter().chain(rights.errors).collect();
    if !errors.is_empty() {
        status.insert("evaluationError", errors.join(", "));
    }
    Ok(with_status(object, status))
}
