//! A scan of transactions, in either direction, in bounded steps.
//!
//! Invariants: each transaction of the range is given once and in order; a part that is not here
//! ends the page before it, and is an error at the beginning of a page.

use std::collections::VecDeque;
use std::sync::Arc;

use quorate_env::blocking;
use quorate_registry::error::Error;
use quorate_store::{Batch, Past, PastError, Revision};

/// Transactions that one page looks at.
const MAX_SCANNED: usize = 20_000;
/// Transactions that are read at a time at most.
const WINDOW: u64 = 512;
/// Bytes of transactions that are read at a time.
const READ_BYTES: usize = 4 << 20;

/// Which changes come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Newest,
    Oldest,
}

impl Order {
    /// The order that a request asks for.
    ///
    /// # Errors
    /// 400 for another word.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "" | "newest" => Ok(Self::Newest),
            "oldest" => Ok(Self::Oldest),
            _ => Err(Error::bad_request("order is newest or oldest")),
        }
    }
}

/// A scan of what comes after one revision, up to another one.
pub(super) struct Scan {
    past: Arc<dyn Past>,
    order: Order,
    /// What is left: after the first, up to the second.
    left: (Revision, Revision),
    window: u64,
    ready: VecDeque<Arc<Batch>>,
    scanned: usize,
    /// Whether the page ends here, though something is left.
    paused: bool,
}

impl Scan {
    /// A scan that goes on `from` where the page before has ended.
    pub(super) fn new(
        past: Arc<dyn Past>,
        order: Order,
        after: Revision,
        until: Revision,
        from: Option<Revision>,
    ) -> Self {
        let left = match (order, from) {
            (Order::Newest, Some(from)) => (after, until.min(from)),
            (Order::Oldest, Some(from)) => (after.max(from), until),
            (_, None) => (after, until),
        };
        let ready = VecDeque::new();
        Self { past, order, left, window: WINDOW, ready, scanned: 0, paused: false }
    }

    /// The next transaction; `None` at the end of the range or of the page.
    pub(super) fn next(&mut self) -> Result<Option<Arc<Batch>>, PastError> {
        if self.scanned == MAX_SCANNED {
            return Ok(None);
        }
        if self.ready.is_empty() && !self.paused && self.left.0 < self.left.1 {
            let read = match self.order {
                Order::Newest => self.read_before(),
                Order::Oldest => self.read_after(),
            };
            match read {
                // What has been dropped meanwhile is older than what is kept.
                Err(PastError::Expired { .. }) if self.order == Order::Newest => {
                    self.left.0 = self.left.1;
                }
                Err(_) if self.scanned > 0 => self.paused = true,
                other => other?,
            }
        }
        let Some(batch) = self.ready.pop_front() else { return Ok(None) };
        self.scanned += 1;
        match self.order {
            Order::Newest => self.left.1 = Revision::new(batch.revision.get().saturating_sub(1)),
            Order::Oldest => self.left.0 = batch.revision,
        }
        Ok(Some(batch))
    }

    /// Where the next page goes on; `None` when nothing is left.
    pub(super) fn rest(&self) -> Option<Revision> {
        let (after, until) = self.left;
        let next = if self.order == Order::Newest { until } else { after };
        (after < until).then_some(next)
    }

    fn read_after(&mut self) -> Result<(), PastError> {
        let (after, until) = self.left;
        let read = blocking(|| self.past.changes(after, READ_BYTES))?;
        self.ready.extend(read.into_iter().filter(|batch| batch.revision <= until));
        Ok(())
    }

    /// Reads the last transactions of what is left; fewer of them when they are large.
    fn read_before(&mut self) -> Result<(), PastError> {
        let (mut after, until) = self.left;
        loop {
            let begin = Revision::new(until.get().saturating_sub(self.window)).max(after);
            match self.read_span(begin, until) {
                Ok(Some(read)) => {
                    self.ready.extend(read.into_iter().rev());
                    return Ok(());
                }
                Ok(None) => self.window = (self.window / 2).max(1),
                // What comes after the part that is not here is told first.
                Err(PastError::Missing { gap }) if gap.last < until && gap.last > begin => {
                    after = gap.last;
                }
                // Nor is there anything before what has been dropped meanwhile.
                Err(PastError::Expired { oldest, .. }) if oldest < until && oldest > begin => {
                    (after, self.left.0) = (oldest, oldest);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The transactions of a span; `None` when they are too large to be read at a time.
    fn read_span(
        &self,
        begin: Revision,
        until: Revision,
    ) -> Result<Option<Vec<Arc<Batch>>>, PastError> {
        let (mut read, mut bytes, mut next) = (Vec::new(), 0, begin);
        while next < until {
            let found = blocking(|| self.past.changes(next, READ_BYTES))?;
            let Some(last) = found.last() else { break };
            next = last.revision;
            bytes += found.iter().map(|batch| batch.footprint()).sum::<usize>();
            read.extend(found.into_iter().filter(|batch| batch.revision <= until));
            if bytes > READ_BYTES && next < until && until.get() - begin.get() > 1 {
                return Ok(None);
            }
        }
        Ok(Some(read))
    }
}

#[cfg(test)]
mod tests;
