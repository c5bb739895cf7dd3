//! The trace context of a span, and its W3C form: the header `traceparent` of Trace Context, level 1.
//!
//! Invariant: neither id of a context is zero.

use std::fmt;

use crate::state::TraceState;

/// The header of a trace context.
pub const TRACEPARENT: &str = "traceparent";
/// Bytes of the header in the version that is written here.
const HEADER_BYTES: usize = 55;
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// The id of a trace; not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceId(pub u128);

/// The id of a span; not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanId(pub u64);

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A span of a trace, as others refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span.
    pub span: SpanId,
    /// Whether the trace is recorded.
    pub is_sampled: bool,
}

/// The span of another process that a trace goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentSpan {
    /// The span.
    pub context: TraceContext,
    /// What tracing systems keep with its trace.
    pub state: Option<TraceState>,
}

impl From<TraceContext> for ParentSpan {
    fn from(context: TraceContext) -> Self {
        Self { context, state: None }
    }
}

impl TraceContext {
    /// Reads the header; `None` for one that is not valid. Later versions may add to it.
    #[must_use]
    pub fn parse(header: &[u8]) -> Option<Self> {
        let (head, rest) = header.split_at_checked(HEADER_BYTES)?;
        let dashes = [head[2], head[35], head[52]];
        let version = hexadecimal(&head[..2])?;
        let is_whole = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.first().is_none_or(|next| *next == b'-'),
        };
        if !is_whole || dashes != [b'-'; 3] {
            return None;
        }
        let trace = TraceId(hexadecimal(&head[3..35])?);
        let span = SpanId(u64::try_from(hexadecimal(&head[36..52])?).ok()?);
        let flags = u8::try_from(hexadecimal(&head[53..])?).ok()?;
        let is_valid = trace.0 != 0 && span.0 != 0;
        is_valid.then_some(Self { trace, span, is_sampled: flags & SAMPLED != 0 })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> String {
        format!("00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

/// A number in lower-case hexadecimal digits, of which there are at most 32.
fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}
