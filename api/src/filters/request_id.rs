//! The id that ties an answer to the server's log.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use quorate_store::env::Entropy;
use uuid::Builder;

/// The header of the id, in requests and answers.
pub(super) const HEADER: HeaderName = HeaderName::from_static("audit-id");
/// Bytes of an id that a client may bring along.
const MAX_BYTES: usize = 64;

/// The client's id when it brought a usable one, else a new one.
pub(super) fn of(headers: &HeaderMap, entropy: &dyn Entropy) -> HeaderValue {
    match headers.get(HEADER) {
        Some(id) if !id.is_empty() && id.len() <= MAX_BYTES => id.clone(),
        _ => {
            let mut bytes = [0; 16];
            entropy.fill(&mut bytes);
            let id = Builder::from_random_bytes(bytes).into_uuid().to_string();
            HeaderValue::from_str(&id).expect("a UUID's text is a header value")
        }
    }
}
