//! Spans as they are recorded, and where they go.
//!
//! Invariants: a span has ended; a text is at most [`TRACE_TEXT_BYTES`] long. What is secret is never
//! given to a span: no header but the client's name of itself, no query, no body.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::context::{SpanId, TraceContext, TraceId};
use crate::ids::Ids;
use crate::state::TraceState;

/// Spans of one trace at one node, at most; those beyond are counted.
pub const MAX_SPANS: usize = 256;
/// Bytes of a text of a span, at most.
pub const TRACE_TEXT_BYTES: usize = 256;

/// What a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A part of what this node does.
    Internal,
    /// The answer to a request of another process.
    Server,
    /// A request to another process.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A time in seconds.
    Seconds(f64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        let end = text.floor_char_boundary(TRACE_TEXT_BYTES);
        Self::Text(text[..end].to_owned())
    }
}

impl From<u16> for AttributeValue {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanRecord {
    /// What it is called.
    pub name: Cow<'static, str>,
    /// What it stands for.
    pub kind: SpanKind,
    /// Its id.
    pub span: SpanId,
    /// The span that it is a part of; `None` for the first one of a trace.
    pub parent: Option<SpanId>,
    /// When it began.
    pub begin: Instant,
    /// When it ended.
    pub end: Instant,
    /// What is known of it.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// The spans that a node adds to a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedTrace {
    /// The trace.
    pub trace: TraceId,
    /// What other tracing systems keep with it.
    pub state: Option<TraceState>,
    /// The spans; the last one is the request's own, but for what a request has left to be done.
    pub spans: Vec<SpanRecord>,
    /// Whether the parent of the last one is a span of another process.
    pub has_remote_parent: bool,
    /// Spans beyond [`MAX_SPANS`].
    pub dropped: usize,
}

/// Where traces go.
pub trait TraceSink: Send + Sync + fmt::Debug {
    /// Takes a trace. Never waits.
    fn export(&self, trace: FinishedTrace);
}

/// The spans of a trace that is under way.
#[derive(Debug)]
pub(crate) struct SpanBuffer {
    pub(crate) ids: Arc<Ids>,
    ended: Mutex<Ended>,
}

#[derive(Debug, Default)]
struct Ended {
    spans: Vec<SpanRecord>,
    dropped: usize,
    is_closed: bool,
}

impl SpanBuffer {
    pub(crate) fn new(ids: Arc<Ids>) -> Self {
        Self { ids, ended: Mutex::default() }
    }

    /// Adds a span; one that ends after its request is not told.
    pub(crate) fn push(&self, span: SpanRecord) {
        let mut ended = self.ended.lock();
        if ended.is_closed {
            return;
        }
        if ended.spans.len() < MAX_SPANS {
            ended.spans.push(span);
        } else {
            ended.dropped += 1;
        }
    }

    /// Takes the spans, and takes no more of them.
    pub(crate) fn close(&self) -> (Vec<SpanRecord>, usize) {
        let mut ended = self.ended.lock();
        ended.is_closed = true;
        (std::mem::take(&mut ended.spans), ended.dropped)
    }
}

/// A new span below this one.
pub(crate) fn child(
    name: &'static str,
    parent: &TraceContext,
    ids: &Ids,
    (begin, end): (Instant, Instant),
) -> SpanRecord {
    SpanRecord {
        name: Cow::Borrowed(name),
        kind: SpanKind::Internal,
        span: ids.span(),
        parent: Some(parent.span),
        begin,
        end,
        attributes: Vec::new(),
        error: None,
    }
}
