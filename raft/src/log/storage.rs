//! openraft's log storage, on the handle.
//!
//! Appends return once they are queued and readable; votes and truncations return once they are
//! durable; purges are queued. The committed position is kept in memory and written with the
//! writer's next job: it is a hint, not worth a wake-up of its own. openraft calls the writing half
//! from one task.

use std::fmt::Debug;
use std::future;
use std::io;
use std::ops::{Bound, Range, RangeBounds};

use futures::stream::{self, Stream, TryStreamExt};
use openraft::OptionalSend;
use openraft::storage::{IOFlushed, LogState, RaftLogReader, RaftLogStorage};

use super::handle::{Log, encode};
use super::options::READ_BYTES;
use super::queue::{Completion, Job, Records};
use super::record::RecordKind;
use super::shared::SharedLog;
use crate::types::{LogEntry, LogId, TypeConfig, Vote};

impl RaftLogReader<TypeConfig> for Log {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<LogEntry>, io::Error> {
        self.read(indexes(&range), usize::MAX)
    }

    /// What the state machine is fed from: read piece by piece, for after a long standstill the
    /// range may be larger than memory.
    async fn entries_stream<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> impl Stream<Item = Result<LogEntry, io::Error>> + OptionalSend {
        let log = self.clone();
        let pieces = stream::try_unfold(indexes(&range), move |rest| {
            let piece = log.read(rest.clone(), READ_BYTES).map(|piece| {
                let next = piece.last()?.log_id.index + 1;
                Some((stream::iter(piece.into_iter().map(Ok)), next..rest.end))
            });
            future::ready(piece)
        });
        pieces.try_flatten()
    }

    /// What others are sent. Nothing when the first entry has been purged: that happens to a stream
    /// to a member that was removed, and what comes later must not be sent in its place.
    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<LogEntry>, io::Error> {
        let entries = self.read(start..end, READ_BYTES)?;
        let gap = entries.first().is_some_and(|first| first.log_id.index > start);
        Ok(if gap { Vec::new() } else { entries })
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, io::Error> {
        Ok(self.state.lock().vote)
    }
}

impl RaftLogStorage<TypeConfig> for Log {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, io::Error> {
        let state = self.state.lock();
        Ok(LogState { last_purged_log_id: state.purged, last_log_id: state.last })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), io::Error> {
        let vote = *vote;
        self.wait_durable(|log, reply| log.send_job(Job::Vote(vote, reply))).await
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), io::Error> {
        self.state.lock().committed = committed;
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, io::Error> {
        Ok(self.state.lock().committed)
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: IOFlushed<TypeConfig>,
    ) -> Result<(), io::Error>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<LogEntry> = entries.into_iter().collect();
        let (bytes, sizes) = encode(&entries)?;
        let permit = Some(self.reserve(bytes.len()).await?);
        let mut state = self.state.lock();
        check_consecutive(&state, &entries)?;
        self.send(&state, Records { bytes, done: Completion::Flushed(callback), permit })?;
        for (entry, size) in entries.into_iter().zip(sizes) {
            state.last = Some(entry.log_id);
            state.tail.push(entry, size);
        }
        Ok(())
    }

    async fn truncate_after(&mut self, last_log_id: Option<LogId>) -> Result<(), io::Error> {
        let next = last_log_id.map_or(0, |id| id.index + 1);
        if self.state.lock().bounds().1 <= next {
            return Ok(());
        }
        self.wait_durable(|log, reply| {
            let mut state = log.state.lock();
            log.send_mark(&state, RecordKind::Truncate, last_log_id, Completion::Reply(reply))?;
            state.tail.truncate(next);
            state.last = last_log_id.or(state.purged);
            Ok(())
        })
        .await
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), io::Error> {
        let mut state = self.state.lock();
        if state.purged.is_some_and(|purged| purged.index >= log_id.index) {
            return Ok(());
        }
        self.send_mark(&state, RecordKind::Purge, Some(log_id), Completion::Ignored)?;
        state.purged = Some(log_id);
        state.tail.purge(log_id.index + 1);
        if state.last.is_none_or(|last| last.index < log_id.index) {
            state.last = Some(log_id);
        }
        Ok(())
    }
}

fn check_consecutive(state: &SharedLog, entries: &[LogEntry]) -> io::Result<()> {
    let mut last = state.last.map(|last| last.index);
    for entry in entries {
        let index = entry.log_id.index;
        if let Some(last) = last
            && index != last + 1
        {
            let reason = format!("log entry {index} cannot follow entry {last}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        last = Some(index);
    }
    Ok(())
}

fn indexes(range: &impl RangeBounds<u64>) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => u64::MAX,
    };
    start..end.max(start)
}
