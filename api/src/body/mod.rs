//! The body of an answer: nothing, a whole buffer, or a stream of buffers made while the client
//! reads.
//!
//! Invariant: a stream is pulled, never pushed: the maker of buffers waits until the connection
//! takes them, so a slow client costs one buffer. A stream that fails ends the connection, which is
//! how HTTP says that a body is incomplete.

mod idle_timeout;

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

use idle_timeout::impatient;

/// What a streamed body is made of.
pub type Chunks = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The body of an answer.
pub struct Body(Kind);

enum Kind {
    Full(Option<Bytes>),
    Stream(Chunks),
}

/// The body of a compressed answer as it was, if it was whole: an extension of the answer, for the
/// audit trail.
#[derive(Clone)]
pub(crate) struct Uncompressed(pub(crate) Bytes);

/// An answer that goes on until it is ended, a watch: an extension of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lasting;

impl Body {
    /// No content.
    #[must_use]
    pub fn empty() -> Self {
        Self(Kind::Full(None))
    }

    /// A whole buffer, with a known length.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Kind::Full(Some(bytes.into()).filter(|b| !b.is_empty())))
    }

    /// Buffers as they come; chunked on the wire.
    #[must_use]
    pub fn stream(chunks: Chunks) -> Self {
        Self(Kind::Stream(chunks))
    }

    /// The same body; while it is still being made, `held` is kept.
    #[must_use]
    pub fn holding(self, held: impl Send + 'static) -> Self {
        match self.0 {
            Kind::Full(_) => self,
            Kind::Stream(mut chunks) => {
                Self::stream(Box::pin(futures::stream::poll_fn(move |cx| {
                    let _ = &held;
                    chunks.as_mut().poll_next(cx)
                })))
            }
        }
    }

    /// The same as [`Body::holding`], for a body that its client has to go on taking: a part of it
    /// each minute.
    #[must_use]
    pub fn holding_while_taken(self, held: impl Send + 'static) -> Self {
        match self.0 {
            Kind::Full(_) => self,
            Kind::Stream(chunks) => Self::stream(impatient(chunks, held)),
        }
    }

    /// The whole buffer when the body is one (empty included), else the body itself.
    pub fn into_full(self) -> Result<Bytes, Self> {
        match self.0 {
            Kind::Full(bytes) => Ok(bytes.unwrap_or_default()),
            stream @ Kind::Stream(_) => Err(Self(stream)),
        }
    }

    /// The buffers, whole or as they come.
    #[must_use]
    pub fn into_chunks(self) -> Chunks {
        match self.0 {
            Kind::Full(bytes) => Box::pin(futures::stream::iter(bytes.map(Ok))),
            Kind::Stream(chunks) => chunks,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Kind::Full(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Kind::Stream(chunks) => {
                chunks.as_mut().poll_next(cx).map(|next| next.map(|r| r.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Kind::Stream(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Full(bytes) => write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len)),
            Kind::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}
