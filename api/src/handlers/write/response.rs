//! The response of a write: the object as it is stored now.

use http::{Response, StatusCode};
use quorate_store::Revision;

use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::handlers::answer;
use crate::handlers::render::Renderer;
use crate::negotiation::Shape;
use crate::respond;
use crate::respond::warnings;
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_registry::write::Answer;

/// Refuses a form that a single object cannot have, before anything is written.
pub(in crate::handlers) fn check_form(api: &Api, request: &Request<'_>) -> Result<(), Error> {
    if request.format.shape != Shape::Object {
        Renderer::new(api, request, request.resource()?, false)?;
    }
    Ok(())
}

/// The object of a write as the answer, spliced from its stored form, with what its writer should
/// know.
pub(in crate::handlers) async fn object(
    api: &Api,
    request: &Request<'_>,
    status: StatusCode,
    written: &Answer,
) -> Result<Response<Body>, Error> {
    api.metrics.phases.ended(&written.times);
    let mut response =
        if written.revision != Revision::ZERO || request.format.shape != Shape::Object {
            answer::object(api, request, status, &written.value, written.revision).await?
        } else {
            without_version(request, status, written).await?
        };
    warnings::add(&mut response, &written.warnings);
    Ok(response)
}

/// What a dry run has not created has no version.
async fn without_version(
    request: &Request<'_>,
    status: StatusCode,
    written: &Answer,
) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let value = stored_codec::converted(resource, &written.value).await?;
    let object = stored_codec::decode_unversioned(resource, &request.info.api_version, &value)?;
    respond::value(&request.format, status, &object)
}
