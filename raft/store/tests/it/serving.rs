//! The serving form with real threads: one publisher as fast as it can, watchers that start,
//! dawdle, give up and cancel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use quorate_store::{
    Batch, HistoryError, Operation, Revision, Serving, ServingOptions, State, Txn, Watch,
    WatchBatch,
};

use crate::published::{Alarm, Kept, PATIENCE};

/// Bytes that the history takes a change for.
const BATCH_BYTES: usize = 256;

/// A publisher with its state.
struct Node {
    state: State,
    history: Arc<Kept>,
    serving: Serving,
}

impl Node {
    fn new(ring_bytes: usize) -> Self {
        Self::with(ServingOptions { ring_bytes, ..ServingOptions::default() })
    }

    fn with(options: ServingOptions) -> Self {
        let (state, history) = (State::new(), Arc::new(Kept::new(BATCH_BYTES)));
        let serving = Serving::new(state.snapshot(), [], history.clone(), options);
        Self { state, history, serving }
    }

    /// Applies a group of transactions, one key each, and publishes them together.
    fn publish(&mut self, keys: &[&'static str]) {
        let batches: Vec<_> = keys.iter().map(|key| self.apply(key)).collect();
        self.history.batches.lock().extend(batches.iter().cloned());
        self.serving.publish(self.state.snapshot(), &batches);
    }

    fn apply(&mut self, key: &'static str) -> Arc<Batch> {
        let value = Bytes::from(self.state.revision().next().to_string());
        let operations = vec![Operation::Put { key: Bytes::from_static(key.as_bytes()), value }];
        self.state
            .apply(0, &Txn { conditions: vec![], operations, ..Txn::default() })
            .batch
            .expect("it commits")
    }

    fn watch(&self, prefix: &'static str, after: u64) -> Watch {
        self.serving
            .watch(Bytes::from_static(prefix.as_bytes()), Revision::new(after))
            .expect("it is kept")
    }
}

fn revision(batch: Option<Result<WatchBatch, HistoryError>>) -> Option<u64> {
    batch.map(|batch| batch.expect("the watch goes on").revision().get())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_gap_and_no_repeat_under_threads() {
    const GROUPS: u64 = 20_000;
    const LAST: u64 = GROUPS * 3;
    let mut node = Node::new(32 << 10);
    let serving = node.serving.clone();
    let mut watchers = Vec::new();
    for index in 0..24_u64 {
        let serving = serving.clone();
        watchers.push(tokio::spawn(async move {
            serving.applied(Revision::new(index * 100)).await;
            let start = serving.revision().get() / 3 * 3;
            let prefix = if index % 2 == 0 { "even/" } else { "odd/" };
            let mut watch = serving
                .watch(Bytes::from_static(prefix.as_bytes()), Revision::new(start))
                .expect("kept");
            let expected = (start / 3..GROUPS)
                .filter(|group| group % 2 == index % 2)
                .map(|group| group * 3 + 2);
            let mut step = index;
            for expect in expected {
                step += 1;
                if step % (50 + 100 * (index % 4)) == 0 {
                    tokio::task::yield_now().await;
                    assert!(watch.position().get() < expect, "what was not given does not count");
                }
                let early =
                    if step % 3 == 0 { revision(watch.next().now_or_never()) } else { None };
                let given = match early {
                    Some(given) => given,
                    None => tokio::time::timeout(PATIENCE, watch.next())
                        .await
                        .expect("in time")
                        .expect("kept")
                        .revision()
                        .get(),
                };
                assert_eq!(given, expect, "watcher {index}");
                assert!(
                    serving.revision().get() >= given,
                    "a client that was given a revision finds it"
                );
            }
        }));
    }
    let publisher = tokio::spawn(async move {
        for group in 0..GROUPS {
            node.publish(&["other/1", if group % 2 == 0 { "even/1" } else { "odd/1" }, "other/2"]);
            if group % 64 == 0 {
                tokio::task::yield_now().await;
            }
        }
    });
    for watcher in watchers {
        watcher.await.expect("the watcher saw everything");
    }
    tokio::time::timeout(PATIENCE, serving.applied(Revision::new(LAST))).await.expect("in time");
    publisher.await.expect("it published everything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watches_come_and_go_under_threads() {
    let mut node = Node::new(8 << 10);
    let (serving, stop) = (node.serving.clone(), Arc::new(AtomicBool::new(false)));
    let starters: Vec<_> = (0..4_u64)
        .map(|index| {
            let (serving, stop) = (serving.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut given = 0_u64;
                while !stop.load(Ordering::SeqCst) || given == 0 {
                    let after = serving.revision();
                    let mut watch = serving.watch(Bytes::from_static(b"a/"), after).expect("kept");
                    for number in 1..=index + 1 {
                        let Ok(batch) =
                            tokio::time::timeout(Duration::from_millis(200), watch.next()).await
                        else {
                            break;
                        };
                        assert_eq!(
                            batch.expect("kept").revision().get(),
                            after.get() + number,
                            "no gap at the start"
                        );
                        given += 1;
                    }
                }
            })
        })
        .collect();
    let finish = Arc::clone(&stop);
    let publisher = tokio::task::spawn(async move {
        for _ in 0..30_000 {
            node.publish(&["a/1"]);
            tokio::task::yield_now().await;
        }
        finish.store(true, Ordering::SeqCst);
        node
    });
    let mut node = publisher.await.expect("it published everything");
    for starter in starters {
        while !starter.is_finished() {
            node.publish(&["a/1"]);
            tokio::task::yield_now().await;
        }
        starter.await.expect("it saw what it should");
    }
}

/// What the watch has now.
fn given(watch: &mut Watch) -> Option<u64> {
    revision(watch.try_next().transpose())
}

#[test]
fn only_watchers_of_what_changed_are_woken() {
    let mut node = Node::new(1 << 20);
    let (mut a, mut b) = (node.watch("a/", 0), node.watch("b/", 0));
    let alarms = [Arc::new(Alarm::default()), Arc::new(Alarm::default())];
    let rung = || alarms.each_ref().map(|alarm| alarm.0.load(Ordering::SeqCst));
    let (mut a_next, mut b_next) = (Box::pin(a.next()), Box::pin(b.next()));
    assert!(
        a_next
            .as_mut()
            .poll(&mut Context::from_waker(&Waker::from(Arc::clone(&alarms[0]))))
            .is_pending()
    );
    assert!(
        b_next
            .as_mut()
            .poll(&mut Context::from_waker(&Waker::from(Arc::clone(&alarms[1]))))
            .is_pending()
    );
    node.publish(&["a/1", "a/2"]);
    node.publish(&["a/1"]);
    assert_eq!(rung(), [1, 0]);
    assert_eq!(revision(a_next.now_or_never()), Some(1));
    assert_eq!(revision(b_next.now_or_never()), None);
    assert_eq!((a.position().get(), b.position().get()), (1, 3));
}

#[test]
fn a_quiet_watch_outlives_the_history() {
    let mut node = Node::new(0);
    node.publish(&["quiet/1"]);
    let mut quiet = node.watch("quiet/", 1);
    assert!(quiet.next().now_or_never().is_none());
    (0..5000).for_each(|_| node.publish(&["busy/1"]));
    node.history.drop_until(Revision::new(5000));
    let reads = node.history.reads.load(Ordering::SeqCst);
    (0..5).for_each(|_| node.publish(&["quiet/1"]));
    node.publish(&["busy/1"]);
    for expect in 5002..=5006 {
        assert_eq!(given(&mut quiet), Some(expect));
    }
    assert_eq!(quiet.position().get(), 5007);
    assert_eq!(
        node.history.reads.load(Ordering::SeqCst) - reads,
        1,
        "it reads nothing that does not concern it"
    );
}

#[test]
fn a_slow_watch_reads_history_and_ends_only_when_that_is_gone() {
    let mut node = Node::new(0);
    (0..3000).for_each(|_| node.publish(&["a/1"]));
    let (mut slow, mut slower) = (node.watch("a/", 0), node.watch("a/", 0));
    for expect in 1..=3000 {
        assert_eq!(given(&mut slow), Some(expect));
    }
    assert_eq!(given(&mut slower), Some(1));
    let oldest = Revision::new(2000);
    node.history.drop_until(oldest);
    let mut last = 1;
    let error = loop {
        match slower.try_next() {
            Ok(batch) => {
                assert_eq!(batch.expect("there is more").revision().get(), last + 1);
                last += 1;
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error, HistoryError::Compacted { oldest });
    assert!(last < 2000, "it was given what it had read already, and no more");
}

#[test]
fn after_a_reset_watches_go_on_where_the_history_allows() {
    let mut node = Node::new(1 << 20);
    node.publish(&["a/1", "a/1", "b/1"]);
    let (mut caught_up, mut behind, mut quiet) =
        (node.watch("a/", 2), node.watch("a/", 0), node.watch("c/", 0));
    assert!(caught_up.next().now_or_never().is_none());
    assert!(quiet.next().now_or_never().is_none());
    let old = node.serving.snapshot_at(Revision::new(1)).expect("kept");

    let missed: Vec<_> = ["a/2", "c/1", "b/1"].into_iter().map(|key| node.apply(key)).collect();
    node.history.batches.lock().extend(missed);
    node.history.drop_until(Revision::new(3));
    node.serving.reset(node.state.snapshot());

    assert_eq!(node.serving.revision().get(), 6);
    assert_eq!(given(&mut caught_up), Some(4));
    assert_eq!(given(&mut quiet), Some(5));
    let oldest = Revision::new(3);
    assert_eq!(behind.try_next().err(), Some(HistoryError::Compacted { oldest }));
    assert_eq!(node.serving.snapshot_at(Revision::new(1)), Err(HistoryError::Compacted { oldest }));
    assert_eq!(old.revision().get(), 1, "a held snapshot stays");
    assert!(
        node.serving
            .snapshot_at(Revision::new(4))
            .is_ok_and(|snapshot| snapshot.get(b"c/1").is_none())
    );

    node.publish(&["a/9"]);
    assert_eq!(given(&mut caught_up), Some(7));
    assert_eq!((caught_up.position().get(), quiet.position().get()), (7, 7));
}

#[test]
fn older_states_are_remembered_as_many_as_allowed() {
    let check = |remembered_snapshots: usize, expect_again: bool| {
        let mut node = Node::with(ServingOptions { ring_bytes: 0, remembered_snapshots });
        (0..40).for_each(|_| node.publish(&["a/1"]));
        let read = |at: u64| {
            let before = node.history.reads.load(Ordering::SeqCst);
            let found = node.serving.snapshot_at(Revision::new(at)).expect("kept");
            assert_eq!(found.revision().get(), at);
            node.history.reads.load(Ordering::SeqCst) > before
        };
        assert!(read(10), "from the history");
        assert_eq!(read(10), expect_again, "{remembered_snapshots} remembered");
    };
    check(16, false);
    check(1, false);
    check(0, true);
}

#[test]
fn serves_from_recent_changes_given_at_the_start() {
    let mut node = Node::new(1 << 20);
    let recent: Vec<_> = (0..10).map(|_| node.apply("a/1")).collect();
    let start = |recent: &[Arc<Batch>]| {
        let history = Arc::new(Kept::new(BATCH_BYTES));
        history.batches.lock().extend(recent.iter().cloned());
        let recent = recent[4..].to_vec();
        (
            Serving::new(node.state.snapshot(), recent, history.clone(), ServingOptions::default()),
            history,
        )
    };
    let (serving, history) = start(&recent);
    let mut watch = serving.watch(Bytes::new(), Revision::new(4)).expect("kept");
    (5..=10).for_each(|expect| assert_eq!(given(&mut watch), Some(expect)));
    assert!(
        serving.snapshot_at(Revision::new(4)).is_ok_and(|snapshot| snapshot.revision().get() == 4)
    );
    assert_eq!(history.reads.load(Ordering::SeqCst), 0, "everything was in memory");
    let mut watch = serving.watch(Bytes::new(), Revision::new(1)).expect("kept");
    (2..=10).for_each(|expect| assert_eq!(given(&mut watch), Some(expect)));
    assert!(history.reads.load(Ordering::SeqCst) > 0);
}
