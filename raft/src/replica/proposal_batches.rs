//! Proposal batches: transactions that wait together are proposed together, in one log entry.
//!
//! While [`BATCHES_UNDER_WAY`] entries wait for their decision, every transaction that arrives goes
//! into the next one. So an idle member proposes at once, and a busy one pays for the entry (a sync
//! on every member, messages, wake-ups) once for many transactions. Clients that were answered
//! share the next entry with those that waited meanwhile ([`BatchWindow`]).
//!
//! Invariants: a transaction is in one batch, and batches keep the order of arrival; every
//! transaction is answered, whatever becomes of its batch; *not applied* is only said of a
//! transaction that was in no batch yet. How many may wait is bounded by the permits of
//! `proposals`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;
use quorate_store::{Error, NotApplied, Outcome, Txn};
use quorate_trace::CurrentSpan;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

use super::batch_window::BatchWindow;
use crate::types::ApplyTimes;

/// Entries of this member that wait for their decision.
const BATCHES_UNDER_WAY: usize = 1;
/// Transactions in one batch at most.
const MAX_BATCH_TRANSACTIONS: usize = 256;
/// Bytes of transactions after which a batch takes no more: the largest batch is this and one
/// transaction.
const MAX_BATCH_BYTES: usize = 1 << 20;
/// How long a transaction may wait for its batch: it has had no effect yet and can be tried
/// elsewhere.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// What became of a batch: its outcomes in order, or the same failure for all.
pub(crate) type Decided = Result<Vec<Outcome>, Error>;

/// What became of a batch, and when it was applied, for the traces of its transactions.
#[derive(Debug)]
pub(crate) struct BatchOutcome {
    pub(crate) decided: Decided,
    pub(crate) applied: Option<ApplyTimes>,
}

/// The transactions that wait.
#[derive(Debug)]
pub(crate) struct ProposalBatches {
    /// `None` once proposing has ended.
    waiting: Mutex<Option<VecDeque<WaitingProposal>>>,
    wake: Notify,
}

#[derive(Debug)]
struct WaitingProposal {
    txn: Txn,
    since: Instant,
    /// The span that asks for it.
    span: CurrentSpan,
    reply: oneshot::Sender<Result<Outcome, Error>>,
}

impl Default for ProposalBatches {
    fn default() -> Self {
        Self { waiting: Mutex::new(Some(VecDeque::new())), wake: Notify::new() }
    }
}

/// Refuses what waits when it is dropped with the proposing task, and everything after that.
struct RefuseOnDrop<'a>(&'a ProposalBatches);

impl Drop for RefuseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().take().into_iter().flatten().for_each(WaitingProposal::refuse);
    }
}

impl WaitingProposal {
    fn refuse(self) {
        self.reply.send(Err(NotApplied::NoLeader.into())).ok();
    }
}

impl ProposalBatches {
    /// Waits until the transaction is decided.
    pub(crate) async fn decide(&self, txn: Txn) -> Result<Outcome, Error> {
        let (reply, receiver) = oneshot::channel();
        match &mut *self.waiting.lock() {
            Some(waiting) => {
                let (since, span) = (Instant::now(), quorate_trace::current());
                waiting.push_back(WaitingProposal { txn, since, span, reply });
            }
            None => return Err(NotApplied::NoLeader.into()),
        }
        self.wake.notify_one();
        receiver.await.unwrap_or_else(|_| Err(Error::Unknown("the node is stopping".to_owned())))
    }

    /// Proposes whatever waits, for ever.
    pub(crate) async fn run(
        &self,
        propose: impl Fn(Arc<[Txn]>) -> BoxFuture<'static, BatchOutcome> + Send + Sync,
    ) {
        let _running = RefuseOnDrop(self);
        let mut under_way = FuturesUnordered::new();
        let mut window: Option<BatchWindow> = None;
        loop {
            let full = under_way.len() >= BATCHES_UNDER_WAY;
            let due = if full { self.oldest() } else { window.map(|window| window.until()) };
            tokio::select! {
                biased;
                Some((answered, took)) = under_way.next(), if !under_way.is_empty() => {
                    window = Some(BatchWindow::new(answered, took, self.len()));
                }
                // Tasks that are ready now run first, so that their transactions share the batch.
                () = self.wake.notified() => tokio::task::yield_now().await,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            }
            self.refuse_old();
            window = window.take_if(|window| window.stays_open(self.len(), MAX_BATCH_TRANSACTIONS));
            if window.is_some() {
                continue;
            }
            while under_way.len() < BATCHES_UNDER_WAY
                && let Some(batch) = self.take()
            {
                let begun = Instant::now();
                let spans = waited(&batch, begun);
                let (txns, replies): (Vec<Txn>, Vec<_>) =
                    batch.into_iter().map(|one| (one.txn, one.reply)).unzip();
                let proposing = propose(txns.into());
                under_way.push(async move {
                    let answered = replies.len();
                    let BatchOutcome { decided, applied } = proposing.await;
                    spans.iter().for_each(|span| proposed(span, begun, applied));
                    answer(replies, decided);
                    (answered, begun.elapsed())
                });
            }
        }
    }

