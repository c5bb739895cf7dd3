//! Reads a request's body whole, within a limit.
//!
//! Invariant: never holds more than [`BODY_LIMIT`] and one frame; a body that announces more is refused before a byte of it
//! is read.

use std::future::poll_fn;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use quorate_meta::Status;

use crate::error::Error;

/// Bytes of a request's body at most.
pub const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// The body of a request, or 413.
pub(super) async fn read<B>(headers: &HeaderMap, body: B) -> Result<Bytes, Error>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let announced = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > BODY_LIMIT as u64) {
        return Err(too_large());
    }
    let mut body = pin!(body);
    let (mut one, mut many) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|error| unreadable(&error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if one.len() + many.len() + data.len() > BODY_LIMIT {
            return Err(too_large());
        }
        if one.is_empty() && many.is_empty() {
            one = data;
        } else {
            many.extend_from_slice(&std::mem::take(&mut one));
            many.extend_from_slice(&data);
        }
    }
    Ok(if many.is_empty() { one } else { many.freeze() })
}

fn too_large() -> Error {
    Status::body_too_large(BODY_LIMIT).into()
}

fn unreadable(why: &str) -> Error {
    Error::bad_request(format!("the body of the request could not be read: {why}"))
}
