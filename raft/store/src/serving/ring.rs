//! The ring of recent changes in memory, bounded in bytes, read without locks and without touching
//! reference counts.
//!
//! A ring is a row of segments; a segment's slots are filled once, in revision order, and then
//! never change. Readers hold the row of the view that they loaded, so a segment that is dropped
//! meanwhile stays readable until they let go. Invariant: the batches of a ring are contiguous;
//! pushing one that does not follow starts the ring anew.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use crate::{Batch, Revision};

/// Batches in one segment at most.
const SEGMENT_BATCHES: usize = 256;
/// A segment is closed once it holds this part of the ring's bytes, so that eviction stays
/// fine-grained.
const SEGMENT_SHARE: usize = 16;

/// What readers see.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    segments: Arc<[Arc<Segment>]>,
}

#[derive(Debug)]
struct Segment {
    first: Revision,
    slots: Box<[OnceLock<Arc<Batch>>]>,
}

impl Ring {
    /// The batches from this revision on, or none at all when it is not in the ring. May go on
    /// beyond what the view shows when the publisher is just filling the last segment: readers stop
    /// at the view's revision.
    pub(super) fn from(&self, first: Revision) -> impl Iterator<Item = &Arc<Batch>> {
        let following = self.segments.partition_point(|segment| segment.first <= first);
        let (index, slot) = match following.checked_sub(1) {
            Some(index) => (
                index,
                usize::try_from(first.get() - self.segments[index].first.get())
                    .unwrap_or(usize::MAX),
            ),
            None => (self.segments.len(), 0),
        };
        let head = self
            .segments
            .get(index)
            .and_then(|segment| segment.slots.get(slot..))
            .unwrap_or_default();
        let tail = self.segments.get(index + 1..).unwrap_or_default().iter();
        let head = head.iter().map_while(OnceLock::get);
        let found = head.clone().next().is_some();
        head.chain(
            tail.filter(move |_| found)
                .flat_map(|segment| segment.slots.iter().map_while(OnceLock::get)),
        )
    }

    /// Whether the batch of this revision is in the ring.
    pub(super) fn holds(&self, revision: Revision) -> bool {
        self.from(revision).next().is_some()
    }
}

/// The publisher's end.
#[derive(Debug)]
pub(super) struct RingWriter {
    limit: usize,
    bytes: usize,
    segments: VecDeque<(Arc<Segment>, usize)>,
    filled: usize,
    newest: Revision,
    row: Ring,
    stale: bool,
}

impl RingWriter {
    /// An empty ring for this many bytes of [`Batch::footprint`].
    pub(super) fn new(limit: usize) -> Self {
        let row = Ring { segments: Arc::new([]) };
        Self {
            limit,
            bytes: 0,
            segments: VecDeque::new(),
            filled: 0,
            newest: Revision::ZERO,
            row,
            stale: false,
        }
    }

    /// The newest batch's revision, when there is one.
    pub(super) fn newest(&self) -> Option<Revision> {
        (!self.segments.is_empty()).then_some(self.newest)
    }

    /// Appends the batch and drops the oldest segments while there are too many bytes.
    pub(super) fn push(&mut self, batch: &Arc<Batch>) {
        if self.newest().is_some_and(|newest| newest.next() != batch.revision) {
            self.clear();
        }
        if self.closed() {
            self.open(batch.revision);
        }
        let footprint = batch.footprint();
        let (segment, bytes) = self.segments.back_mut().expect("a segment was opened above");
        segment.slots[self.filled].set(Arc::clone(batch)).expect("slots are filled once, in order");
        *bytes += footprint;
        self.filled += 1;
        self.bytes += footprint;
        self.newest = batch.revision;
        self.evict();
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.segments.clear();
        self.bytes = 0;
        self.stale = true;
    }

    /// The ring as readers shall see it from now on. Cheap unless a segment was opened or dropped.
    pub(super) fn ring(&mut self) -> Ring {
        if self.stale {
            self.row = Ring {
                segments: self.segments.iter().map(|(segment, _)| Arc::clone(segment)).collect(),
            };
            self.stale = false;
        }
        self.row.clone()
    }

    fn closed(&self) -> bool {
        self.segments.back().is_none_or(|(_, bytes)| {
            self.filled == SEGMENT_BATCHES || *bytes >= self.limit / SEGMENT_SHARE
        })
    }

    fn open(&mut self, first: Revision) {
        let slots = std::iter::repeat_with(OnceLock::new).take(SEGMENT_BATCHES).collect();
        self.segments.push_back((Arc::new(Segment { first, slots }), 0));
        self.filled = 0;
        self.stale = true;
    }

    fn evict(&mut self) {
        while self.bytes > self.limit && self.segments.len() > 1 {
            let (_, bytes) = self.segments.pop_front().expect("there is more than one");
            self.bytes -= bytes;
            self.stale = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(revision: u64) -> Arc<Batch> {
        Arc::new(Batch {
            revision: Revision::new(revision),
            time_ms: 0,
            events: Arc::new([]),
            origin: bytes::Bytes::new(),
        })
    }

    fn revisions(ring: &Ring, from: u64) -> Vec<u64> {
        ring.from(Revision::new(from)).map(|batch| batch.revision.get()).collect()
    }

    #[test]
    fn reads_from_any_revision_that_it_holds() {
        let mut writer = RingWriter::new(1 << 20);
        (11..=611).for_each(|revision| writer.push(&batch(revision)));
        let ring = writer.ring();
        for from in [11, 12, 266, 267, 522, 523, 611] {
            assert_eq!(revisions(&ring, from), (from..=611).collect::<Vec<_>>());
        }
        for from in [0, 10, 612, 613, 1000, u64::MAX] {
            assert!(revisions(&ring, from).is_empty(), "{from}");
        }
    }

    #[test]
    fn drops_the_oldest_but_not_under_a_reader() {
        let limit = 1000 * batch(1).footprint();
        let mut writer = RingWriter::new(limit);
        (1..=100).for_each(|revision| writer.push(&batch(revision)));
        let before = writer.ring();
        (101..=2000).for_each(|revision| writer.push(&batch(revision)));
        let ring = writer.ring();
        assert!(
            writer.bytes <= limit && writer.bytes > limit * 9 / 10,
            "{} of {limit}",
            writer.bytes
        );
        assert!(!ring.holds(Revision::new(900)) && ring.holds(Revision::new(1100)));
        assert_eq!(revisions(&before, 1).first(), Some(&1));
    }

    #[test]
    fn starts_anew_when_a_batch_does_not_follow() {
        let mut writer = RingWriter::new(1 << 20);
        [1, 2, 3, 9, 10].map(batch).iter().for_each(|batch| writer.push(batch));
        let ring = writer.ring();
        assert!(!ring.holds(Revision::new(3)));
        assert_eq!(revisions(&ring, 9), [9, 10]);
        assert!(revisions(&ring, 4).is_empty());
    }

    #[test]
    fn keeps_one_segment_however_large() {
        let mut writer = RingWriter::new(0);
        (1..=5).for_each(|revision| writer.push(&batch(revision)));
        assert_eq!(revisions(&writer.ring(), 5), [5]);
        assert!(!writer.ring().holds(Revision::new(4)));
    }
}
