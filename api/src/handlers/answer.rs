//! The response with one stored object, in the form that was asked for: of get and of every write.

use bytes::Bytes;
use http::{Response, StatusCode};
use quorate_store::Revision;

use super::compression;
use super::render::Renderer;
use crate::Api;
use crate::body::Body;
use crate::handlers::Request;
use crate::respond;
use quorate_registry::error::Error;
use quorate_registry::stored_codec;
use quorate_trace::measure;

/// Bytes that an answer has beyond its stored value.
const ENVELOPE_BYTES: usize = 256;

/// The object of a stored value as the answer.
pub(super) async fn object(
    api: &Api,
    request: &Request<'_>,
    status: StatusCode,
    value: &Bytes,
    revision: Revision,
) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let renderer = Renderer::new(api, request, resource, false)?;
    let value = stored_codec::converted(resource, value).await?;
    rendered(api, request, status, &renderer, &value, revision)
}

/// What a renderer writes as the answer.
pub(super) fn rendered(
    api: &Api,
    request: &Request<'_>,
    status: StatusCode,
    renderer: &Renderer,
    value: &Bytes,
    revision: Revision,
) -> Result<Response<Body>, Error> {
    measure("encode", || {
        let mut out = Vec::with_capacity(value.len() + ENVELOPE_BYTES);
        renderer
            .object(value, revision, true, &mut out)
            .map_err(|e| Error::internal(e.to_string()))?;
        out.push(b'\n');
        let response =
            respond::document(&request.format, status, renderer.item_type(), out.into())?;
        Ok(compression::apply(api, request, response))
    })
}
