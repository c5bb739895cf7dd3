//! The messages of the forward stream: frames of requests from the follower, frames of responses
//! from the leader.
//!
//! Invariants: a request's number is unique on its stream and comes back with its response;
//! responses come in any order; a frame is closed once it holds [`MAX_FRAME_BYTES`], so that it
//! stays far below what a peer accepts as one message.

use quorate_store::{Error, NotApplied, Outcome, Txn};
use quorate_trace::{SpanId, TraceContext, TraceId};
use serde::{Deserialize, Serialize};

/// Bytes of requests or responses after which a frame takes no more: the largest frame is this and
/// one item.
pub(crate) const MAX_FRAME_BYTES: usize = 1 << 20;

/// The metadata of a leader's answer to a forward stream: it takes transactions with their traces.
/// One of an earlier release takes them for malformed.
pub(crate) const TAKES_TRACES: &str = "quorate-takes-traces";
/// Bytes of a trace that goes with a transaction, at most.
const TRACE_BYTES: usize = 19 + 10;

/// A frame of the follower.
pub(crate) type RequestFrame = Vec<(u64, ForwardRequest)>;
/// A frame of the leader.
pub(crate) type ResponseFrame = Vec<(u64, ForwardResponse)>;

/// What the follower wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ForwardRequest {
    /// Propose this transaction.
    Txn(Txn),
    /// Find a read point.
    ReadIndex,
    /// The same as [`Self::Txn`], of a request whose trace is recorded. Only for a leader that has
    /// said [`TAKES_TRACES`].
    TracedTxn(ForwardedTrace, Txn),
}

/// The span of the follower that waits for a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForwardedTrace {
    trace: u128,
    span: u64,
}

impl ForwardedTrace {
    /// The span, if it can be one.
    pub(crate) fn context(self) -> Option<TraceContext> {
        let Self { trace, span } = self;
        let (trace, span, is_sampled) = (TraceId(trace), SpanId(span), true);
        (trace.0 != 0 && span.0 != 0).then_some(TraceContext { trace, span, is_sampled })
    }
}

impl ForwardRequest {
    /// Roughly its bytes on the wire.
    pub(crate) fn footprint(&self) -> usize {
        match self {
            Self::Txn(txn) => txn.footprint(),
            Self::ReadIndex => 0,
            Self::TracedTxn(_, txn) => txn.footprint() + TRACE_BYTES,
        }
    }

    /// The same with the trace that it belongs to.
    pub(crate) fn of_trace(self, context: Option<TraceContext>) -> Self {
        match (self, context) {
            (Self::Txn(txn), Some(TraceContext { trace, span, .. })) => {
                Self::TracedTxn(ForwardedTrace { trace: trace.0, span: span.0 }, txn)
            }
            (asked, _) => asked,
        }
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ForwardResponse {
    /// The transaction was decided.
    Decided(Outcome),
    /// The read point.
    ReadIndex(u64),
    /// Nothing happened.
    Refused(#[serde(with = "Refusal")] NotApplied),
    /// The transaction may have happened.
    Unknown(String),
}

impl From<Result<Outcome, Error>> for ForwardResponse {
    fn from(result: Result<Outcome, Error>) -> Self {
        match result {
            Ok(outcome) => Self::Decided(outcome),
            Err(Error::NotApplied(reason)) => Self::Refused(reason),
            Err(Error::Unknown(reason)) => Self::Unknown(reason),
        }
    }
}

impl ForwardResponse {
    /// Roughly its bytes on the wire.
    pub(crate) fn footprint(&self) -> usize {
        match self {
            Self::Decided(Outcome::Conflict { current: Some(entry), .. }) => entry.value.len(),
            _ => 0,
        }
    }

    /// As the answer to [`ForwardRequest::Txn`].
    pub(crate) fn into_outcome(self) -> Result<Outcome, Error> {
        match self {
            Self::Decided(outcome) => Ok(outcome),
            Self::Refused(reason) => Err(Error::NotApplied(reason)),
            Self::Unknown(reason) => Err(Error::Unknown(reason)),
            Self::ReadIndex(_) => {
                Err(Error::Unknown("the leader answered another question".to_owned()))
            }
        }
    }

    /// As the answer to [`ForwardRequest::ReadIndex`].
    pub(crate) fn into_read_point(self) -> Result<u64, NotApplied> {
        match self {
            Self::ReadIndex(index) => Ok(index),
            Self::Refused(reason) => Err(reason),
            Self::Unknown(reason) => Err(NotApplied::Unavailable(reason)),
            Self::Decided(_) => {
                Err(NotApplied::Unavailable("the leader answered another question".to_owned()))
            }
        }
    }
}

/// How [`NotApplied`] looks on the wire.
#[derive(Serialize, Deserialize)]
#[serde(remote = "NotApplied")]
enum Refusal {
    NoLeader,
    Overloaded,
    OutOfSpace { used: u64, limit: u64 },
    TooLarge { size: usize, limit: usize },
    Invalid(String),
    Unavailable(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::wire::{decode, encode};
    use quorate_store::Revision;

    fn check(answer: ForwardResponse) {
        let frame: ResponseFrame = vec![(7, answer)];
        assert_eq!(decode::<ResponseFrame>(&encode(&frame)).expect("decodes"), frame);
    }

    #[test]
    fn a_trace_goes_with_a_transaction_and_nothing_else() {
        let context = TraceContext { trace: TraceId(u128::MAX), span: SpanId(7), is_sampled: true };
        assert_eq!(ForwardRequest::ReadIndex.of_trace(Some(context)), ForwardRequest::ReadIndex);
        let txn = Txn::default();
        let plain = ForwardRequest::Txn(txn.clone());
        assert_eq!(plain.clone().of_trace(None), plain);
        let asked = plain.clone().of_trace(Some(context));
        let added = encode(&asked).len() - encode(&plain).len();
        assert!(added <= TRACE_BYTES, "{added}");
        let ForwardRequest::TracedTxn(trace, found) = decode(&encode(&asked)).expect("decodes")
        else {
            panic!("{asked:?}")
        };
        assert_eq!((trace.context(), found), (Some(context), txn));
        assert_eq!(ForwardedTrace { trace: 0, span: 1 }.context(), None);
    }

    #[test]
    fn responses_survive_the_wire() {
        check(ForwardResponse::Decided(Outcome::Committed { revision: Revision::new(3) }));
        check(ForwardResponse::ReadIndex(u64::MAX));
        check(ForwardResponse::Unknown("why".to_owned()));
        check(ForwardResponse::Refused(NotApplied::NoLeader));
        check(ForwardResponse::Refused(NotApplied::Overloaded));
        check(ForwardResponse::Refused(NotApplied::OutOfSpace { used: 2, limit: 1 }));
        check(ForwardResponse::Refused(NotApplied::TooLarge { size: 2, limit: 1 }));
        check(ForwardResponse::Refused(NotApplied::Invalid("empty key".to_owned())));
        check(ForwardResponse::Refused(NotApplied::Unavailable("stopping".to_owned())));
    }
}
