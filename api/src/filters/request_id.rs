//! The request ID: ties a response to the server's log and the audit trail.

use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use uuid::{Builder, Uuid};

use super::Exchange;
use crate::body::Body;

/// The header of the ID, in requests and responses.
const HEADER: HeaderName = HeaderName::from_static("audit-id");
/// Bytes of an id that a client may bring along.
const MAX_BYTES: usize = 64;

/// The client's id when it brought a usable one, else a new one: it differs from the others of this
/// process by its number, and from those of other processes by what is random about them, so that
/// no request has to ask for randomness.
pub(super) fn of(headers: &HeaderMap, process: [u8; 16], next: &AtomicU64) -> HeaderValue {
    match headers.get(HEADER) {
        Some(id) if !id.is_empty() && id.len() <= MAX_BYTES && id.to_str().is_ok() => id.clone(),
        _ => numbered(process, next.fetch_add(1, Ordering::Relaxed)),
    }
}

/// Writes the header.
pub(super) fn write_header(x: &Exchange<'_>, response: &mut Response<Body>) {
    response.headers_mut().insert(HEADER, x.record.id().clone());
}

fn numbered(process: [u8; 16], number: u64) -> HeaderValue {
    let mut bytes = process;
    for (byte, digit) in bytes[8..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= digit;
    }
    let mut text = Uuid::encode_buffer();
    let id = Builder::from_random_bytes(bytes).into_uuid();
    let mut id = HeaderValue::from_str(id.hyphenated().encode_lower(&mut text))
        .expect("a UUID's text is a header value");
    // It never comes again, so HTTP/2 need not remember it for the next answer.
    id.set_sensitive(true);
    id
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_differ_and_a_client_may_bring_its_own() {
        let next = AtomicU64::new(0);
        let mut headers = HeaderMap::new();
        let made: HashSet<_> = (0..1000).map(|_| of(&headers, [1; 16], &next)).collect();
        assert!(made.len() == 1000 && !made.contains(&of(&headers, [2; 16], &AtomicU64::new(0))));
        assert!(made.iter().all(|id| id.len() == 36));
        headers.insert(HEADER, HeaderValue::from_static("mine"));
        assert_eq!(of(&headers, [1; 16], &next), "mine");
        for unusable in
            ["x".repeat(MAX_BYTES + 1).parse().unwrap(), HeaderValue::from_bytes(b"\xff").unwrap()]
        {
            headers.insert(HEADER, unusable);
            assert_eq!(of(&headers, [1; 16], &next).len(), 36);
        }
    }
}
