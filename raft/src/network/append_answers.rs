//! Answers to append requests, held back while openraft could take them for the answer to a later
//! request.
//!
//! openraft notes the time at which it makes each request, and lets an answer confirm every request
//! that ends at the same entry or before it, at the time of the last of them. A request that only
//! carries the commit index ends where the one before it did: the answer to the first would confirm
//! the leader at the time of the second, which the follower may never have seen. An answer that was
//! under way while another leader was elected could then pass for the confirmation that a
//! linearizable read waits for.
//!
//! Invariants: an answer reaches openraft only when every request that ends at its entry or before
//! it has been answered; the answer to the last of those says as much, and comes in its place.
//! openraft makes no request between the delivery of an answer and its evaluation.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use futures::{Stream, StreamExt};
use parking_lot::Mutex;

use super::append::{AppendRequest, AppendResult};
use crate::types::LogId;

/// What both directions of one stream know. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingAppends {
    state: Arc<Mutex<InFlight>>,
}

#[derive(Debug, Default)]
struct InFlight {
    /// Requests without an answer, in order.
    open: VecDeque<PendingAppend>,
    /// An answer was given to openraft, which may not have evaluated it yet.
    delivering: bool,
    /// The task that waits to make the next request.
    waiting: Option<Waker>,
}

#[derive(Debug)]
struct PendingAppend {
    /// The entry that it ends at.
    last: Option<LogId>,
    /// Whether it went over the wire; otherwise a later one goes in its place.
    sent: bool,
}

impl InFlight {
    /// Counts an answer that confirms everything up to `matching`. True when openraft may see it.
    fn answered(&mut self, matching: &Option<LogId>) -> bool {
        while self.open.pop_front().is_some_and(|open| !open.sent) {}
        self.open.front().is_none_or(|open| open.last > *matching)
    }
}

impl PendingAppends {
    /// The requests as openraft makes them.
    pub(super) fn requests<S>(&self, requests: S) -> TrackedRequests<S> {
        TrackedRequests { inner: requests, asked: self.clone() }
    }

    /// The request that openraft made last goes over the wire.
    pub(super) fn sent(&self) {
        if let Some(open) = self.state.lock().open.back_mut() {
            open.sent = true;
        }
    }

    /// The answers that openraft may see.
    pub(super) fn answers<S>(&self, answers: S) -> ReleasedAnswers<S> {
        ReleasedAnswers { inner: answers, asked: self.clone() }
    }
}

/// The requests of [`PendingAppends::requests`].
pub(super) struct TrackedRequests<S> {
    inner: S,
    asked: PendingAppends,
}

