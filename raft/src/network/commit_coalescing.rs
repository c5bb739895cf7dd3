//! Commit coalescing: an append request that only carries the commit index waits a moment for one
//! with entries.
//!
//! openraft sends every commit index to the followers at once. Under load the next entries follow
//! within a moment and carry the same index; on its own it would cost each member as much as the
//! entries themselves.
//!
//! Invariants: order is kept; a request is only left out when a later one with entries, which says
//! as much, goes in its place; none waits for longer than [`PAUSE`]. Heartbeats have a connection
//! of their own and never come here.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use super::append::AppendRequest;

/// How long news of a commit may wait: what a follower's readers may wait for it longer than they
/// would.
const PAUSE: Duration = Duration::from_millis(2);

/// The same requests, without those that a later one makes needless.
pub(super) fn with_entries<S>(requests: S) -> impl Stream<Item = AppendRequest> + Send + 'static
where
    S: Stream<Item = AppendRequest> + Send + Unpin + 'static,
{
    stream::unfold(requests.fuse(), |mut requests| async move {
        let mut request = requests.next().await?;
        let until = Instant::now() + PAUSE;
        while request.entries.is_empty() {
            match timeout_at(until, requests.next()).await {
                Ok(Some(later)) => request = later,
                Ok(None) | Err(_) => break,
            }
        }
        Some((request, requests))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::vote::RaftLeaderId;
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::UnboundedReceiverStream;

    use crate::types::{LogEntry, LogId, Payload, Vote};

    /// A request with the entry `index`, or with none; it says that everything up to `committed`
    /// is.
    fn request(committed: u64, entry: Option<u64>) -> AppendRequest {
        let log_id = |index| LogId { leader_id: RaftLeaderId::new(1, 1), index };
        let entries =
            entry.map(|index| LogEntry { log_id: log_id(index), payload: Payload::Blank });
        AppendRequest {
            vote: Vote::new_committed(1, 1),
            prev_log_id: None,
            entries: entries.into_iter().collect(),
            leader_commit: Some(log_id(committed)),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_waits_for_entries_but_not_for_long() {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut sent = Box::pin(with_entries(UnboundedReceiverStream::new(receiver)));
        let ask = |requests: &[(u64, Option<u64>)]| {
            requests.iter().for_each(|(committed, entry)| {
                sender.send(request(*committed, *entry)).expect("it listens")
            });
        };
        let started = Instant::now();
        let check = |got: Option<AppendRequest>, committed, entry, waited: Duration| {
            let (got, expect) = (got.expect("a request"), request(committed, entry));
            assert_eq!((got.leader_commit, got.entries), (expect.leader_commit, expect.entries));
            assert_eq!(started.elapsed(), waited);
        };
        ask(&[(1, Some(2)), (2, None), (2, Some(3)), (3, None)]);
        check(sent.next().await, 1, Some(2), Duration::ZERO);
        check(sent.next().await, 2, Some(3), Duration::ZERO);
        check(sent.next().await, 3, None, PAUSE);
        ask(&[(4, None), (5, None)]);
        check(sent.next().await, 5, None, PAUSE * 2);
        ask(&[(6, None)]);
        drop(sender);
        check(sent.next().await, 6, None, PAUSE * 2);
        assert!(sent.next().await.is_none());
    }
}
