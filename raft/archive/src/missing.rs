//! What is missing, and what of it is fetched next: the newest that another member has.
//!
//! Invariants: newer goes before older, so that what is there is without a gap soonest; nothing is
//! chosen that has no room beside what is younger, or that would expire at once. Nothing is read
//! here.

use std::cmp::Reverse;
use std::sync::Arc;

use quorate_store::{Gap, NodeId, Revision};

use crate::contents::Contents;
use crate::part::{Part, UNKNOWN_MS};
use crate::source::Inventory;

/// The part of the archive's bytes that a back-fill leaves free: the newest era needs it soon.
const FREE_PART: u64 = 8;

/// A range to fetch from one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) member: NodeId,
    /// What is fetched.
    pub(crate) range: Gap,
    /// When the revision before it was, or [`UNKNOWN_MS`].
    pub(crate) after_ms: u64,
    /// All that is missing around it.
    pub(crate) missing: Gap,
}

/// Up to where the archive may be filled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Nothing that is older, milliseconds since the Unix epoch.
    pub(crate) since_ms: u64,
    /// Nothing up to this revision: it was dropped for want of room.
    pub(crate) dropped: Revision,
    /// Bytes that the archive may have.
    pub(crate) bytes: u64,
}

/// The ranges that are missing, newest first.
pub(crate) fn missing(contents: &Contents, room: Room) -> Vec<Gap> {
    let mut missing = contents.gaps();
    let (oldest, oldest_ms) = contents.oldest();
    if oldest > Revision::ZERO && (oldest_ms > room.since_ms || oldest_ms == UNKNOWN_MS) {
        missing.insert(0, Gap { after: Revision::ZERO, last: oldest });
    }
    missing.retain(|gap| gap.last > room.dropped);
    missing.reverse();
    missing
}

/// The newest range that a member has of what is missing here, as far as there is room for it.
pub(crate) fn next_chunk(
    contents: &Contents,
    members: &[(NodeId, Inventory)],
    room: Room,
) -> Option<Chunk> {
    let gaps = missing(contents, room);
    let (part, mut chunk) = gaps.into_iter().find_map(|gap| newest_of(gap, members))?;
    let before = contents.ending_at(chunk.range.after).filter(|_| part.after < chunk.range.after);
    let first_ms = before.map_or(part.first_ms, |before| before.info.last_ms);
    if first_ms < room.since_ms || chunk.range.last <= room.dropped {
        return None;
    }
    let share = room.bytes / FREE_PART;
    let left = (room.bytes - share).saturating_sub(bytes_after(contents, chunk.range.last));
    let bytes = bytes_of(&part, chunk.range);
    if bytes > left {
        // Its newest, if that is worth an era.
        let revisions = u128::from(chunk.range.last.get() - chunk.range.after.get());
        let fit = revisions * u128::from(left) / u128::from(bytes);
        let fit = u64::try_from(fit).unwrap_or(u64::MAX);
        chunk.range.after = Revision::new(chunk.range.last.get().saturating_sub(fit));
        chunk.after_ms = UNKNOWN_MS;
    }
    (bytes <= left || left >= share)
        .then_some(chunk)
        .filter(|chunk| chunk.range.after < chunk.range.last)
}

/// The newest of a gap that a member has; of several the longest.
fn newest_of(gap: Gap, members: &[(NodeId, Inventory)]) -> Option<(Part, Chunk)> {
    let held = members
        .iter()
        .flat_map(|(member, inventory)| inventory.parts.iter().map(move |part| (*member, *part)));
    let chunk = |(member, part): (NodeId, Part)| {
        let range = Gap { after: part.after.max(gap.after), last: part.last.min(gap.last) };
        let chunk = Chunk { member, range, after_ms: part.after_ms, missing: gap };
        (range.after < range.last).then_some((part, chunk))
    };
    // Of equal ones the first is kept.
    held.filter_map(chunk).reduce(|best, other| {
        let order = |chunk: &Chunk| (chunk.range.last, Reverse(chunk.range.after));
        if order(&other.1) > order(&best.1) { other } else { best }
    })
}

/// Bytes of what is younger than this.
fn bytes_after(contents: &Contents, last: Revision) -> u64 {
    let eras = contents.slices.chunk_by(|one, next| Arc::ptr_eq(&one.era, &next.era));
    let younger = eras.filter(|era| era[0].info.after >= last);
    younger.map(|era| era[0].era.table.bytes()).sum()
}

