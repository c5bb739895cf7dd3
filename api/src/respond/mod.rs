//! The HTTP response of finished content: syntax, headers, errors.
//!
//! Invariant: every body of a known length is sent whole with its length; JSON bytes pass through
//! untouched unless another syntax or indentation was asked for.

pub(crate) mod gzip;
pub mod indent;
pub(crate) mod warnings;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, InvalidHeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use quorate_meta::{Status, Value};
use quorate_schema::TypeId;
use sha2::{Digest, Sha256};

use crate::body::Body;
use crate::negotiation::{Format, Formats, Media, Unacceptable};
use quorate_registry::error::Error;

/// JSON bytes as the answer, in the wanted syntax; `ty` is their type where it matters to know it.
pub fn document(
    format: &Format,
    status: StatusCode,
    ty: Option<TypeId>,
    json: Bytes,
) -> Result<Response<Body>, Error> {
    Ok(encoded(format, status, bytes_of_json(format, ty, json)?))
}

/// Bytes that are in the wanted syntax already as the answer.
pub fn encoded(format: &Format, status: StatusCode, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::full(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    response
}

/// A tree as the answer, in the wanted syntax.
pub fn value(format: &Format, status: StatusCode, value: &Value) -> Result<Response<Body>, Error> {
    Ok(encoded(format, status, bytes(format, value)?))
}

/// A tree in the wanted syntax.
pub fn bytes(format: &Format, value: &Value) -> Result<Bytes, Error> {
    match &format.media {
        Media::Protobuf(protobuf) => Ok(protobuf.body(value)?.into()),
        Media::Cbor(cbor) => Ok(cbor.body(value)?.into()),
        Media::Json | Media::Yaml => bytes_of_json(format, None, json(value)),
    }
}

/// JSON bytes in the wanted syntax; `ty` as for [`document`].
pub fn bytes_of_json(format: &Format, ty: Option<TypeId>, json: Bytes) -> Result<Bytes, Error> {
    Ok(match (&format.media, format.pretty) {
        (Media::Json, false) => json,
        (Media::Json, true) => indent::whole(&json).into(),
        (Media::Yaml, _) => yaml(&json)?.into(),
        (Media::Protobuf(protobuf), _) => protobuf.body_of_json(&json)?.into(),
        (Media::Cbor(cbor), _) => cbor.body_of_json(ty, &json)?.into(),
    })
}

/// A Status as the answer.
pub fn status(format: &Format, status: &Status) -> Response<Body> {
    let code = if status.code == 0 { StatusCode::OK } else { http_code(status.code) };
    let mut response = value(&format.plain(), code, &status.to_value())
        .unwrap_or_else(|_| Response::new(Body::empty()));
    *response.status_mut() = code;
    if let Some(seconds) = status.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// An error as the answer.
#[must_use]
pub fn error(format: &Format, error: Error) -> Response<Body> {
    let freshness = error.freshness();
    let body = error.into_status();
    if body.code >= 500 {
        // The message may repeat what was sent, so it is for the client only.
        tracing::debug!(code = body.code, reason = body.reason.as_str(), "answering with an error");
    }
    let mut response = status(format, &body);
    freshness.into_iter().for_each(|freshness| freshness.write(response.headers_mut()));
    response
}

/// The 406 of a request whose Accept header fits nothing.
#[must_use]
pub fn unacceptable(formats: &Formats, refused: Unacceptable) -> Error {
    let available = formats.media_types();
    match refused {
        Unacceptable::Media => Status::not_acceptable(&available).into(),
        Unacceptable::Parameters => Status::only_acceptable(&available).into(),
    }
}

/// A tree as compact JSON.
#[must_use]
pub fn json(value: &Value) -> Bytes {
    let mut out = Vec::new();
    quorate_wire::json::write(value, &mut out);
    out.into()
}

/// Whether a client has what has this ETag, by what its If-None-Match header says (RFC 9110,
/// section 13.1.2).
#[must_use]
pub fn is_known(header: Option<&str>, etag: &str) -> bool {
    let mut known = header.unwrap_or_default().split(',').map(str::trim);
    known.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

/// A quoted ETag of these bytes.
#[must_use]
pub fn etag(bytes: &[u8]) -> String {
    etag_of(&Sha256::digest(bytes))
}

/// A quoted ETag of what has this digest.
#[must_use]
pub fn etag_of(digest: &[u8]) -> String {
    let hex: String = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("\"{hex}\"")
}

/// Text as a header value; a 500 when it cannot be one.
pub fn header(text: &str) -> Result<HeaderValue, Error> {
    text.parse().map_err(|e: InvalidHeaderValue| Error::internal(e.to_string()))
}

fn http_code(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

fn yaml(json: &[u8]) -> Result<Vec<u8>, Error> {
    let (value, _) = quorate_wire::json::parse(json).map_err(|e| Error::internal(e.to_string()))?;
    Ok(quorate_wire::yaml::write(&value).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_has() {
        for (header, expect) in [
            (None, false),
            (Some(""), false),
            (Some("\"a\""), true),
            (Some("W/\"a\""), true),
            (Some("\"b\", \"a\""), true),
            (Some("*"), true),
            (Some("a"), false),
            (Some("\"aa\""), false),
        ] {
            assert_eq!(is_known(header, "\"a\""), expect, "{header:?}");
        }
    }
}
