//! A change as a history record holds it: the state before in full, and of the state after the
//! difference.
//!
//! Most changes leave most of an object as it was, and history would otherwise be twice as long.
//! Invariant: a change is read back as it was written, or not at all. It looks for one difference,
//! between the first and the last byte that changed, because that costs no more than a comparison.

use bytes::{BufMut, Bytes, BytesMut};
use quorate_store::{Entry, Event, Revision};
use serde::{Deserialize, Serialize};

/// Bytes that are compared at a time.
const STEP: usize = 16;

/// The stored form of an event.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Change {
    key: Bytes,
    previous: Option<Entry>,
    current: Current,
}

#[derive(Debug, Serialize, Deserialize)]
enum Current {
    /// After a deletion.
    Nothing,
    /// After a creation.
    Whole(Entry),
    /// The state before with a part replaced.
    Changed(Difference),
}

/// What to keep of the state before, at its front and at its back, and what comes between.
#[derive(Debug, Serialize, Deserialize)]
struct Difference {
    created: Revision,
    modified: Revision,
    front: usize,
    back: usize,
    between: Bytes,
}

impl Change {
    /// The form of this event.
    pub(super) fn of(event: &Event) -> Self {
        let current = match (&event.previous, &event.current) {
            (_, None) => Current::Nothing,
            (None, Some(current)) => Current::Whole(current.clone()),
            (Some(previous), Some(current)) => Current::Changed(Difference::of(previous, current)),
        };
        Self { key: event.key.clone(), previous: event.previous.clone(), current }
    }

    /// The event; `None` when the two states do not fit each other.
    pub(super) fn into_event(self) -> Option<Event> {
        let current = match self.current {
            Current::Nothing => None,
            Current::Whole(entry) => Some(entry),
            Current::Changed(difference) => Some(difference.applied_to(self.previous.as_ref()?)?),
        };
        Some(Event { key: self.key, current, previous: self.previous })
    }
}

impl Difference {
    fn of(previous: &Entry, current: &Entry) -> Self {
        let (old, new) = (&previous.value, &current.value);
        let front = common_front(old, new);
        let back = common_back(&old[front..], &new[front..]);
        let between = new.slice(front..new.len() - back);
        Self { created: current.created, modified: current.modified, front, back, between }
    }

    fn applied_to(self, previous: &Entry) -> Option<Entry> {
        let (front, rest) = previous.value.split_at_checked(self.front)?;
        let back = &rest[rest.len().checked_sub(self.back)?..];
        let mut value = BytesMut::with_capacity(front.len() + self.between.len() + back.len());
        [front, &self.between, back].into_iter().for_each(|part| value.put_slice(part));
        Some(Entry { value: value.freeze(), created: self.created, modified: self.modified })
    }
}

/// How many bytes are the same at the beginning.
fn common_front(a: &[u8], b: &[u8]) -> usize {
    let ((a_steps, _), (b_steps, _)) = (a.as_chunks::<STEP>(), b.as_chunks::<STEP>());
    let same = STEP * a_steps.iter().zip(b_steps).take_while(|(a, b)| a == b).count();
    same + a[same..].iter().zip(&b[same..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes are the same at the end.
fn common_back(a: &[u8], b: &[u8]) -> usize {
    let ((_, a_steps), (_, b_steps)) = (a.as_rchunks::<STEP>(), b.as_rchunks::<STEP>());
    let same =
        STEP * a_steps.iter().rev().zip(b_steps.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    same + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: &[u8], modified: u64) -> Entry {
        Entry {
            value: Bytes::copy_from_slice(value),
            created: Revision::new(3),
            modified: Revision::new(modified),
        }
    }

    fn check(old: &[u8], new: &[u8], kept: (usize, usize), between: &[u8]) {
        let event =
            Event { key: "k".into(), previous: Some(entry(old, 5)), current: Some(entry(new, 7)) };
        let change = Change::of(&event);
        let Current::Changed(difference) = &change.current else { panic!("{change:?}") };
        assert_eq!((difference.front, difference.back), kept);
        assert_eq!(difference.between, between);
        assert_eq!(change.into_event(), Some(event));
    }

    #[test]
    fn what_stays_is_not_repeated() {
        check(b"", b"", (0, 0), b"");
        check(b"same", b"same", (4, 0), b"");
        check(b"one two three", b"one 2 three", (4, 6), b"2");
        check(b"aaaa", b"aaaaaa", (4, 0), b"aa");
        check(b"aaaaaa", b"aaaa", (4, 0), b"");
        check(b"abc", b"xyz", (0, 0), b"xyz");
        let long = [b'x'; 100];
        for at in 0..100 {
            let mut changed = long;
            changed[at] = b'y';
            check(&long, &changed, (at, 99 - at), b"y");
        }
    }

    #[test]
    fn beginnings_and_ends_are_whole_states() {
        for (previous, current) in
            [(None, Some(entry(b"new", 4))), (Some(entry(b"old", 4)), None), (None, None)]
        {
            let event = Event { key: "k".into(), current, previous };
            assert_eq!(Change::of(&event).into_event(), Some(event));
        }
    }

    #[test]
    fn a_difference_to_something_else_is_noticed() {
        let difference = |front, back| Difference {
            created: Revision::ZERO,
            modified: Revision::ZERO,
            front,
            back,
            between: Bytes::new(),
        };
        for (front, back) in [(5, 0), (0, 5), (3, 2), (usize::MAX, 1)] {
            assert_eq!(difference(front, back).applied_to(&entry(b"four", 1)), None);
        }
        let change =
            Change { key: "k".into(), previous: None, current: Current::Changed(difference(0, 0)) };
        assert!(change.into_event().is_none());
    }
}
