//! Other members, of which some lie, and some go away.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use quorate_archive::{Inventory, Part, PastSource, SourceError};
use quorate_store::{Batch, Entry, Event, NodeId, Past, Revision};

/// What a member does wrong.
#[derive(Debug, Clone)]
pub(super) enum Lie {
    /// Its archive is another cluster's.
    Owner,
    /// Its parts overlap.
    Overlap,
    /// Its release does not know the question.
    Unimplemented,
    /// It has another history.
    Other(Arc<dyn Past>),
    /// It leaves a transaction out.
    Hole,
    /// It gives two transactions in the wrong order.
    Reordered,
    /// It says something else of what was there before a change.
    Previous,
    /// It gives a version of a later transaction.
    Later,
    /// It changes a key twice at once.
    Twice,
    /// It goes back in time.
    Time,
}

/// A member.
#[derive(Debug)]
pub(super) struct Other {
    past: Arc<dyn Past>,
    /// Revisions in one of its parts.
    part: u64,
    /// Answers after which it is gone.
    answers: AtomicUsize,
    lie: Option<Lie>,
}

impl Other {
    pub(super) fn new(past: Arc<dyn Past>, part: u64) -> Self {
        Self { past, part, answers: usize::MAX.into(), lie: None }
    }

    pub(super) fn until(self, answers: usize) -> Self {
        Self { answers: answers.into(), ..self }
    }

    pub(super) fn lying(self, lie: Lie) -> Self {
        Self { lie: Some(lie), ..self }
    }

    fn parts(&self, since_ms: u64) -> Vec<Part> {
        let newest = self.past.extent().newest.get();
        let part = |after: u64| {
            let last = Revision::new((after + self.part).min(newest));
            let after = Revision::new(after);
            let time = |at| self.past.time_of(at).unwrap();
            let (after_ms, first_ms, last_ms) = (time(after), time(after.next()), time(last));
            let bytes = (last.get() - after.get()) * BYTES_OF_A_TRANSACTION;
            Part { after, after_ms, first_ms, last, last_ms, bytes }
        };
        let from = match since_ms {
            0 => 0,
            _ => self.past.revision_at(since_ms).unwrap().get(),
        };
        let step = usize::try_from(self.part).unwrap();
        let mut parts: Vec<Part> = (from..newest).step_by(step).map(part).collect();
        if let (Some(Lie::Overlap), Some(last)) = (&self.lie, parts.last().copied()) {
            parts.push(last);
        }
        parts
    }

    fn changes(&self, after: Revision, max_bytes: usize) -> Vec<Arc<Batch>> {
        let past = match &self.lie {
            Some(Lie::Other(past)) => past,
            _ => &self.past,
        };
        let mut batches = past.changes(after, max_bytes).unwrap_or_default();
        // What is compared first is as it should be.
        if let (3.., Some(lie)) = (batches.len(), &self.lie) {
            match lie {
                Lie::Hole => drop(batches.remove(1)),
                Lie::Reordered => batches.swap(0, 1),
                _ => batches.iter_mut().for_each(|batch| *batch = Arc::new(wrong(lie, batch))),
            }
        }
        batches
    }
}

/// About what a transaction of these tests takes in a table.
pub(super) const BYTES_OF_A_TRANSACTION: u64 = 300;

fn wrong(lie: &Lie, batch: &Batch) -> Batch {
    let mut batch = batch.clone();
    let mut events: Vec<Event> = batch.events.to_vec();
    let change = |entry: &mut Option<Entry>, change: fn(&mut Entry)| {
        if let Some(entry) = entry {
            change(entry);
        }
    };
    match lie {
        Lie::Previous => events.iter_mut().for_each(|event| {
            change(&mut event.previous, |entry| entry.value = "something else".into());
        }),
        Lie::Later => events.iter_mut().for_each(|event| {
            change(&mut event.current, |entry| entry.modified = entry.modified.next());
        }),
        Lie::Twice => events.extend(events.first().cloned()),
        Lie::Time => batch.time_ms -= batch.revision.get() * 2,
        _ => {}
    }
    batch.events = events.into();
    batch
}

/// All other members; their numbers are those of their places.
#[derive(Debug)]
pub(super) struct Source {
    members: Vec<Other>,
    /// How often all of them were asked what they have.
    pub(super) rounds: AtomicUsize,
}

impl Source {
    pub(super) fn new(members: impl IntoIterator<Item = Other>) -> Arc<Self> {
        Arc::new(Self { members: members.into_iter().collect(), rounds: AtomicUsize::new(0) })
    }

    fn member(&self, member: NodeId) -> &Other {
        &self.members[usize::try_from(member).unwrap()]
    }

    /// Whether every member is gone.
    pub(super) fn is_exhausted(&self) -> bool {
        self.members.iter().all(|member| member.answers.load(Ordering::Relaxed) == 0)
    }
}

#[async_trait]
impl PastSource for Source {
    fn members(&self) -> Vec<NodeId> {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        (0..self.members.len() as NodeId).collect()
    }

    async fn inventory(&self, member: NodeId, since_ms: u64) -> Result<Inventory, SourceError> {
        let other = self.member(member);
        if let Some(Lie::Unimplemented) = other.lie {
            return Err(SourceError::Unimplemented);
        }
        let is_foreign = matches!(other.lie, Some(Lie::Owner));
        let owner = if is_foreign { "another" } else { "a cluster" }.to_owned();
        Ok(Inventory { owner, parts: other.parts(since_ms) })
    }

    async fn changes(
        &self,
        member: NodeId,
        after: Revision,
        max_bytes: usize,
    ) -> Result<Vec<Arc<Batch>>, SourceError> {
        let other = self.member(member);
        let count = |left: usize| left.checked_sub(1);
        if other.answers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).is_err() {
            return Err(SourceError::Unavailable("it is gone".to_owned()));
        }
        Ok(other.changes(after, max_bytes))
    }
}
