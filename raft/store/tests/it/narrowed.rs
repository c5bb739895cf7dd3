//! Narrowed watches: they give what looking at every change would, and are woken by nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

use bytes::Bytes;
use futures::FutureExt;
use proptest::prelude::*;
use quorate_store::{
    Batch, Event, Narrowing, Operation, Revision, Serving, ServingOptions, State, Term, TermSource,
    Txn, Watch,
};

use crate::published::{Alarm, Kept, PATIENCE};

/// Bytes that the history takes a change for: it is read a few at a time.
const BATCH_BYTES: usize = 4096;

/// The words of a value; those of a value with a question mark are not known. Counts the values.
#[derive(Debug, Default)]
struct Words(AtomicU64);

impl TermSource for Words {
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn terms(&self, value: &Bytes, found: &mut dyn FnMut(Term)) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        let text = std::str::from_utf8(value).expect("the test writes text");
        text.split_whitespace().for_each(|word| found(Term::of(&[word])));
        !text.contains('?')
    }
}

struct Node {
    state: State,
    history: Arc<Kept>,
    serving: Serving,
    words: Arc<Words>,
}

impl Node {
    fn new(ring_bytes: usize) -> Self {
        let (state, history) = (State::new(), Arc::new(Kept::new(BATCH_BYTES)));
        let options = ServingOptions { ring_bytes, ..ServingOptions::default() };
        let serving = Serving::new(state.snapshot(), [], history.clone(), options);
        Self { state, history, serving, words: Arc::default() }
    }

    fn apply(&mut self, operations: Vec<Operation>) -> Arc<Batch> {
        let txn = Txn { operations, ..Txn::default() };
        let batch = self.state.apply(0, &txn).batch.expect("it commits");
        self.history.batches.lock().push_back(batch.clone());
        batch
    }

    fn publish(&mut self, transactions: Vec<Vec<Operation>>) {
        let batches: Vec<_> = transactions.into_iter().map(|txn| self.apply(txn)).collect();
        self.serving.publish(self.state.snapshot(), &batches);
    }

    fn watch(&self, prefix: &str, wanted: &[String], after: Revision) -> Watch {
        let watch = self.serving.watch(Bytes::copy_from_slice(prefix.as_bytes()), after);
        watch.expect("it is kept").narrowed(narrowing(&self.words, wanted))
    }
}

fn narrowing(words: &Arc<Words>, wanted: &[String]) -> Narrowing {
    Narrowing::new(words.clone(), wanted.iter().map(|word| Term::of(&[word.as_str()])))
}

fn put(key: &str, value: &str) -> Operation {
    let value = Bytes::copy_from_slice(value.as_bytes());
    Operation::Put { key: Bytes::copy_from_slice(key.as_bytes()), value }
}

fn concerns(event: &Event, prefix: &str, wanted: &[String]) -> bool {
    let has = |value: &Bytes| {
        let text = std::str::from_utf8(value).expect("the test writes text");
        text.contains('?') || text.split_whitespace().any(|word| wanted.iter().any(|w| w == word))
    };
    let values = [&event.previous, &event.current];
    event.key.starts_with(prefix.as_bytes())
        && values.into_iter().flatten().any(|entry| has(&entry.value))
}

#[derive(Debug, Clone)]
enum Step {
    Publish(Vec<Vec<(u8, Option<String>)>>),
    Reset(u8, String),
    Open { prefix: u8, wanted: Vec<String>, back: u8 },
    Read { watch: prop::sample::Index, most: u8 },
    Wait(prop::sample::Index),
    Close(prop::sample::Index),
}

const KEYS: [&str; 6] = ["a/1", "a/2", "a/b/1", "a/b/2", "c/1", "c/2"];
const PREFIXES: [&str; 4] = ["", "a/", "a/b/", "c/"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let word = || prop::sample::select(vec!["red", "green", "blue", "pink"]);
    let value = prop_oneof![
        4 => prop::collection::vec(word(), 0..3).prop_map(|words| Some(words.join(" "))),
        1 => Just(None),
        1 => Just(Some("?".to_owned())),
    ];
    let transaction = prop::collection::btree_map(0..6_u8, value, 1..3);
    let transaction = transaction.prop_map(|changes| changes.into_iter().collect::<Vec<_>>());
    let wanted = prop::collection::vec(word().prop_map(str::to_owned), 1..3);
    let step = prop_oneof![
        6 => prop::collection::vec(transaction, 1..4).prop_map(Step::Publish),
        1 => (0..6_u8, word()).prop_map(|(key, word)| Step::Reset(key, word.to_owned())),
        3 => (0..4_u8, wanted, 0..9_u8)
            .prop_map(|(prefix, wanted, back)| Step::Open { prefix, wanted, back }),
        6 => (any::<prop::sample::Index>(), 1..5_u8)
            .prop_map(|(watch, most)| Step::Read { watch, most }),
        3 => any::<prop::sample::Index>().prop_map(Step::Wait),
        1 => any::<prop::sample::Index>().prop_map(Step::Close),
    ];
    prop::collection::vec(step, 1..120)
}

