//! The id that ties an answer to the server's log.

use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use quorate_store::env::Entropy;
use uuid::{Builder, Uuid};

/// The header of the id, in requests and answers.
pub(super) const HEADER: HeaderName = HeaderName::from_static("audit-id");
/// Bytes of an id that a client may bring along.
const MAX_BYTES: usize = 64;

/// Ids that differ from each other and from those of other processes, without asking for randomness each time.
#[derive(Debug)]
pub(crate) struct RequestIds {
    process: [u8; 16],
    next: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new(entropy: &dyn Entropy) -> Self {
        let mut process = [0; 16];
        entropy.fill(&mut process);
        Self { process, next: AtomicU64::new(0) }
    }

    /// The client's id when it brought a usable one, else a new one.
    pub(super) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        match headers.get(HEADER) {
            Some(id) if !id.is_empty() && id.len() <= MAX_BYTES => id.clone(),
            _ => self.make(),
        }
    }

    fn make(&self) -> HeaderValue {
        let mut bytes = self.process;
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        for (byte, digit) in bytes[8..].iter_mut().zip(number) {
            *byte ^= digit;
        }
        let mut text = Uuid::encode_buffer();
        let id = Builder::from_random_bytes(bytes).into_uuid();
        HeaderValue::from_str(id.hyphenated().encode_lower(&mut text)).expect("a UUID's text is a header value")
    }
}

#[cfg(test)]
mod tests {
    use quorate_store::env::SystemEnv;

    use super::*;

    #[test]
    fn ids_differ_and_a_client_may_bring_its_own() {
        let entropy = SystemEnv::env().entropy;
        let (ids, others) = (RequestIds::new(&*entropy), RequestIds::new(&*entropy));
        let mut headers = HeaderMap::new();
        let made: std::collections::HashSet<_> = (0..1000).map(|_| ids.of(&headers)).collect();
        assert!(made.len() == 1000 && !made.contains(&others.of(&headers)));
        assert_eq!(ids.of(&headers).to_str().unwrap().len(), 36);
        headers.insert(HEADER, HeaderValue::from_static("mine"));
        assert_eq!(ids.of(&headers), "mine");
        headers.insert(HEADER, "x".repeat(MAX_BYTES + 1).parse().unwrap());
        assert_eq!(ids.of(&headers).len(), 36);
    }
}
