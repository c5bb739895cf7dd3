//! The garbage collector: deletes objects whose owners are all gone, and keeps an owner until its
//! dependents are deleted or orphaned where its deletion asks for that (`propagationPolicy`).
//!
//! Invariants: a decision is made from a state that holds everything the graph has observed, and
//! carried out only if the object is still what it was; so an owner that is created or a reference
//! that is removed meanwhile is never overlooked. A failure is tried again. Reading order: `graph`
//! (who owns whom), `decide` (what one object needs), `misplaced` (owners that no reference leads to),
//! `execute`.

mod decide;
mod execute;
mod graph;
mod misplaced;
mod work_queue;

use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use quorate_store::{Entry, Snapshot, WatchBatch};
use tokio::time::{Instant, sleep, sleep_until};

use super::context::Context;
use decide::Decision;
use graph::{Graph, ObjectKey};
use quorate_registry::error::Error;
use quorate_registry::keys;
use work_queue::WorkQueue;

/// Writes under way at a time.
const CONCURRENT_WRITES: usize = 64;
/// How long changes are batched, so that a busy store does not wake the collector for every one.
const BATCH_WINDOW: Duration = Duration::from_millis(20);
/// Objects read in one go while the graph is made.
const SCAN_STEP: usize = 4096;

/// Collects for ever; returns only with an error, after which it is started again with a new graph.
pub(super) async fn run(context: &Context) -> Result<(), Error> {
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(keys::objects(), snapshot.revision())?;
    let mut collector = Collector::new(context);
    collector.scan(snapshot).await;
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < CONCURRENT_WRITES
            && let Some(key) = collector.queue.next()
        {
            // Most decisions need nothing to be waited for, and there may be very many.
            tokio::task::consume_budget().await;
            running.push(collector.start(key));
        }
        context.work.waits(collector.queue.len());
        let again = collector.queue.retry_at();
        tokio::select! {
            biased;
            Some((key, done)) = running.next(), if !running.is_empty() => collector.finish(&key, done),
            () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => collector.queue.retry(Instant::now()),
            batch = changes.next() => {
                collector.observe(&batch?);
                while let Some(batch) = changes.try_next()? {
                    collector.observe(&batch);
                }
                if running.is_empty() && collector.queue.is_empty() {
                    sleep(BATCH_WINDOW).await;
                }
            }
        }
    }
}

struct Collector<'c> {
    context: &'c Context,
    graph: Graph,
    queue: WorkQueue,
}

impl<'c> Collector<'c> {
    fn new(context: &'c Context) -> Self {
        Self { context, graph: Graph::new(context.catalogue.clone()), queue: WorkQueue::default() }
    }

    /// Reads everything that is stored.
    async fn scan(&mut self, snapshot: Snapshot) {
        self.context.follow_definitions();
        self.graph.reached(snapshot.revision());
        let prefix = keys::objects();
        for (count, (key, entry)) in snapshot.range(&prefix, None).enumerate() {
            self.observe_object(key, Some(entry));
            if count % SCAN_STEP == SCAN_STEP - 1 {
                tokio::task::yield_now().await;
            }
        }
    }

    fn observe(&mut self, batch: &WatchBatch) {
        self.context.follow_definitions();
        for event in batch.events() {
            self.observe_object(&event.key, event.current.as_ref());
        }
        self.graph.reached(batch.revision());
    }

    /// An object that cannot be read has no known owners; it delays no other.
    fn observe_object(&mut self, key: &ObjectKey, current: Option<&Entry>) {
        match self.graph.observe(key, current) {
            Ok(touched) => touched.into_iter().for_each(|key| self.queue.add(key)),
            Err(error) => {
                tracing::error!(%error, key = %key.escape_ascii(), "an object is left out of garbage collection")
            }
        }
    }

    /// Decides about an object and begins to do it.
    fn start(&mut self, key: ObjectKey) -> BoxFuture<'c, (ObjectKey, Result<(), Error>)> {
        let state = self.context.store.snapshot();
        let missing = self.graph.look_for_owners(&key, &state);
        let decision = decide::decide(&self.graph, &key, &state);
        if let Ok(Decision::Await(dependents)) = &decision {
            dependents.iter().cloned().for_each(|dependent| self.queue.add(dependent));
        }
        let context = self.context;
        Box::pin(async move {
            misplaced::report(context, &key, &missing).await;
            let work = async {
                match decision {
                    Ok(decision) => execute::execute(context, &key, decision).await,
                    Err(error) => Err(error),
                }
            };
            let done = context.work.item(work).await;
            (key, done)
        })
    }

    fn finish(&mut self, key: &ObjectKey, done: Result<(), Error>) {
        match done {
            Ok(()) => self.queue.done(key),
            Err(error) => {
                tracing::debug!(%error, key = %key.escape_ascii(), "garbage collection of an object is tried again");
                self.queue.failed(key, Instant::now());
            }
        }
    }
}
