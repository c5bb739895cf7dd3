//! What the log's tests share: small logs on a disk in memory, entries, and what a log holds as
//! text.

use std::sync::Arc;

use openraft::EntryPayload;
use openraft::alias::OneshotReceiverOf;
use openraft::async_runtime::OneshotSender;
use openraft::storage::{IOFlushed, RaftLogReader, RaftLogStorage};
use openraft::type_config::TypeConfigExt;
use openraft::vote::RaftLeaderId;
use quorate_env::Fatal;
use quorate_env::disk::MemoryDisk;
use quorate_raft::ClusterId;
use quorate_raft::log::{Log, LogIdentity, LogOptions};
use quorate_raft::types::{Command, LogEntry, LogId, TypeConfig, Vote};
use quorate_store::{Operation, Txn};

/// Length of the small segments, bytes.
pub(super) const SEGMENT: u64 = 16 << 10;

pub(super) const IDENTITY: LogIdentity = LogIdentity { cluster: ClusterId::new([7; 16]), node: 1 };

pub(super) fn options(disk: &MemoryDisk) -> LogOptions {
    let mut options = LogOptions::new(Arc::new(disk.clone()), "/log", IDENTITY, Fatal::new());
    options.segment_bytes = SEGMENT;
    options.first_segment_bytes = SEGMENT;
    options.tail_bytes = 4 << 10;
    options
}

pub(super) async fn open(disk: &MemoryDisk) -> Log {
    Log::open(options(disk)).await.unwrap()
}

pub(super) async fn open_error(disk: &MemoryDisk) -> String {
    Log::open(options(disk)).await.expect_err("the log must not open").to_string()
}

pub(super) fn log_id(term: u64, index: u64) -> LogId {
    LogId { leader_id: RaftLeaderId::new(term, 1), index }
}

/// An entry whose value has `bytes` bytes that depend on its position.
pub(super) fn entry(term: u64, index: u64, bytes: usize) -> LogEntry {
    let value = vec![u8::try_from((term * 31 + index) % 251).unwrap(); bytes];
    let operation =
        Operation::Put { key: index.to_string().into_bytes().into(), value: value.into() };
    let txn = Txn { conditions: Vec::new(), operations: vec![operation], ..Txn::default() };
    LogEntry {
        log_id: log_id(term, index),
        payload: EntryPayload::Normal(Command { time_ms: index, txns: [txn].into() }),
    }
}

/// Answers when entries are durable.
pub(super) type Durable = OneshotReceiverOf<TypeConfig, std::io::Result<()>>;

/// Queues entries; the receiver answers when they are durable.
pub(super) async fn queue(log: &mut Log, entries: Vec<LogEntry>) -> Durable {
    let (sender, receiver) = TypeConfig::oneshot();
    if let Err(error) = log.append(entries, IOFlushed::<TypeConfig>::signal(sender)).await {
        let (sender, receiver) = TypeConfig::oneshot();
        assert!(sender.send(Err(error)).is_ok());
        return receiver;
    }
    receiver
}

/// Appends entries and waits until they are durable.
pub(super) async fn append(log: &mut Log, entries: Vec<LogEntry>) -> std::io::Result<()> {
    queue(log, entries).await.await.unwrap_or_else(|_| Err(std::io::Error::other("forgotten")))
}

pub(super) async fn append_range(
    log: &mut Log,
    term: u64,
    indexes: std::ops::Range<u64>,
    bytes: usize,
) {
    append(log, indexes.map(|index| entry(term, index, bytes)).collect()).await.unwrap();
}

/// What a log holds: everything that Raft can ask it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contents {
    pub(super) purged: Option<LogId>,
    pub(super) last: Option<LogId>,
    pub(super) entries: Vec<LogEntry>,
    pub(super) vote: Option<Vote>,
}

pub(super) async fn contents(log: &mut Log) -> Contents {
    let state = log.get_log_state().await.unwrap();
    let entries = log.try_get_log_entries(..).await.unwrap();
    let vote = log.read_vote().await.unwrap();
    Contents { purged: state.last_purged_log_id, last: state.last_log_id, entries, vote }
}

impl Contents {
    /// One line, for messages and expectations.
    pub(super) fn summary(&self) -> String {
        let text = |id: Option<LogId>| {
            id.map_or("-".to_owned(), |id| format!("{}.{}", id.leader_id.term, id.index))
        };
        let ends = [self.entries.first(), self.entries.last()]
            .map(|end| text(end.map(|entry| entry.log_id)));
        let (purged, last, count) = (text(self.purged), text(self.last), self.entries.len());
        format!("purged {purged} last {last} holds {count} from {} to {}", ends[0], ends[1])
    }
}

pub(super) async fn summary(log: &mut Log) -> String {
    contents(log).await.summary()
}

/// Deterministic random numbers.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

pub(super) fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future);
}
