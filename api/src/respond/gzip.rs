//! Response compression with gzip.
//!
//! Invariants: only a body that is large enough to be worth it is compressed; streams are
//! compressed buffer by buffer, so a compressed list needs no more memory than a plain one. Not
//! here: which responses may be compressed.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::Stream;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use http::{HeaderMap, Response};

use crate::body::{Body, Chunks, Uncompressed};

/// Bodies below this many bytes are not compressed.
const THRESHOLD_BYTES: usize = 128 * 1024;
/// The fastest level: the network is rarely slower than a better one.
const LEVEL: u32 = 1;

/// The same response, compressed if that is worth it; `keeps_plain` keeps what was compressed with
/// the response, for the audit trail.
pub(crate) fn compress(response: Response<Body>, keeps_plain: bool) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let body = match body.into_full() {
        Ok(bytes) if bytes.len() < THRESHOLD_BYTES => {
            return Response::from_parts(head, Body::full(bytes));
        }
        Ok(bytes) => {
            if keeps_plain {
                head.extensions.insert(Uncompressed(bytes.clone()));
            }
            Body::stream(Box::pin(Gzip::new(Box::pin(futures::stream::iter([Ok(bytes)])))))
        }
        Err(stream) => Body::stream(Box::pin(Gzip::new(stream.into_chunks()))),
    };
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(head, body)
}

/// Whether the client takes gzip. Several Accept-Encoding headers mean what one with all their
/// encodings means (RFC 9110, section 5.3).
pub(crate) fn accepts(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|header| header.to_str().ok())
        .any(takes_gzip)
}

/// Whether an Accept-Encoding header has gzip with a quality that is not zero.
fn takes_gzip(header: &str) -> bool {
    header.split(',').any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let mut parameters = parts.filter_map(|part| part.split_once('='));
        let quality = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        is_gzip && quality.and_then(|(_, quality)| quality.trim().parse::<f32>().ok()) != Some(0.0)
    })
}

struct Gzip {
    plain: Chunks,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl Gzip {
    fn new(plain: Chunks) -> Self {
        Self { plain, encoder: Some(GzEncoder::new(Vec::new(), Compression::new(LEVEL))) }
    }
}

impl Stream for Gzip {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let next = ready!(self.plain.as_mut().poll_next(cx)).transpose()?;
            let Some(encoder) = self.encoder.as_mut() else {
                return Poll::Ready(None);
            };
            let out = match next {
                Some(plain) => {
                    encoder.write_all(&plain)?;
                    std::mem::take(encoder.get_mut())
                }
                None => self.encoder.take().map(GzEncoder::finish).transpose()?.unwrap_or_default(),
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out.into())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_gzip() {
        for header in ["gzip", "deflate, gzip;q=0.5", "GZIP ; q=1", "br,gzip"] {
            assert!(takes_gzip(header), "{header}");
        }
        for header in
            ["", "identity", "gzip;q=0", "gzip;Q=0", "gzip ; q = 0", "gzip; q=0.0, br", "xgzip"]
        {
            assert!(!takes_gzip(header), "{header}");
        }
    }

    #[test]
    fn several_headers_are_one() {
        let check = |lines: &[&'static str], expect: bool| {
            let lines = lines.iter().map(|&line| (ACCEPT_ENCODING, HeaderValue::from_static(line)));
            let headers: HeaderMap = lines.collect();
            assert_eq!(accepts(&headers), expect, "{headers:?}");
        };
        check(&[], false);
        check(&["gzip"], true);
        check(&["br", "deflate, gzip"], true);
        check(&["br", "gzip;q=0"], false);
        check(&["br", "deflate"], false);
    }
}
