//! The body filter: reads a request's body whole, within a limit.
//!
//! Invariants: it never holds more than [`BODY_LIMIT`] and one frame; a body that announces more is
//! refused at once. The rest of a refused request's body is read away ([`drain`]), or a client that
//! is still sending would get a broken connection instead of the refusal.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::EXPECT;
use http_body::Body;
use quorate_meta::Status;
use tokio::time::{Instant, timeout};

use super::{Exchange, authorization};
use crate::request_record::Milestone;
use quorate_access::authentication::User;
use quorate_access::authorization::Action;
use quorate_registry::error::Error;

/// Bytes of a request's body at most.
pub const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// Bytes of a refused request's body that are read away at most.
const DRAIN_LIMIT: u64 = 8 * 1024 * 1024;
/// How long that may take.
const DRAIN_TIME: Duration = Duration::from_secs(5);

/// How long the authorizer's decision holds for a write whose body is still coming.
const DECISION_HOLDS: Duration = Duration::from_millis(500);

/// The body of a write; that of any other request is not read. A client that sends its body slowly
/// must not keep a right beyond its end, so the authorizer is asked again after that.
pub(super) async fn read<B>(
    x: &mut Exchange<'_>,
    user: &User,
    action: &Action<'_>,
    body: Pin<&mut B>,
) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    if !x.record.info().verb.is_write() {
        return Ok(Bytes::new());
    }
    let begun = Instant::now();
    let body = read_whole(body).await?;
    x.record.body_read(body.len());
    let read = x.record.reach(Milestone::BodyRead);
    if read - begun >= DECISION_HOLDS {
        authorization::authorize(x, user, action).await?;
    }
    Ok(body)
}

/// The body of a request, or 413.
async fn read_whole<B>(mut body: Pin<&mut B>) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    if body.size_hint().lower() > BODY_LIMIT as u64 {
        return Err(too_large());
    }
    let (mut one, mut many) = (Bytes::new(), BytesMut::new());
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|error| unreadable(&error.to_string()))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if one.len() + many.len() + data.len() > BODY_LIMIT {
            return Err(too_large());
        }
        if one.is_empty() && many.is_empty() {
            one = data;
        } else {
            if many.is_empty() {
                many.reserve(
                    usize::try_from(body.size_hint().lower()).unwrap_or_default()
                        + one.len()
                        + data.len(),
                );
            }
            many.extend_from_slice(&std::mem::take(&mut one));
            many.extend_from_slice(&data);
        }
    }
    Ok(if many.is_empty() { one } else { many.freeze() })
}

/// Reads away what is left of a failed request's body, within limits. Of a body that announces more
/// than the limit nothing is read: its client finds out by the end of the connection.
pub(super) async fn drain<B>(x: &Exchange<'_>, mut body: Pin<&mut B>)
where
    B: Body<Data = Bytes>,
{
    // A client that asks first whether to send a body has not sent it yet.
    if x.headers.contains_key(EXPECT) {
        return;
    }
    let mut left = DRAIN_LIMIT;
    if body.is_end_stream() || body.size_hint().lower() > left {
        return;
    }
    let rest = async {
        while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            left = left.saturating_sub(frame.data_ref().map_or(0, |data| data.len() as u64));
            if left == 0 {
                return;
            }
        }
    };
    // Over either limit the connection ends with the answer.
    let _ = timeout(DRAIN_TIME, rest).await;
}

fn too_large() -> Error {
    Status::body_too_large(BODY_LIMIT).into()
}

fn unreadable(why: &str) -> Error {
    Error::bad_request(format!("the body of the request could not be read: {why}"))
}