    /// How many transactions wait.
    fn len(&self) -> usize {
        self.waiting.lock().as_ref().map_or(0, VecDeque::len)
    }

    /// Until when the oldest transaction may wait.
    fn oldest(&self) -> Option<Instant> {
        self.waiting.lock().as_ref()?.front().map(|first| first.since + MAX_WAIT)
    }

    fn refuse_old(&self) {
        let now = Instant::now();
        let mut waiting = self.waiting.lock();
        while let Some(old) = waiting
            .as_mut()
            .and_then(|waiting| waiting.pop_front_if(|one| one.since + MAX_WAIT <= now))
        {
            old.refuse();
        }
    }

    /// The next batch: at least one transaction, if any waits.
    fn take(&self) -> Option<Vec<WaitingProposal>> {
        let mut waiting = self.waiting.lock();
        let waiting = waiting.as_mut()?;
        let mut bytes = 0;
        let fits = |one: &&WaitingProposal| {
            let before = bytes;
            bytes += one.txn.footprint();
            before < MAX_BATCH_BYTES
        };
        let count = waiting.iter().take(MAX_BATCH_TRANSACTIONS).take_while(fits).count();
        (count > 0).then(|| waiting.drain(..count).collect())
    }
}

/// The spans of a batch that are recorded, with how long each has waited for it.
fn waited(batch: &[WaitingProposal], begun: Instant) -> Vec<CurrentSpan> {
    let sampled = batch.iter().filter(|one| one.span.is_sampled());
    let waited = sampled.map(|one| {
        one.span.record("raft.batch", one.since, begun);
        one.span.clone()
    });
    waited.collect()
}

/// Records what became of the batch of a span.
fn proposed(span: &CurrentSpan, begun: Instant, applied: Option<ApplyTimes>) {
    if let Some(applied) = applied {
        span.record("raft.replicate", begun, applied.begun);
        span.record("raft.apply", applied.begun, applied.ended);
    }
}

