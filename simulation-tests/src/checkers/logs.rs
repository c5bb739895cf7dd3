//! The members' logs as they are found on their disks after each round's faults and in the end: log
//! matching, and one content for everything committed.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use openraft::storage::{RaftLogReader, RaftLogStorage};
use quorate_env::Fatal;
use quorate_env::disk::MemoryDisk;
use quorate_raft::ClusterId;
use quorate_raft::log::{Log, LogIdentity, LogOptions};
use quorate_raft::types::{LogEntry, LogId};
use quorate_store::NodeId;

/// A member's disk, and who the member is.
pub(crate) struct MemberLog {
    pub(crate) node: NodeId,
    pub(crate) cluster: ClusterId,
    pub(crate) disk: MemoryDisk,
    /// The folder of its log.
    pub(crate) folder: String,
    /// The last entry that it knew to be committed.
    pub(crate) committed: Option<LogId>,
}

/// What a log holds, by index.
type Entries = BTreeMap<u64, LogEntry>;

/// Everything that is wrong with the logs.
pub(crate) fn check(found: &[MemberLog]) -> Result<Vec<String>, Box<dyn Error>> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let mut logs = Vec::new();
    let mut wrong = Vec::new();
    for found in found {
        match runtime.block_on(read(found)) {
            Ok(entries) => logs.push((found, entries)),
            Err(error) => {
                wrong.push(format!("log: that of node {} cannot be read: {error}", found.node))
            }
        }
    }
    for (at, (one, entries)) in logs.iter().enumerate() {
        for (other, others) in &logs[at + 1..] {
            let committed = one.committed.min(other.committed).map(|id| id.index);
            if let Some(index) = mismatch(entries, others, committed) {
                let (one, other) = (one.node, other.node);
                wrong.push(format!(
                    "log: nodes {one} and {other} differ at entry {index}, which must be the same"
                ));
            }
        }
    }
    Ok(wrong)
}

async fn read(found: &MemberLog) -> Result<Entries, Box<dyn Error>> {
    let identity = LogIdentity { cluster: found.cluster, node: found.node };
    let folder = Path::new(&found.folder);
    let options =
        LogOptions::new(std::sync::Arc::new(found.disk.clone()), folder, identity, Fatal::new());
    let mut log = Log::open(options).await?;
    let state = log.get_log_state().await?;
    let (first, end) = (next(state.last_purged_log_id), next(state.last_log_id));
    let entries = log.try_get_log_entries(first..end).await?;
    Ok(entries.into_iter().map(|entry| (entry.log_id.index, entry)).collect())
}

/// The newest index at which two logs hold different entries though they agree further up, or
/// though it is committed.
fn mismatch(one: &Entries, other: &Entries, committed: Option<u64>) -> Option<u64> {
    let common: Vec<u64> =
        one.keys().rev().filter(|index| other.contains_key(index)).copied().collect();
    let mut agreed = false;
    common.into_iter().find(|index| {
        let same = one[index] == other[index];
        let must = agreed
            || one[index].log_id == other[index].log_id
            || committed.is_some_and(|last| *index <= last);
        agreed |= same;
        must && !same
    })
}

fn next(id: Option<LogId>) -> u64 {
    id.map_or(0, |id| id.index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::storage::IOFlushed;
    use openraft::type_config::TypeConfigExt;
    use openraft::vote::RaftLeaderId;
    use quorate_raft::types::{Command, Payload, TypeConfig};

    /// The folder of every log.
    const FOLDER: &str = "/log";
    const CLUSTER: ClusterId = ClusterId::new([7; 16]);

    fn id(term: u64, index: u64) -> LogId {
        LogId { leader_id: RaftLeaderId::new(term, 1), index }
    }

    /// A log from entry 3 on, of entries with these terms and contents.
    fn log(entries: &[(u64, u64)]) -> Entries {
        let entry = |(index, (term, content)): (u64, &(u64, u64))| {
            let payload = Payload::Normal(Command { time_ms: *content, txns: [].into() });
            (index, LogEntry { log_id: id(*term, index), payload })
        };
        (3..).zip(entries).map(entry).collect()
    }

    /// A member whose disk holds such a log; it knows this entry to be committed.
    fn member(node: NodeId, entries: &[(u64, u64)], committed: Option<LogId>) -> MemberLog {
        let disk = MemoryDisk::new();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(write(node, disk.clone(), log(entries).into_values().collect()));
        MemberLog { node, cluster: CLUSTER, disk, folder: FOLDER.to_owned(), committed }
    }

    async fn write(node: NodeId, disk: MemoryDisk, entries: Vec<LogEntry>) {
        let identity = LogIdentity { cluster: CLUSTER, node };
        let mut options =
            LogOptions::new(std::sync::Arc::new(disk), FOLDER, identity, Fatal::new());
        (options.segment_bytes, options.first_segment_bytes) = (64 << 10, 64 << 10);
        let mut log = Log::open(options).await.unwrap();
        log.purge(id(1, 2)).await.unwrap();
        let (sender, durable) = TypeConfig::oneshot();
        log.append(entries, IOFlushed::<TypeConfig>::signal(sender)).await.unwrap();
        durable.await.unwrap().unwrap();
        log.close().await.unwrap();
    }

    #[test]
    fn logs_match_below_what_they_agree_on() {
        let whole = log(&[(1, 1), (1, 2), (2, 3)]);
        assert_eq!(mismatch(&whole, &log(&[(1, 1), (1, 2)]), Some(4)), None);
        assert_eq!(mismatch(&whole, &log(&[(1, 1), (1, 2), (3, 9)]), Some(4)), None);
        assert_eq!(mismatch(&whole, &log(&[(1, 1), (1, 2), (3, 9)]), Some(5)), Some(5));
        assert_eq!(mismatch(&whole, &log(&[(1, 1), (1, 9), (2, 3)]), None), Some(4));
        assert_eq!(mismatch(&whole, &log(&[(1, 1), (1, 2), (2, 9)]), None), Some(5));
    }

    #[test]
    fn members_whose_logs_differ_at_one_entry_are_found() {
        let whole = [(1, 1), (1, 2), (2, 3)];
        let check_with = |second: &[(u64, u64)], committed: Option<LogId>, expect: &[&str]| {
            let members = [member(1, &whole, committed), member(2, second, committed)];
            assert_eq!(check(&members).unwrap(), expect);
        };
        check_with(&whole, Some(id(2, 5)), &[]);
        check_with(&[(1, 1), (1, 2)], Some(id(1, 4)), &[]);
        // They agree further up.
        let at_4 = "log: nodes 1 and 2 differ at entry 4, which must be the same";
        check_with(&[(1, 1), (1, 9), (2, 3)], None, &[at_4]);
        // What is not committed may differ, and what is may not.
        let other_end = [(1, 1), (1, 2), (3, 9)];
        check_with(&other_end, Some(id(1, 4)), &[]);
        check_with(
            &other_end,
            Some(id(2, 5)),
            &["log: nodes 1 and 2 differ at entry 5, which must be the same"],
        );
    }

    #[test]
    fn a_log_that_cannot_be_read_is_told() {
        let mut strange = member(2, &[(1, 1)], None);
        strange.cluster = ClusterId::new([8; 16]);
        let found = check(&[member(1, &[(1, 1)], None), strange]).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("log: that of node 2 cannot be read"), "{found:?}");
    }
}
