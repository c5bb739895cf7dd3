//! From finished content to an HTTP response: syntax, headers, errors.
//!
//! Invariant: every body of a known length is sent whole with its length; JSON bytes pass through untouched unless another
//! syntax or indentation was asked for.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, InvalidHeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use quorate_meta::{Status, Value};
use quorate_schema::TypeId;
use sha2::{Digest, Sha256};

use crate::body::Body;
use crate::error::Error;
use crate::negotiation::{Format, Formats, Media, Unacceptable};

/// JSON bytes as the answer, in the wanted syntax; `ty` is their type where it matters to know it.
pub fn document(format: &Format, status: StatusCode, ty: Option<TypeId>, json: Bytes) -> Result<Response<Body>, Error> {
    let bytes = match (&format.media, format.pretty) {
        (Media::Json, false) => json,
        (Media::Json, true) => indent(&json).into(),
        (Media::Yaml, _) => yaml(&json)?.into(),
        (Media::Protobuf(protobuf), _) => protobuf.body_of_json(&json)?.into(),
        (Media::Cbor(cbor), _) => cbor.body_of_json(ty, &json)?.into(),
    };
    Ok(encoded(format, status, bytes))
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
    match &format.media {
        Media::Protobuf(protobuf) => Ok(encoded(format, status, protobuf.body(value)?.into())),
        Media::Cbor(cbor) => Ok(encoded(format, status, cbor.body(value)?.into())),
        Media::Json | Media::Yaml => document(format, status, None, json(value)),
    }
}

/// A Status as the answer.
pub fn status(format: &Format, status: &Status) -> Response<Body> {
    let code = if status.code == 0 { StatusCode::OK } else { http_code(status.code) };
    let mut response =
        value(&format.plain(), code, &status.to_value()).unwrap_or_else(|_| Response::new(Body::empty()));
    *response.status_mut() = code;
    if let Some(seconds) = status.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// An error as the answer.
#[must_use]
pub fn error(format: &Format, error: Error) -> Response<Body> {
    let body = error.into_status();
    if body.code >= 500 {
        tracing::debug!(status = %body, "answering with an error");
    }
    status(format, &body)
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

/// A quoted ETag of these bytes.
#[must_use]
pub fn etag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
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

/// The same JSON with line breaks and two spaces per level.
fn indent(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    for (index, &byte) in json.iter().enumerate() {
        if in_string {
            out.push(byte);
            in_string = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                if !matches!(json.get(index + 1), Some(b'}' | b']')) {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(json.get(index.wrapping_sub(1)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                in_string = true;
                out.push(byte);
            }
            other => out.push(other),
        }
    }
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation() {
        const EXPECT: &str = r#"{
  "a": [],
  "b": {},
  "c": [
    1,
    {
      "d": "x,{}:\"y\\"
    }
  ]
}
"#;
        let check = |json: &str, expect: &str| assert_eq!(String::from_utf8_lossy(&indent(json.as_bytes())), expect);
        check(r#"{"a":[],"b":{},"c":[1,{"d":"x,{}:\"y\\"}]}"#, EXPECT);
        check("[]", "[]\n");
    }
}
