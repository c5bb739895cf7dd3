//! The limits of connections: what a client may cost at most before its request is known.
//!
//! Invariant: every limit of the connection layer is here, with its unit.

use std::time::Duration;

/// Limits of the connection layer.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at one time; further ones wait unaccepted.
    pub connections: usize,
    /// From the accepted connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From the first chance to send a request head to its end; it also ends idle HTTP/1.1
    /// connections, those that do not begin to speak HTTP/2, and those of HTTP/2 on which no
    /// request was answered with anything but 401.
    pub header: Duration,
    /// How long the peer may take nothing of what is sent to it.
    pub stall: Duration,
    /// The same for a peer that watches, if it is longer: the history should last for as long.
    pub watch_stall: Duration,
    /// Bytes of all header fields of an HTTP/2 request, each counted with 32 more (RFC 9113,
    /// section 6.5.2).
    pub header_bytes: u32,
    /// Bytes of the buffers of an HTTP/1.1 connection, at least 8 KiB: a request's head has to fit.
    pub buffer_bytes: usize,
    /// Header fields of an HTTP/1.1 request.
    pub header_fields: usize,
    /// Requests that run at one time on an HTTP/2 connection.
    pub streams: u32,
    /// Silence after which an HTTP/2 peer is asked whether it lives.
    pub ping: Duration,
    /// How long it may take to answer that.
    pub pong: Duration,
    /// Bytes that wait to be sent on one HTTP/2 stream.
    pub send_buffer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            watch_stall: Duration::from_secs(300),
            header_bytes: 256 * 1024,
            buffer_bytes: 128 * 1024,
            header_fields: 1024,
            streams: 256,
            ping: Duration::from_secs(30),
            pong: Duration::from_secs(15),
            send_buffer: 512 * 1024,
        }
    }
}
