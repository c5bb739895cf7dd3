//! The log index: where each durable entry lies, and what all records in their order amount to.
//!
//! Invariants: the same code follows the records when they are written and when they are recovered;
//! entries are consecutive; a segment is given up only when no entry that still counts lies in it
//! or in one before it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::record::{RecordHeader, RecordKind};
use super::segment::Segment;
use crate::types::LogId;

/// Where a record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The segment.
    pub(super) sequence: u64,
    /// Byte offset in it.
    pub(super) offset: u32,
    /// Bytes of the whole record.
    pub(super) bytes: u32,
}

/// The durable log.
#[derive(Debug, Default)]
pub(super) struct Durable {
    /// The last entry that was purged.
    pub(super) purged: Option<LogId>,
    /// The last entry, or `purged` if there is none.
    pub(super) last: Option<LogId>,
    /// The segments from the oldest that is needed to the active one.
    pub(super) segments: BTreeMap<u64, Arc<Segment>>,
    first: u64,
    places: VecDeque<Place>,
}

impl Durable {
    /// Follows one record. The error says why it cannot come next.
    pub(super) fn apply(&mut self, header: &RecordHeader, place: Place) -> Result<(), String> {
        match (header.kind, header.position) {
            (RecordKind::Base, _) => {}
            (RecordKind::Entry, Some(position)) => self.push(position, place)?,
            (RecordKind::Truncate, position) => {
                let keep =
                    position.map_or(0, |position| position.index + 1).saturating_sub(self.first);
                self.places.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
                self.last = position.or(self.purged);
            }
            (RecordKind::Purge, Some(position)) => {
                let gone =
                    (position.index + 1).saturating_sub(self.first).min(self.places.len() as u64);
                self.places.drain(..usize::try_from(gone).expect("bounded by a length"));
                self.first += gone;
                self.purged = Some(position);
                if self.last.is_none_or(|last| last.index < position.index) {
                    self.last = Some(position);
                }
            }
            (RecordKind::Entry | RecordKind::Purge, None) => {
                return Err("a record lacks its position".to_owned());
            }
        }
        Ok(())
    }

    fn push(&mut self, position: LogId, place: Place) -> Result<(), String> {
        if let Some(last) = self.last
            && position.index != last.index + 1
        {
            return Err(format!("entry {} follows entry {}", position.index, last.index));
        }
        if self.places.is_empty() {
            self.first = position.index;
        }
        self.places.push_back(place);
        self.last = Some(position);
        Ok(())
    }

    /// The index of the first entry that is held, if any is.
    pub(super) fn first(&self) -> Option<u64> {
        (!self.places.is_empty()).then_some(self.first)
    }

    /// One past the index of the last durable entry.
    pub(super) fn next(&self) -> u64 {
        self.last.map_or(0, |last| last.index + 1)
    }

    /// Where an entry lies.
    pub(super) fn place(&self, index: u64) -> Option<Place> {
        let at = usize::try_from(index.checked_sub(self.first)?).ok()?;
        self.places.get(at).copied()
    }

    /// The last entry that has to go for the segments that are needed, if they have more than
    /// `limit` bytes, to have at most half of it. The active one always stays.
    pub(super) fn excess(&self, limit: u64) -> Option<u64> {
        let mut bytes: u64 = self.segments.values().map(|segment| segment.header.length).sum();
        if bytes <= limit {
            return None;
        }
        let gone = self.segments.values().take_while(|segment| {
            let goes = bytes > limit / 2;
            bytes -= segment.header.length;
            goes
        });
        let last = gone.last()?.header.sequence;
        let active = *self.segments.last_key_value()?.0;
        let count =
            self.places.partition_point(|place| place.sequence <= last && place.sequence < active);
        (count > 0).then(|| self.first + count as u64 - 1)
    }

    /// Gives up the segments that hold nothing that still counts, oldest first.
    pub(super) fn take_purged_segments(&mut self) -> Vec<Arc<Segment>> {
        let Some((&active, _)) = self.segments.last_key_value() else {
            return Vec::new();
        };
        let needed = self.places.front().map_or(active, |place| place.sequence);
        let kept = self.segments.split_off(&needed);
        std::mem::replace(&mut self.segments, kept).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::record::{append, log_id, parse};

    fn header(kind: RecordKind, position: Option<u64>) -> RecordHeader {
        let mut bytes = Vec::new();
        append(&mut bytes, kind, position.map(|index| log_id(1, 1, index)), |_| Ok::<_, ()>(()))
            .unwrap();
        parse(&bytes).unwrap()
    }

    fn check(records: &[(RecordKind, Option<u64>)], expect: &str) {
        let mut durable = Durable::default();
        for (at, &(kind, position)) in records.iter().enumerate() {
            let place = Place { sequence: 1, offset: u32::try_from(at).unwrap(), bytes: 1 };
            if let Err(error) = durable.apply(&header(kind, position), place) {
                assert_eq!(error, expect);
                return;
            }
        }
        let index = |id: Option<LogId>| id.map_or(-1, |id| i64::try_from(id.index).unwrap());
        let held: Vec<String> =
            (0..20).filter_map(|i| Some(format!("{i}@{}", durable.place(i)?.offset))).collect();
        assert_eq!(
            format!("{}..{} {}", index(durable.purged), index(durable.last), held.join(" ")),
            expect
        );
    }

    #[test]
    fn the_log_is_the_sum_of_its_records() {
        use RecordKind::{Entry, Purge, Truncate};
        let three = [(Entry, Some(3)), (Entry, Some(4)), (Entry, Some(5))];
        check(&three, "-1..5 3@0 4@1 5@2");
        check(&[&three[..], &[(Truncate, Some(3)), (Entry, Some(4))]].concat(), "-1..4 3@0 4@4");
        check(&[&three[..], &[(Truncate, None), (Entry, Some(0))]].concat(), "-1..0 0@4");
        check(&[&three[..], &[(Purge, Some(3))]].concat(), "3..5 4@1 5@2");
        check(&[&three[..], &[(Purge, Some(9)), (Entry, Some(10))]].concat(), "9..10 10@4");
        check(&[&three[..], &[(Entry, Some(7))]].concat(), "entry 7 follows entry 5");
        check(&[(Entry, None)], "a record lacks its position");
    }
}
