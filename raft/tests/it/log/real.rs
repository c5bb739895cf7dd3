//! The real disk with the usual limits: threads, the lock, and opening again while a large segment
//! was in the making.

use std::path::Path;
use std::sync::Arc;

use openraft::storage::RaftLogStorage;
use quorate_env::Fatal;
use quorate_env::disk::SystemDisk;
use quorate_raft::log::{Log, LogOptions};
use quorate_raft::types::Vote;

use super::support::{IDENTITY, append_range, contents, log_id, summary};

async fn open(folder: &Path) -> Log {
    let options =
        LogOptions::new(Arc::new(SystemDisk), folder.join("raft/log"), IDENTITY, Fatal::new());
    Log::open(options).await.unwrap()
}

#[tokio::test]
async fn closed_logs_open_again_at_once_and_open_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let mut log = open(folder.path()).await;
        append_range(&mut log, 1, round * 10..round * 10 + 10, 1000).await;
        let again = LogOptions::new(
            Arc::new(SystemDisk),
            folder.path().join("raft/log"),
            IDENTITY,
            Fatal::new(),
        );
        let error = Log::open(again).await.unwrap_err().to_string();
        assert!(error.ends_with("is in use by another process"), "{error}");
        log.save_vote(&Vote::new(round + 1, 1)).await.unwrap();
        log.close().await.unwrap();
    }
    let mut log = open(folder.path()).await;
    assert_eq!(summary(&mut log).await, "purged - last 1.39 holds 40 from 1.0 to 1.39");
    assert_eq!(contents(&mut log).await.vote, Some(Vote::new(4, 1)));
}

#[tokio::test]
async fn old_entries_are_read_from_segments_while_new_ones_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = LogOptions::new(Arc::new(SystemDisk), folder.path(), IDENTITY, Fatal::new());
    (options.first_segment_bytes, options.segment_bytes, options.tail_bytes) =
        (64 << 10, 256 << 10, 0);
    let mut log = Log::open(options).await.unwrap();
    let mut reader = log.get_log_reader().await;
    let reading = tokio::spawn(async move {
        loop {
            let found = contents(&mut reader).await;
            let first = found.entries.first().map_or(0, |entry| entry.log_id.index);
            for (at, entry) in found.entries.iter().enumerate() {
                assert_eq!(*entry, super::support::entry(1, first + at as u64, 5000));
            }
            if found.last == Some(log_id(1, 399)) {
                return;
            }
            tokio::task::yield_now().await;
        }
    });
    for start in (0..400).step_by(8) {
        append_range(&mut log, 1, start..start + 8, 5000).await;
        if start > 80 {
            log.purge(log_id(1, start - 80)).await.unwrap();
        }
        tokio::task::yield_now().await;
    }
    reading.await.unwrap();
}
