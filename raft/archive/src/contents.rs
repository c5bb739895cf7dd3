//! The contents: which slices there are, at one moment.
//!
//! Invariants: slices ascend and do not overlap; contents never change, a change publishes the next
//! ones. What is between two slices that do not follow each other is a gap.

use quorate_store::{Extent, Gap, Revision};

use crate::slice::Slice;

/// All slices, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Contents {
    pub(crate) slices: Vec<Slice>,
    /// Where the archive goes on: the last slice's end, or where the first one will begin.
    pub(crate) archived: Revision,
    /// When that was, where no slice says it.
    pub(crate) archived_ms: u64,
}

impl Contents {
    /// The oldest revision whose state is known, and when it was.
    pub(crate) fn oldest(&self) -> (Revision, u64) {
        match self.slices.first() {
            Some(first) => (first.info.after, first.info.after_ms),
            None => (self.archived, self.archived_ms),
        }
    }

    /// Bytes on disk of all eras.
    pub(crate) fn bytes(&self) -> u64 {
        let firsts = self.slices.iter().filter(|slice| slice.number == 1);
        firsts.map(|slice| slice.era.table.bytes()).sum()
    }

    /// When the last revision was that is archived.
    pub(crate) fn archived_ms(&self) -> u64 {
        let last = self.slices.last().filter(|slice| slice.info.last == self.archived);
        last.map_or(self.archived_ms, |slice| slice.info.last_ms)
    }

    /// The place of the slice that has the state at this revision, or of the first after the gap
    /// that it is in; the number of slices when it is newer than all of them.
    pub(crate) fn place_of(&self, at: Revision) -> usize {
        self.slices.partition_point(|slice| slice.info.last < at)
    }

    /// The gap just before the slice at this place, or before what is not archived.
    pub(crate) fn gap_before(&self, place: usize) -> Option<Gap> {
        let before = self.slices[..place].last()?.info.last;
        let begin = self.slices.get(place).map_or(self.archived, |slice| slice.info.after);
        (begin > before).then_some(Gap { after: before, last: begin })
    }

    /// Every gap.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        (1..=self.slices.len()).filter_map(|place| self.gap_before(place)).collect()
    }

    /// The gap that hides the state at this revision, if one does.
    pub(crate) fn gap_at(&self, at: Revision) -> Option<Gap> {
        let gap = self.gap_before(self.place_of(at))?;
        (gap.after < at && at < gap.last).then_some(gap)
    }

    /// The slice that ends with this revision.
    pub(crate) fn ending_at(&self, last: Revision) -> Option<&Slice> {
        self.slices.get(self.place_of(last)).filter(|slice| slice.info.last == last)
    }

    /// The slice that begins after this revision.
    pub(crate) fn beginning_at(&self, after: Revision) -> Option<&Slice> {
        let place = self.slices.partition_point(|slice| slice.info.after < after);
        self.slices.get(place).filter(|slice| slice.info.after == after)
    }

    /// Whether nothing of this range is there.
    pub(crate) fn lacks(&self, range: Gap) -> bool {
        let is_outside =
            |slice: &Slice| slice.info.last <= range.after || slice.info.after >= range.last;
        range.last <= self.archived && self.slices.iter().all(is_outside)
    }

    /// Has this slice, which is new or has grown, in its place.
    pub(crate) fn put(&mut self, slice: Slice) {
        let place = self.slices.partition_point(|other| other.info.after < slice.info.after);
        match self.slices.get_mut(place).filter(|other| other.info.after == slice.info.after) {
            Some(grown) => *grown = slice,
            None => self.slices.insert(place, slice),
        }
    }

    /// How far it reaches, when this is the newest revision.
    pub(crate) fn extent(&self, newest: Revision, newest_ms: u64) -> Extent {
        let (oldest, oldest_ms) = self.oldest();
        Extent { oldest, oldest_ms, newest, newest_ms, gaps: self.gaps() }
    }
}
