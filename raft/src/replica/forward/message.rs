//! The messages of the forward stream: frames of requests from the follower, frames of responses
//! from the leader.
//!
//! Invariants: a request's number is unique on its stream and comes back with its response;
//! responses come in any order; a frame is closed once it holds [`MAX_FRAME_BYTES`], so that it
//! stays far below what a peer accepts as one message.

use quorate_store::{Error, NotApplied, Outcome, Txn};
use quorate_trace::{MAX_STATE_BYTES, ParentSpan, SpanId, TraceContext, TraceId, TraceState};
use serde::{Deserialize, Serialize};
use tonic::metadata::MetadataMap;

/// Bytes of requests or responses after which a frame takes no more: the largest frame is this and
/// one item.
pub(crate) const MAX_FRAME_BYTES: usize = 1 << 20;

/// The metadata of a leader's answer to a forward stream: it takes transactions with their traces.
/// One of an earlier release takes them for malformed.
pub(crate) const TAKES_TRACES: &str = "quorate-takes-traces";
/// Its value from the leader on that takes the states of traces besides.
pub(crate) const AND_STATES: &str = "2";
/// Bytes of a trace that goes with a transaction, at most.
const TRACE_BYTES: usize = 19 + 10;
/// The same of a trace with its state.
const STATED_TRACE_BYTES: usize = TRACE_BYTES + 2 + MAX_STATE_BYTES;

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
    /// The same, with what other tracing systems keep with the trace. Only for a leader that has said
    /// [`AND_STATES`].
    StatedTxn(ForwardedTrace, String, Txn),
}

/// Which traces a leader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenTraces {
    /// None.
    None,
    /// Those without what other systems keep with them.
    Plain,
    /// All.
    Stated,
}

impl TakenTraces {
    /// What a leader has said.
    pub(crate) fn of(metadata: &MetadataMap) -> Self {
        match metadata.get(TAKES_TRACES) {
            None => Self::None,
            Some(value) if value == AND_STATES => Self::Stated,
            Some(_) => Self::Plain,
        }
    }
}

/// The span of the follower that waits for a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForwardedTrace {
    trace: u128,
    span: u64,
}

impl ForwardedTrace {
    /// The span, if it can be one; with the state of its trace, if that can be one.
    pub(crate) fn parent(self, state: &str) -> Option<ParentSpan> {
        let Self { trace, span } = self;
        let (trace, span, is_sampled) = (TraceId(trace), SpanId(span), true);
        let state = TraceState::parse([state.as_bytes()]);
        let context = TraceContext { trace, span, is_sampled };
        (trace.0 != 0 && span.0 != 0).then_some(ParentSpan { context, state })
    }
}

impl ForwardRequest {
    /// Roughly its bytes on the wire.
    pub(crate) fn footprint(&self) -> usize {
        match self {
            Self::Txn(txn) => txn.footprint(),
            Self::ReadIndex => 0,
            Self::TracedTxn(_, txn) => txn.footprint() + TRACE_BYTES,
            Self::StatedTxn(_, _, txn) => txn.footprint() + STATED_TRACE_BYTES,
        }
    }

    /// The same with the trace that it belongs to, as far as the leader takes it.
    pub(crate) fn of_trace(self, parent: Option<ParentSpan>, taken: TakenTraces) -> Self {
        let Some(ParentSpan { context, state }) = parent else { return self };
        let txn = match self {
            Self::Txn(txn) if taken != TakenTraces::None => txn,
            asked => return asked,
        };
        let trace = ForwardedTrace { trace: context.trace.0, span: context.span.0 };
        match (taken, state) {
            (TakenTraces::Stated, Some(state)) => {
                Self::StatedTxn(trace, state.header().to_owned(), txn)
            }
            _ => Self::TracedTxn(trace, txn),
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
        let text = format!("k={}", "v".repeat(250));
        let state = TraceState::parse([format!("{text},l={}", "v".repeat(250)).as_bytes()]);
        let stated = ParentSpan { context, state: state.clone() };
        let parents = [ParentSpan::from(context), stated.clone()];
        let txn = Txn::default();
        let plain = ForwardRequest::Txn(txn.clone());
        for parent in parents.clone() {
            let parent = Some(parent);
            let read = ForwardRequest::ReadIndex.of_trace(parent.clone(), TakenTraces::Stated);
            assert_eq!(read, ForwardRequest::ReadIndex);
            assert_eq!(plain.clone().of_trace(parent, TakenTraces::None), plain);
        }
        assert_eq!(plain.clone().of_trace(None, TakenTraces::Stated), plain);
        let check = |parent: &ParentSpan, taken, expect: &ParentSpan, limit: usize| {
            let asked = plain.clone().of_trace(Some(parent.clone()), taken);
            let added = encode(&asked).len() - encode(&plain).len();
            assert!(added <= limit && asked.footprint() >= added, "{added}");
            let (trace, state, found) = match decode(&encode(&asked)).expect("decodes") {
                ForwardRequest::TracedTxn(trace, found) => (trace, String::new(), found),
                ForwardRequest::StatedTxn(trace, state, found) => (trace, state, found),
                other => panic!("{other:?}"),
            };
            assert_eq!((trace.parent(&state), &found), (Some(expect.clone()), &txn));
        };
        for parent in &parents {
            check(parent, TakenTraces::Plain, &parents[0], TRACE_BYTES);
            check(parent, TakenTraces::Stated, parent, STATED_TRACE_BYTES);
        }
        assert_eq!(ForwardedTrace { trace: 0, span: 1 }.parent(""), None);
        // What a peer sends is held against the same rules as what a client sends.
        let one = ForwardedTrace { trace: 1, span: 1 };
        assert_eq!(one.parent("not a state").map(|parent| parent.state), Some(None));
    }

    #[test]
    fn a_leader_says_which_traces_it_takes() {
        let check = |value: Option<&'static str>, expect: TakenTraces| {
            let mut metadata = MetadataMap::new();
            if let Some(value) = value {
                metadata.insert(TAKES_TRACES, value.parse().unwrap());
            }
            assert_eq!(TakenTraces::of(&metadata), expect, "{value:?}");
        };
        check(None, TakenTraces::None);
        check(Some("1"), TakenTraces::Plain);
        check(Some(AND_STATES), TakenTraces::Stated);
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
