//! The response with one stored object, in the form that was asked for: of get and of every write.

use bytes::Bytes;
use http::{Response, StatusCode};
use quorate_store::{Entry, Revision};
use quorate_wire::protobuf::Envelope;

use super::compression;
use super::object_messages::StoredObject;
use super::render::Renderer;
use crate::Api;
use crate::body::Body;
use crate::encoding::ObjectVersion;
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
    let object = StoredObject { value: &value, version: None };
    rendered(api, request, status, &renderer, object, revision)
}

/// The same of what is in the store under a key.
pub(super) async fn stored(
    api: &Api,
    request: &Request<'_>,
    key: &[u8],
    entry: &Entry,
) -> Result<Response<Body>, Error> {
    let resource = request.resource()?;
    let renderer = Renderer::new(api, request, resource, false)?;
    let value = stored_codec::converted(resource, &entry.value).await?;
    let version = Some(ObjectVersion { key, revision: entry.modified });
    let object = StoredObject { value: &value, version };
    rendered(api, request, StatusCode::OK, &renderer, object, entry.modified)
}

/// What a renderer writes as the answer.
pub(super) fn rendered(
    api: &Api,
    request: &Request<'_>,
    status: StatusCode,
    renderer: &Renderer,
    object: StoredObject<'_>,
    revision: Revision,
) -> Result<Response<Body>, Error> {
    measure("encode", || {
        if let Some(message) = renderer.message(object, revision) {
            let raw = &message.map_err(|error| Error::internal(error.to_string()))?;
            let (api_version, kind) = renderer.item_names();
            let body = Envelope { api_version, kind, raw }.write();
            let response = respond::encoded(&request.format, status, body.into());
            return Ok(compression::apply(api, request, response));
        }
        let value = object.value;
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