impl<S: Stream<Item = AppendRequest> + Unpin> Stream for TrackedRequests<S> {
    type Item = AppendRequest;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AppendRequest>> {
        let asked = self.asked.clone();
        // Held while openraft makes a request, so that no answer slips in between that and the note
        // of it.
        let mut state = asked.state.lock();
        if state.delivering {
            state.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let request = ready!(self.inner.poll_next_unpin(cx));
        if let Some(request) = &request {
            let last = request.entries.last().map(|entry| entry.log_id).or(request.prev_log_id);
            state.open.push_back(PendingAppend { last, sent: false });
        }
        Poll::Ready(request)
    }
}

/// The answers of [`PendingAppends::answers`].
pub(super) struct ReleasedAnswers<S> {
    inner: S,
    asked: PendingAppends,
}

impl<S, E> Stream for ReleasedAnswers<S>
where
    S: Stream<Item = Result<AppendResult, E>> + Unpin,
{
    type Item = Result<AppendResult, E>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A poll for the next answer means that the one before was evaluated.
        let waiting = {
            let mut state = self.asked.state.lock();
            state.delivering = false;
            state.waiting.take()
        };
        waiting.into_iter().for_each(Waker::wake);
        loop {
            let answer = ready!(self.inner.poll_next_unpin(cx));
            let mut state = self.asked.state.lock();
            if let Some(Ok(Ok(matching))) = &answer
                && !state.answered(matching)
            {
                continue;
            }
            state.delivering = true;
            drop(state);
            return Poll::Ready(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use openraft::vote::RaftLeaderId;
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::UnboundedReceiverStream;

    use crate::types::{LogEntry, Payload, Vote};

    fn log_id(index: u64) -> LogId {
        LogId { leader_id: RaftLeaderId::new(1, 1), index }
    }

    /// The entry `index`, or only the commit index for a member that has it.
    fn request(index: u64, commit_only: bool) -> AppendRequest {
        let (prev, entries) = match commit_only {
            true => (index, vec![]),
            false => (index - 1, vec![LogEntry { log_id: log_id(index), payload: Payload::Blank }]),
        };
        AppendRequest {
            vote: Vote::new_committed(1, 1),
            prev_log_id: Some(log_id(prev)),
            entries,
            leader_commit: None,
        }
    }

    struct Harness {
        make: mpsc::UnboundedSender<AppendRequest>,
        answer: mpsc::UnboundedSender<Result<AppendResult, ()>>,
        requests: Pin<Box<dyn Stream<Item = AppendRequest> + Send>>,
        answers: Pin<Box<dyn Stream<Item = Result<AppendResult, ()>> + Send>>,
        asked: PendingAppends,
    }

    impl Harness {
        fn new() -> Self {
            let asked = PendingAppends::default();
            let ((make, made), (answer, answers)) =
                (mpsc::unbounded_channel(), mpsc::unbounded_channel());
            let requests = Box::pin(asked.requests(UnboundedReceiverStream::new(made)));
            let answers = Box::pin(asked.answers(UnboundedReceiverStream::new(answers)));
            Self { make, answer, requests, answers, asked }
        }

        /// openraft makes a request, and it is sent or left out.
        fn ask(&mut self, index: u64, commit_only: bool, sent: bool) {
            self.make.send(request(index, commit_only)).unwrap();
            assert!(self.requests.next().now_or_never().is_some());
            if sent {
                self.asked.sent();
            }
        }

        /// An answer arrives. What openraft sees.
        fn answered(&mut self, index: u64) -> Option<u64> {
            self.answer.send(Ok(Ok(Some(log_id(index))))).unwrap();
            let seen = self.answers.next().now_or_never()?;
            Some(seen.unwrap().unwrap().unwrap().unwrap().index)
        }
    }

    #[test]
    fn an_answer_waits_while_a_later_request_ends_at_its_entry() {
        let mut harness = Harness::new();
        harness.ask(5, false, true);
        harness.ask(5, true, true);
        assert_eq!(
            harness.answered(5),
            None,
            "it would confirm the leader at the time of the second request"
        );
        assert_eq!(harness.answered(5), Some(5));
    }

    #[test]
    fn a_request_that_was_left_out_counts_until_the_one_in_its_place_is_answered() {
        let mut harness = Harness::new();
        harness.ask(5, false, true);
        harness.ask(5, true, false);
        harness.ask(6, false, true);
        assert_eq!(harness.answered(5), None);
        assert_eq!(harness.answered(6), Some(6));
    }

    #[test]
    fn answers_go_on_at_once_when_later_requests_end_later() {
        let mut harness = Harness::new();
        harness.ask(5, false, true);
        harness.ask(6, false, true);
        assert_eq!(harness.answered(5), Some(5));
        assert!(harness.answers.next().now_or_never().is_none());
        harness.ask(6, true, true);
        assert_eq!(harness.answered(6), None);
        assert_eq!(harness.answered(6), Some(6));
    }

    #[test]
    fn no_request_is_made_while_an_answer_is_looked_at() {
        let mut harness = Harness::new();
        harness.ask(5, false, true);
        assert_eq!(harness.answered(5), Some(5));
        harness.make.send(request(5, true)).unwrap();
        assert!(harness.requests.next().now_or_never().is_none(), "openraft has not looked yet");
        assert!(harness.answers.next().now_or_never().is_none());
        assert!(harness.requests.next().now_or_never().is_some());
    }
}