/// A narrowed watch, and what it has given so far.
struct Opened {
    watch: Watch,
    prefix: &'static str,
    wanted: Vec<String>,
    after: Revision,
    given: Vec<Revision>,
}

impl Opened {
    /// What looking at every change gives.
    fn expected(&self, history: &Kept) -> Vec<Revision> {
        let concerns = |batch: &&Arc<Batch>| {
            batch.events.iter().any(|e| concerns(e, self.prefix, &self.wanted))
        };
        let kept = history.batches.lock();
        let later = kept.iter().filter(|batch| batch.revision > self.after);
        later.filter(concerns).map(|batch| batch.revision).collect()
    }

    fn read(&mut self, most: usize) {
        for _ in 0..most {
            let Some(batch) = self.watch.try_next().expect("everything is kept") else { return };
            self.given.push(batch.revision());
        }
    }

    /// What was given, and that nothing is left out before the position.
    fn check(&mut self, node: &Node) {
        let (expected, position) = (self.expected(&node.history), self.watch.position());
        assert_eq!(self.given, expected[..self.given.len()]);
        let owed = expected.get(self.given.len());
        assert!(owed.is_none_or(|owed| *owed > position), "{position} passes over {owed:?}");
    }
}

fn run(ring_bytes: usize, steps: Vec<Step>) {
    let mut node = Node::new(ring_bytes);
    let mut opened: Vec<Opened> = Vec::new();
    let operation = |(key, value): (u8, Option<String>)| match value {
        Some(value) => put(KEYS[usize::from(key)], &value),
        None => Operation::Delete { key: KEYS[usize::from(key)].into() },
    };
    for step in steps {
        let place = |index: prop::sample::Index, opened: &[Opened]| {
            (!opened.is_empty()).then(|| index.index(opened.len()))
        };
        match step {
            Step::Publish(transactions) => {
                let operations =
                    |changes: Vec<_>| changes.into_iter().map(operation).collect::<Vec<_>>();
                node.publish(transactions.into_iter().map(operations).collect());
            }
            Step::Reset(key, value) => {
                node.apply(vec![put(KEYS[usize::from(key)], &value)]);
                node.serving.reset(node.state.snapshot());
            }
            Step::Open { prefix, wanted, back } => {
                let newest = node.state.revision().get();
                let after = Revision::new(newest.saturating_sub(u64::from(back)));
                let prefix = PREFIXES[usize::from(prefix)];
                let watch = node.watch(prefix, &wanted, after);
                opened.push(Opened { watch, prefix, wanted, after, given: Vec::new() });
            }
            Step::Read { watch, most } => {
                if let Some(place) = place(watch, &opened) {
                    opened[place].read(usize::from(most));
                }
            }
            Step::Wait(watch) => {
                if let Some(place) = place(watch, &opened)
                    && let Some(batch) = opened[place].watch.next().now_or_never()
                {
                    opened[place].given.push(batch.expect("everything is kept").revision());
                }
            }
            Step::Close(watch) => {
                if let Some(place) = place(watch, &opened) {
                    opened.swap_remove(place);
                }
            }
        }
        opened.iter_mut().for_each(|opened| opened.check(&node));
    }
    for mut last in opened {
        last.read(usize::MAX);
        assert_eq!(last.given, last.expected(&node.history));
        assert_eq!(last.watch.position(), node.serving.revision());
    }
}

