//! A list in CBOR, as a response.
//!
//! Its items come after their number, so they are counted before the first byte goes out and
//! written while the client reads.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, StatusCode};

use super::stream::ListStream;
use crate::body::Body;
use crate::negotiation::Format;
use crate::respond;
use quorate_registry::error::Error;

/// The list as the answer. The list must be at its beginning.
pub(super) async fn answer(format: &Format, mut list: ListStream) -> Result<Response<Body>, Error> {
    let corrupt = |error: quorate_wire::stored::CorruptValue| Error::internal(error.to_string());
    let mut counting = list.clone();
    let mut items = 0;
    while let Some(more) = counting.count_some().map_err(corrupt)? {
        items += more;
        // Counting a long list must not hold up other requests.
        tokio::task::yield_now().await;
    }
    let (head, tail) = list.around(items).map_err(corrupt)?;
    let first = list.next_buffer().map_err(corrupt)?.unwrap_or_default();
    if list.is_done() {
        return Ok(respond::encoded(
            format,
            StatusCode::OK,
            [&head[..], &first, &tail].concat().into(),
        ));
    }
    let edge = |bytes: Vec<u8>| stream::iter([Ok(Bytes::from(bytes))]);
    let chunks = edge(head).chain(list.into_chunks(first)).chain(edge(tail));
    let mut response = respond::encoded(format, StatusCode::OK, Bytes::new());
    *response.body_mut() = Body::stream(Box::pin(chunks));
    Ok(response)
}
