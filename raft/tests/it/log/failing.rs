//! Failing, full and slow disks, and the limits of the queue and of memory.

use std::time::Duration;

use openraft::storage::{RaftLogReader, RaftLogStorage};
use quorate_env::disk::MemoryDisk;
use quorate_raft::log::Log;
use quorate_raft::types::{LogEntry, Vote};

use super::support::{append, append_range, entry, log_id, open, options, queue, summary};

#[tokio::test]
async fn a_failed_sync_ends_all_writing_and_tells_why() {
    let disk = MemoryDisk::new();
    let options = options(&disk);
    let fatal = options.fatal.clone();
    let mut log = Log::open(options.clone()).await.unwrap();
    append_range(&mut log, 1, 0..3, 100).await;
    disk.fail_sync_after(0);
    let error = append(&mut log, vec![entry(1, 3, 100)]).await.unwrap_err();
    let reason = "cannot write the log in /log: simulated sync failure";
    assert_eq!(error.to_string(), reason);
    assert_eq!(fatal.wait().await, reason);
    let calls = disk.calls();
    assert_eq!(append(&mut log, vec![entry(1, 4, 100)]).await.unwrap_err().to_string(), reason);
    assert_eq!(log.save_vote(&Vote::new(2, 1)).await.unwrap_err().to_string(), reason);
    assert_eq!(log.truncate_after(None).await.unwrap_err().to_string(), reason);
    assert_eq!(log.close().await.unwrap_err().to_string(), reason);
    assert_eq!(disk.calls(), calls, "nothing is written or synced after the failure");

    let mut found = open(&disk.crash(1)).await;
    assert_eq!(summary(&mut found).await, "purged - last 1.2 holds 3 from 1.0 to 1.2");
}

#[tokio::test]
async fn what_a_restarted_process_finds_is_made_durable() {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    append_range(&mut log, 1, 0..3, 100).await;
    disk.fail_sync_after(0);
    append(&mut log, vec![entry(1, 3, 100)]).await.unwrap_err();
    drop(log.close().await);

    // The process starts again, the machine does not: the cache shows an entry that is not on the
    // disk.
    let mut log = open(&disk).await;
    assert_eq!(summary(&mut log).await, "purged - last 1.3 holds 4 from 1.0 to 1.3");
    append_range(&mut log, 1, 4..5, 100).await;
    let mut found = open(&disk.crash(1)).await;
    assert_eq!(summary(&mut found).await, "purged - last 1.4 holds 5 from 1.0 to 1.4");
}

#[tokio::test]
async fn everything_that_waited_fails_with_the_sync() {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    disk.fail_sync_after(0);
    let mut waiting = Vec::new();
    for index in 0..5 {
        waiting.push(queue(&mut log, vec![entry(1, index, 100)]).await);
    }
    for durable in waiting {
        assert!(durable.await.unwrap().is_err());
    }
}

#[tokio::test]
async fn a_full_disk_is_one_clear_line_and_the_log_opens_when_there_is_space() {
    let disk = MemoryDisk::new();
    let options = options(&disk);
    let fatal = options.fatal.clone();
    let mut log = Log::open(options.clone()).await.unwrap();
    append_range(&mut log, 1, 0..1, 100).await;
    disk.set_capacity(Some(1000));
    let mut acknowledged = 1;
    while append(&mut log, vec![entry(1, acknowledged, 1000)]).await.is_ok() {
        acknowledged += 1;
        assert!(acknowledged < 100, "the disk never got full");
    }
    let reason = fatal.wait().await;
    assert!(reason.starts_with("cannot write the log in /log: "), "{reason}");
    drop(log.close().await);
    disk.set_capacity(None);
    let mut log = open(&disk).await;
    let entries = log.try_get_log_entries(0..acknowledged).await.unwrap();
    assert_eq!(entries.len() as u64, acknowledged);
}

#[tokio::test]
async fn one_sync_serves_everything_that_waits_for_it() {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    append_range(&mut log, 1, 0..1, 10).await;
    disk.set_sync_delay(Duration::from_millis(10));
    let calls = disk.calls();
    let mut waiting = Vec::new();
    for index in 1..30 {
        waiting.push(queue(&mut log, vec![entry(1, index, 10)]).await);
        tokio::task::yield_now().await;
    }
    for durable in waiting {
        durable.await.unwrap().unwrap();
    }
    assert_eq!(
        disk.calls() - calls,
        4,
        "a write and a sync for the first, and the same for all others together"
    );
}

#[tokio::test]
async fn appends_wait_while_the_queue_is_full() {
    let disk = MemoryDisk::new();
    let mut options = options(&disk);
    options.queue_bytes = 3000;
    let mut log = Log::open(options).await.unwrap();
    disk.set_sync_delay(Duration::from_millis(50));
    let start = tokio::time::Instant::now();
    let mut waiting = Vec::new();
    for index in 0..4 {
        waiting.push(queue(&mut log, vec![entry(1, index, 1200)]).await);
    }
    assert!(start.elapsed() >= Duration::from_millis(50), "the third had to wait for a sync");
    for durable in waiting {
        durable.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn entries_larger_than_a_segment_get_one_that_is_long_enough() {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    append_range(&mut log, 1, 0..1, 100).await;
    append_range(&mut log, 1, 1..2, 100_000).await;
    append_range(&mut log, 1, 2..3, 100).await;
    log.close().await.unwrap();
    let mut log = open(&disk).await;
    assert_eq!(log.try_get_log_entries(1..2).await.unwrap(), vec![entry(1, 1, 100_000)]);
    assert_eq!(summary(&mut log).await, "purged - last 1.2 holds 3 from 1.0 to 1.2");
}

#[tokio::test]
async fn replication_reads_are_limited_and_never_empty() {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    append_range(&mut log, 1, 0..10, 1 << 20).await;
    let read = log.limited_get_log_entries(2, 10).await.unwrap();
    assert_eq!(read.iter().map(|entry| entry.log_id.index).collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert_eq!(log.limited_get_log_entries(4, 4).await.unwrap(), vec![]);
}

/// Found by `cargo run --profile simulation -p quorate-simulation -- --seeds 100`: the stream to a
/// member that had been removed left out what had been purged meanwhile.
#[tokio::test]
async fn replication_reads_leave_nothing_out_at_the_beginning() {
    let mut log = open(&MemoryDisk::new()).await;
    append_range(&mut log, 1, 0..10, 10).await;
    log.purge(log_id(1, 5)).await.unwrap();
    let read =
        |entries: Vec<LogEntry>| entries.iter().map(|entry| entry.log_id.index).collect::<Vec<_>>();
    assert_eq!(read(log.limited_get_log_entries(6, 10).await.unwrap()), [6, 7, 8, 9]);
    assert_eq!(read(log.limited_get_log_entries(4, 10).await.unwrap()), [0; 0]);
    assert_eq!(read(log.try_get_log_entries(4..10).await.unwrap()), [6, 7, 8, 9]);
}

#[tokio::test]
async fn an_append_that_leaves_a_gap_is_refused() {
    let mut log = open(&MemoryDisk::new()).await;
    append_range(&mut log, 1, 0..2, 10).await;
    let error = append(&mut log, vec![entry(1, 3, 10)]).await.unwrap_err();
    assert_eq!(error.to_string(), "log entry 3 cannot follow entry 1");
    log.purge(log_id(2, 7)).await.unwrap();
    append_range(&mut log, 2, 8..9, 10).await;
    assert_eq!(summary(&mut log).await, "purged 2.7 last 2.8 holds 1 from 2.8 to 2.8");
}