proptest! {
    #[test]
    fn narrowed_watches_give_what_looking_at_everything_gives(
        ring_bytes in prop::sample::select(vec![0, 2000, 1 << 20]), steps in steps()
    ) {
        run(ring_bytes, steps);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_missed_under_threads() {
    const WRITES: u64 = 20_000;
    const WATCHERS: u64 = 20;
    let mut node = Node::new(32 << 10);
    let (serving, words) = (node.serving.clone(), node.words.clone());
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|index| {
            let (serving, words) = (serving.clone(), words.clone());
            tokio::spawn(async move {
                let start = Revision::new(index * 100);
                serving.applied(start).await;
                let watch = serving.watch(Bytes::from_static(b"a/"), start).expect("kept");
                let mut watch = watch.narrowed(narrowing(&words, &[format!("w{index}")]));
                let all =
                    (start.get() + 1..=WRITES).filter(|revision| revision % WATCHERS == index);
                for expect in all {
                    if expect % 7 == 0 {
                        tokio::task::yield_now().await;
                        assert!(watch.position().get() < expect, "it passes over {expect}");
                    }
                    let next = tokio::time::timeout(PATIENCE, watch.next()).await;
                    let next = next.expect("in time").expect("kept").revision();
                    assert_eq!(next.get(), expect, "watcher {index}");
                }
            })
        })
        .collect();
    let publisher = tokio::spawn(async move {
        for revision in 1..=WRITES {
            node.publish(vec![vec![put("a/1", &format!("w{}", revision % WATCHERS))]]);
            // Without what the key held, or a change would be given to the watcher before it too.
            node.state = State::restore(node.state.revision(), 0, Vec::new());
            if revision % 64 == 0 {
                tokio::task::yield_now().await;
            }
        }
        node
    });
    for watcher in watchers {
        watcher.await.expect("the watcher saw everything");
    }
    publisher.await.expect("it published everything");
}

#[test]
fn a_thousand_watchers_are_woken_by_what_is_theirs() {
    const WATCHERS: usize = 1000;
    const WORDS: usize = 100;
    let mut node = Node::new(1 << 20);
    let word = |number: usize| format!("w{}", number % WORDS);
    let mut watches: Vec<_> =
        (0..WATCHERS).map(|number| node.watch("a/", &[word(number)], Revision::ZERO)).collect();
    let alarms: Vec<_> = (0..WATCHERS).map(|_| Arc::new(Alarm::default())).collect();
    let mut found = 0;
    for round in 0..WORDS {
        for (watch, alarm) in watches.iter_mut().zip(&alarms) {
            let waker = Waker::from(Arc::clone(alarm));
            let mut next = Box::pin(watch.next());
            found += usize::from(next.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
        }
        node.publish(vec![vec![put(&format!("a/{round}"), &word(round))]]);
    }
    let woken: Vec<u64> = alarms.iter().map(|alarm| alarm.0.load(Ordering::SeqCst)).collect();
    assert_eq!(woken, vec![1; WATCHERS]);
    assert_eq!(found, WATCHERS - WATCHERS / WORDS, "all but what was published last");
    assert_eq!(node.words.0.load(Ordering::SeqCst) as usize, WORDS + found, "once a change");
}

#[test]
fn terms_that_no_watch_names_are_not_derived() {
    let mut node = Node::new(1 << 20);
    let whole = node.serving.watch(Bytes::from_static(b"a/"), Revision::ZERO).expect("kept");
    let other = node.watch("b/", &["red".to_owned()], Revision::ZERO);
    node.publish(vec![vec![put("a/1", "red")], vec![put("a/1", "blue")]]);
    assert_eq!(node.words.0.load(Ordering::SeqCst), 0);
    drop((whole, other));
    node.publish(vec![vec![put("b/1", "red")]]);
    assert_eq!(node.words.0.load(Ordering::SeqCst), 0, "the last watch has left");
}

#[test]
fn a_quiet_narrowed_watch_outlives_the_ring() {
    let mut node = Node::new(0);
    let mut quiet = node.watch("a/", &["quiet".to_owned()], Revision::ZERO);
    assert!(quiet.next().now_or_never().is_none());
    (0..5000).for_each(|_| node.publish(vec![vec![put("a/1", "busy")]]));
    // What a watch that goes on from where it parked would have to read is gone.
    node.history.batches.lock().clear();
    assert_eq!(quiet.position().get(), 5000);
    assert!(quiet.next().now_or_never().is_none());
    node.publish(vec![vec![put("a/2", "busy")], vec![put("a/2", "quiet")], vec![put("a/2", "")]]);
    let mut given = || Some(quiet.try_next().expect("it is kept")?.revision().get());
    assert_eq!([given(), given(), given()], [Some(5002), Some(5003), None]);
}