fn answer(replies: Vec<oneshot::Sender<Result<Outcome, Error>>>, decided: Decided) {
    match decided {
        Ok(outcomes) => {
            let mut outcomes = outcomes.into_iter();
            for reply in replies {
                let missing = || Error::Unknown("the state machine gave no outcome".to_owned());
                reply.send(outcomes.next().ok_or_else(missing)).ok();
            }
        }
        Err(error) => replies.into_iter().for_each(|reply| drop(reply.send(Err(error.clone())))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use quorate_store::{Operation, Revision};
    use tokio::sync::mpsc;

    fn txn(key: usize, bytes: usize) -> Txn {
        let operation =
            Operation::Put { key: key.to_string().into(), value: vec![0; bytes].into() };
        Txn { conditions: Vec::new(), operations: vec![operation], ..Txn::default() }
    }

    /// Every batch that is proposed, and the way to decide it.
    type Proposed = (Arc<[Txn]>, oneshot::Sender<Decided>);

    fn start(
        batches: &Arc<ProposalBatches>,
    ) -> (mpsc::UnboundedReceiver<Proposed>, tokio::task::JoinHandle<()>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let batches = batches.clone();
        let running = tokio::spawn(async move {
            let propose = move |txns| {
                let (decide, decided) = oneshot::channel();
                sender.send((txns, decide)).expect("the test listens");
                let outcome = |decided| BatchOutcome { decided, applied: None };
                async move { outcome(decided.await.expect("the test decides")) }.boxed()
            };
            batches.run(propose).await;
        });
        (receiver, running)
    }

    fn ask(
        batches: &Arc<ProposalBatches>,
        txn: Txn,
    ) -> tokio::task::JoinHandle<Result<Outcome, Error>> {
        let batches = batches.clone();
        tokio::spawn(async move { batches.decide(txn).await })
    }

    fn committed(revision: usize) -> Outcome {
        Outcome::Committed { revision: Revision::new(revision as u64) }
    }

    #[tokio::test(start_paused = true)]
    async fn what_arrives_while_a_batch_is_under_way_shares_the_next_one() {
        let batches = Arc::new(ProposalBatches::default());
        let (mut proposed, _running) = start(&batches);
        let first = ask(&batches, txn(0, 1));
        let (one, decide) = proposed.recv().await.expect("a batch");
        assert_eq!(one[..], [txn(0, 1)]);
        let late: Vec<_> = (1..=10).map(|key| ask(&batches, txn(key, 1))).collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(proposed.try_recv().is_err());
        decide.send(Ok(vec![committed(1)])).expect("it waits");
        let (ten, decide) = proposed.recv().await.expect("a batch");
        assert_eq!(ten[..], (1..=10).map(|key| txn(key, 1)).collect::<Vec<_>>()[..]);
        decide.send(Ok((2..=10).map(committed).collect())).expect("it waits");
        assert_eq!(first.await.expect("joins"), Ok(committed(1)));
        for (index, answer) in late.into_iter().enumerate() {
            let answer = answer.await.expect("joins");
            match index {
                9 => assert!(
                    matches!(answer, Err(Error::Unknown(_))),
                    "its outcome was missing: {answer:?}"
                ),
                _ => assert_eq!(answer, Ok(committed(index + 2))),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_transactions_let_answered_clients_catch_up() {
        // Of three answered clients so many come again; the batch with the two that waited
        // meanwhile, and after how many microseconds.
        let check = async |again: usize, expect: (usize, u128)| {
            let batches = Arc::new(ProposalBatches::default());
            let (mut proposed, _running) = start(&batches);
            let asked =
                |count: usize| (0..count).map(|key| ask(&batches, txn(key, 1))).collect::<Vec<_>>();
            let alone = asked(1);
            let (_, decide) = proposed.recv().await.expect("a batch");
            let three = asked(3);
            tokio::task::yield_now().await;
            decide.send(Ok(vec![committed(1)])).expect("it waits");
            let (batch, decide) = proposed.recv().await.expect("a batch");
            assert_eq!(batch.len(), 3);
            let two = asked(2);
            tokio::task::yield_now().await;
            decide.send(Ok((2..=4).map(committed).collect())).expect("it waits");
            let decided = Instant::now();
            for answer in three {
                assert!(answer.await.expect("joins").is_ok());
            }
            let again = asked(again);
            let (batch, _decide) = proposed.recv().await.expect("a batch");
            assert_eq!((batch.len(), decided.elapsed().as_micros()), expect);
            drop((alone, two, again));
        };
        check(0, (2, 1000)).await;
        check(2, (4, 1000)).await;
        check(3, (5, 0)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_alone_does_not_wait() {
        let batches = Arc::new(ProposalBatches::default());
        let (mut proposed, _running) = start(&batches);
        for turn in 1..=3 {
            let asked = ask(&batches, txn(turn, 1));
            let begun = Instant::now();
            let (_, decide) = proposed.recv().await.expect("a batch");
            decide.send(Ok(vec![committed(turn)])).expect("it waits");
            assert_eq!(asked.await.expect("joins"), Ok(committed(turn)));
            assert!(begun.elapsed().is_zero());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_is_closed_by_the_transaction_that_fills_it() {
        let check = async |sizes: &[usize], expect: &[usize]| {
            let batches = Arc::new(ProposalBatches::default());
            let asking: Vec<_> = sizes.iter().map(|bytes| ask(&batches, txn(0, *bytes))).collect();
            tokio::time::sleep(Duration::from_millis(1)).await;
            batches.wake.notify_one();
            let (mut proposed, _running) = start(&batches);
            for expect in expect {
                let (batch, decide) = proposed.recv().await.expect("a batch");
                assert_eq!(batch.len(), *expect);
                decide.send(Ok((0..batch.len()).map(committed).collect())).expect("it waits");
            }
            for answer in asking {
                assert!(answer.await.expect("joins").is_ok());
            }
        };
        check(&[1; 600], &[256, 256, 88]).await;
        check(&[MAX_BATCH_BYTES, 1, 1], &[1, 2]).await;
        check(&[MAX_BATCH_BYTES / 2; 5], &[2, 2, 1]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_too_long_is_refused_and_what_is_under_way_is_not() {
        let batches = Arc::new(ProposalBatches::default());
        let (mut proposed, running) = start(&batches);
        let first = ask(&batches, txn(0, 1));
        let (_, decide) = proposed.recv().await.expect("a batch");
        assert_eq!(
            ask(&batches, txn(1, 1)).await.expect("joins"),
            Err(NotApplied::NoLeader.into())
        );
        let third = ask(&batches, txn(2, 1));
        tokio::time::sleep(Duration::from_millis(1)).await;
        running.abort();
        assert_eq!(third.await.expect("joins"), Err(NotApplied::NoLeader.into()));
        assert!(matches!(first.await.expect("joins"), Err(Error::Unknown(_))));
        assert_eq!(batches.decide(txn(3, 1)).await, Err(NotApplied::NoLeader.into()));
        drop(decide);
    }
}