/// About how many bytes of a part this range takes.
fn bytes_of(part: &Part, range: Gap) -> u64 {
    let revisions = |after: Revision, last: Revision| u128::from(last.get() - after.get());
    let bytes = u128::from(part.bytes) * revisions(range.after, range.last)
        / revisions(part.after, part.last);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use crate::era::Era;
    use crate::memory_engine::MemoryEngine;
    use crate::record::{FORMAT, SliceInfo};
    use crate::slice::Slice;

    use super::*;

    /// Ranges of revisions; what happened at one happened at that time.
    type Ranges<'a> = &'a [(u64, u64)];

    const ROOM: Room = Room { since_ms: 0, dropped: Revision::ZERO, bytes: 8000 };
    /// Of a revision in a part of another member.
    const BYTES: u64 = 10;

    fn contents(ranges: Ranges<'_>, archived: u64) -> Contents {
        let engine = MemoryEngine::default();
        let slice = |(after, last): &(u64, u64)| {
            let (after_ms, last_ms) = (*after, *last);
            let (after, last) = (Revision::new(*after), Revision::new(*last));
            let info = SliceInfo {
                format: FORMAT,
                owner: String::new(),
                after,
                after_ms,
                first_ms: after_ms + 1,
                last,
                last_ms,
                versions: 1,
                written: 1,
            };
            Slice { era: Era::create(&engine, after).unwrap(), number: 1, info }
        };
        let slices = ranges.iter().map(slice).collect();
        Contents { slices, archived: Revision::new(archived), archived_ms: archived }
    }

    fn inventory(ranges: Ranges<'_>) -> Inventory {
        let part = |(after, last): &(u64, u64)| Part {
            after: Revision::new(*after),
            after_ms: *after,
            first_ms: after + 1,
            last: Revision::new(*last),
            last_ms: *last,
            bytes: (last - after) * BYTES,
        };
        Inventory { owner: String::new(), parts: ranges.iter().map(part).collect() }
    }

    fn check(
        (here, archived): (Ranges<'_>, u64),
        there: &[Ranges<'_>],
        room: Room,
        expect: Option<(NodeId, u64, u64)>,
    ) {
        let members: Vec<_> = (1..).zip(there.iter().map(|ranges| inventory(ranges))).collect();
        let found = next_chunk(&contents(here, archived), &members, room);
        let found =
            found.map(|Chunk { member, range, .. }| (member, range.after.get(), range.last.get()));
        assert_eq!(found, expect, "{here:?} {there:?}");
    }

    #[test]
    fn the_newest_that_is_missing_comes_first() {
        let there: Ranges<'_> = &[(0, 50), (50, 120)];
        check((&[(0, 100)], 100), &[there], ROOM, None);
        check((&[(80, 100)], 100), &[there], ROOM, Some((1, 50, 80)));
        check((&[(50, 100)], 100), &[there], ROOM, Some((1, 0, 50)));
        check((&[(0, 30), (60, 100)], 100), &[there], ROOM, Some((1, 50, 60)));
        check((&[(0, 30), (60, 100)], 110), &[there], ROOM, Some((1, 100, 110)));
        check((&[], 100), &[there], ROOM, Some((1, 50, 100)));
        check((&[(80, 100)], 100), &[], ROOM, None);
        check((&[(80, 100)], 100), &[&[(80, 120)]], ROOM, None);
    }

    #[test]
    fn the_member_that_has_the_most_of_it_is_asked() {
        let here: (Ranges<'_>, u64) = (&[(80, 100)], 100);
        check(here, &[&[(0, 60)], &[(70, 120)]], ROOM, Some((2, 70, 80)));
        check(here, &[&[(70, 90)], &[(40, 90)], &[(40, 99)]], ROOM, Some((2, 40, 80)));
    }

    #[test]
    fn nothing_comes_that_would_go_at_once() {
        let (here, there): ((Ranges<'_>, u64), Ranges<'_>) = ((&[(80, 100)], 100), &[(20, 90)]);
        let room = |since_ms, dropped, bytes| Room { since_ms, dropped, bytes };
        let at = Revision::new;
        check(here, &[there], room(21, at(79), 8000), Some((1, 20, 80)));
        check(here, &[there], room(22, at(0), 8000), None);
        check(here, &[there], room(0, at(80), 8000), None);
        // Of 400 bytes 350 are free for the 600 of the part.
        check(here, &[there], room(0, at(0), 400), Some((1, 45, 80)));
        check(here, &[there], room(0, at(0), 0), None);
    }
}
