//! The most recent entries, decoded, in memory: replication nearly always reads these.
//!
//! Invariants: entries are consecutive; an entry that is not durable yet is always here, whatever
//! the limit.

use std::collections::VecDeque;

use crate::types::LogEntry;

/// Recent entries with their encoded size.
#[derive(Debug, Default)]
pub(super) struct RecentEntries {
    entries: VecDeque<(LogEntry, usize)>,
    bytes: usize,
}

impl RecentEntries {
    /// The index of the oldest entry that is here.
    pub(super) fn first(&self) -> Option<u64> {
        self.entries.front().map(|(entry, _)| entry.log_id.index)
    }

    pub(super) fn get(&self, index: u64) -> Option<&(LogEntry, usize)> {
        let at = index.checked_sub(self.first()?)?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    pub(super) fn push(&mut self, entry: LogEntry, bytes: usize) {
        self.bytes += bytes;
        self.entries.push_back((entry, bytes));
    }

    /// Drops the entries from `next` on.
    pub(super) fn truncate(&mut self, next: u64) {
        while let Some((_, bytes)) =
            self.entries.pop_back_if(|(entry, _)| entry.log_id.index >= next)
        {
            self.bytes -= bytes;
        }
    }

    /// Drops the entries before `first`.
    pub(super) fn purge(&mut self, first: u64) {
        while let Some((_, bytes)) =
            self.entries.pop_front_if(|(entry, _)| entry.log_id.index < first)
        {
            self.bytes -= bytes;
        }
    }

    /// Drops the oldest of the entries before `durable` until no more than `limit` bytes are left.
    pub(super) fn shrink(&mut self, limit: usize, durable: u64) {
        while self.bytes > limit
            && let Some((_, bytes)) =
                self.entries.pop_front_if(|(entry, _)| entry.log_id.index < durable)
        {
            self.bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use openraft::EntryPayload;

    use super::*;
    use crate::log::record::log_id;

    fn check(act: impl Fn(&mut RecentEntries), expect: &[u64]) {
        let mut tail = RecentEntries::default();
        for index in 3..9 {
            tail.push(LogEntry { log_id: log_id(1, 1, index), payload: EntryPayload::Blank }, 10);
        }
        act(&mut tail);
        let held: Vec<u64> = (0..20).filter(|&index| tail.get(index).is_some()).collect();
        assert_eq!(held, expect);
        assert_eq!(tail.bytes, 10 * expect.len());
    }

    #[test]
    fn drops_from_either_end_but_nothing_that_is_not_durable() {
        check(|_| {}, &[3, 4, 5, 6, 7, 8]);
        check(|tail| tail.truncate(5), &[3, 4]);
        check(|tail| tail.purge(5), &[5, 6, 7, 8]);
        check(|tail| tail.shrink(20, 9), &[7, 8]);
        check(|tail| tail.shrink(20, 5), &[5, 6, 7, 8]);
    }
}
