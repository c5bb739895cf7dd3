//! The events of a watch, read as they arrive.
//!
//! Invariant: an event is given once and whole; what has arrived of the next one waits for its rest.

use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::encoding::Encoding;

/// The events of one watch.
#[derive(Debug)]
pub(super) struct WatchEvents {
    body: Incoming,
    encoding: Encoding,
    /// The beginning of an event.
    rest: Vec<u8>,
    /// Bytes that have arrived.
    pub(super) bytes: u64,
}

impl WatchEvents {
    pub(super) fn new(body: Incoming, encoding: Encoding) -> Self {
        Self { body, encoding, rest: Vec::new(), bytes: 0 }
    }

    /// Waits until something arrives, and gives each event that is whole by then; false at the end
    /// of the stream. Nothing is lost when the wait is given up.
    ///
    /// # Errors
    /// The connection broke.
    pub(super) async fn next(&mut self, mut take: impl FnMut(&[u8])) -> Result<bool, hyper::Error> {
        let Some(frame) = self.body.frame().await else { return Ok(false) };
        let Ok(data) = frame?.into_data() else { return Ok(true) };
        self.bytes += data.len() as u64;
        let begins = self.rest.is_empty();
        if !begins {
            self.rest.extend_from_slice(&data);
        }
        let new = if begins { &data[..] } else { &self.rest[..] };
        let mut at = 0;
        while let Some(event) = self.encoding.event(&new[at..]) {
            at += event.len();
            take(event);
        }
        if begins {
            self.rest.extend_from_slice(&data[at..]);
        } else {
            self.rest.drain(..at);
        }
        Ok(true)
    }
}
