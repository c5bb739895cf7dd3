//! A list in protobuf, as a response.
//!
//! Its envelope names the length of everything in it, so a long list is written twice, once to be
//! counted and once to be sent, and never lies in memory whole.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Response, StatusCode};
use quorate_wire::protobuf::around_list;

use super::stream::ListStream;
use crate::body::Body;
use crate::negotiation::Format;
use crate::respond;
use quorate_registry::error::Error;

/// Bytes up to which a list is kept while it is counted, and sent whole.
const WHOLE_BYTES: u64 = 1024 * 1024;

/// The list as the answer. The list must be at its beginning.
pub(super) async fn answer(format: &Format, mut list: ListStream) -> Result<Response<Body>, Error> {
    let again = list.clone();
    let (mut kept, mut length) = (Vec::new(), 0_u64);
    while let Some(buffer) =
        list.next_buffer().map_err(|error| Error::internal(error.to_string()))?
    {
        length += buffer.len() as u64;
        if length <= WHOLE_BYTES {
            kept.extend_from_slice(&buffer);
        } else {
            kept = Vec::new();
        }
        if !list.is_done() {
            // Neither a long list nor many objects of which few match must hold up other requests.
            tokio::task::yield_now().await;
        }
    }
    let (api_version, kind) = again.writer().list_type();
    let (head, tail) = around_list(api_version, kind, length);
    if length <= WHOLE_BYTES {
        return Ok(respond::encoded(format, StatusCode::OK, [head, kept, tail].concat().into()));
    }
    let edge = |bytes: Vec<u8>| stream::iter([Ok(Bytes::from(bytes))]);
    let chunks = edge(head).chain(again.into_chunks(Bytes::new())).chain(edge(tail));
    let mut response = respond::encoded(format, StatusCode::OK, Bytes::new());
    *response.body_mut() = Body::stream(Box::pin(chunks));
    Ok(response)
}
