//! A list in protobuf, as a response.
//!
//! Its envelope names the length of everything in it. So a short list is written and sent whole; a
//! long one is measured before the first byte is sent, and written while the client reads. What the
//! cache of messages has is not made again for that. A long list never lies in memory whole.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, StatusCode};
use quorate_wire::protobuf::around_list;
use quorate_wire::stored::CorruptValue;

use super::stream::ListStream;
use crate::body::Body;
use crate::negotiation::Format;
use crate::respond;
use quorate_registry::error::Error;

/// Bytes up to which a list is kept while it is counted; one that is not longer is sent whole.
const WHOLE_BYTES: u64 = 1024 * 1024;

/// The list as the answer. The list must be at its beginning.
pub(super) async fn answer(format: &Format, mut list: ListStream) -> Result<Response<Body>, Error> {
    let corrupt = |error: CorruptValue| Error::internal(error.to_string());
    let again = list.clone().uncounted();
    let (mut whole, mut length) = (Vec::new(), 0_u64);
    while length <= WHOLE_BYTES || list.has_ready() {
        let Some(buffer) = list.next_buffer().map_err(corrupt)? else { break };
        length += buffer.len() as u64;
        match length <= WHOLE_BYTES {
            true => whole.push(buffer),
            // A client that reads slowly must not hold on to it.
            false => whole.clear(),
        }
        if !list.is_done() {
            // Neither a long list nor many objects of which few match must hold up other requests.
            tokio::task::yield_now().await;
        }
    }
    while let Some(more) = list.measure_some().map_err(corrupt)? {
        length += more;
        tokio::task::yield_now().await;
    }
    let (api_version, kind) = list.writer().list_type();
    let (head, tail) = around_list(api_version, kind, length);
    if length <= WHOLE_BYTES {
        let whole = [head, whole.concat(), tail].concat();
        return Ok(respond::encoded(format, StatusCode::OK, whole.into()));
    }
    let edge = |bytes: Vec<u8>| stream::iter([Ok(Bytes::from(bytes))]);
    let chunks = edge(head).chain(again.into_chunks(Bytes::new())).chain(edge(tail));
    let mut response = respond::encoded(format, StatusCode::OK, Bytes::new());
    *response.body_mut() = Body::stream(Box::pin(chunks));
    Ok(response)
}
