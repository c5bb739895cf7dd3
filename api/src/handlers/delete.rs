//! DELETE on an object.

use std::sync::Arc;

use http::{Response, StatusCode};
use quorate_meta::Status;

use super::delete_options::{self, Asked};
use super::unsafe_delete;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::write::author::writer_for;
use crate::handlers::write::response;
use crate::respond;
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_registry::write::{Outcome, Target};

/// Deletes the object. A Status with its uid when it is gone (the object itself for some kinds);
/// the object when its deletion has only begun.
pub(super) async fn handle(api: &Arc<Api>, request: &Request<'_>) -> Result<Response<Body>, Error> {
    let (resource, name) = (request.resource()?, request.name()?);
    let asked = delete_options::parse(api, request)?;
    let target = Target { resource, namespace: request.namespace(), name };
    if asked.ignores_read_errors {
        return unsafe_delete::handle(api, request, target).await;
    }
    let told = delete_options::warnings(resource, &asked.options);
    request.warned(&told, delete(api, request, target, &asked).await)
}

async fn delete(
    api: &Arc<Api>,
    request: &Request<'_>,
    target: Target<'_>,
    asked: &Asked,
) -> Result<Response<Body>, Error> {
    let Target { resource, name, .. } = target;
    let answer = writer_for(api, request).delete(target, &asked.options).await?;
    if answer.outcome == Outcome::Removed && !resource.delete_returns_object {
        let uid = stored_codec::header(resource, &answer.value)?.uid();
        let status = respond::status(
            &request.format,
            &Status::deleted(&resource.group_resource(), name, uid),
        );
        return request.warned(&answer.warnings, Ok(status));
    }
    let waits = answer.outcome != Outcome::Removed && asked.accepted_while_held;
    let status = if waits { StatusCode::ACCEPTED } else { StatusCode::OK };
    response::object(api, request, status, &answer).await
}
