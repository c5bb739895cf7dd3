//! What a crash does not explain is refused with a line that names the file; what it does explain
//! is repaired.

use std::path::{Path, PathBuf};

use openraft::storage::RaftLogStorage;
use quorate_env::disk::{Disk, MemoryDisk};
use quorate_raft::ClusterId;
use quorate_raft::log::{Log, LogIdentity};
use quorate_raft::types::Vote;

use super::support::{append_range, contents, log_id, open, open_error, options, summary};

fn segment(sequence: u64) -> PathBuf {
    PathBuf::from(format!("/log/segment-{sequence:016x}.log"))
}

/// A closed log of several segments: entries 0 to 59 of 1 KiB, one append each.
async fn filled() -> MemoryDisk {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    log.save_vote(&Vote::new(3, 1)).await.unwrap();
    for index in 0..60 {
        append_range(&mut log, 3, index..index + 1, 1000).await;
    }
    log.save_committed(Some(log_id(3, 59))).await.unwrap();
    log.close().await.unwrap();
    disk
}

#[tokio::test]
async fn a_log_of_several_segments_opens_as_it_was_closed() {
    let disk = filled().await;
    let mut log = open(&disk).await;
    assert_eq!(summary(&mut log).await, "purged - last 3.59 holds 60 from 3.0 to 3.59");
    assert_eq!(contents(&mut log).await.vote, Some(Vote::new(3, 1)));
    assert_eq!(log.read_committed().await.unwrap(), Some(log_id(3, 59)));
}

#[tokio::test]
async fn damage_before_the_end_names_file_and_offset() {
    for (sequence, offset, expect) in [
        (
            1,
            4096 + 100,
            "/log/segment-0000000000000001.log is corrupt at offset 4096: not a valid batch",
        ),
        (
            2,
            4096 + 1536 * 3 + 4,
            "/log/segment-0000000000000002.log is corrupt at offset 8704: not a valid batch",
        ),
        (
            2,
            41,
            "/log/segment-0000000000000002.log is corrupt at offset 0: the segment header fails its checksum",
        ),
    ] {
        let disk = filled().await;
        disk.corrupt(&segment(sequence), offset);
        let error = open_error(&disk).await;
        assert!(error.contains(expect), "{error}");
    }
}

#[tokio::test]
async fn a_committed_entry_lost_from_the_end_is_noticed() {
    let disk = filled().await;
    let last = disk
        .list(Path::new("/log"))
        .unwrap()
        .into_iter()
        .rfind(|path| holds_batches(&disk, path))
        .unwrap();
    let end = last_batch(&disk, &last);
    disk.corrupt(&last, end + 200);
    let error = open_error(&disk).await;
    assert!(error.contains(&format!("{} is corrupt at offset {end}", last.display())), "{error}");
    assert!(
        error.contains("ends before entry 59, but entries up to 59 had been durable"),
        "{error}"
    );
}

fn holds_batches(disk: &MemoryDisk, path: &Path) -> bool {
    let is_segment = path.to_string_lossy().contains("segment-");
    is_segment && bytes_at(disk, path, 4096) != [0; 4]
}

/// Byte offset of the last batch of entries of 1000 bytes.
fn last_batch(disk: &MemoryDisk, path: &Path) -> usize {
    let mut end = 4096;
    while end + 1536 < 16384 && bytes_at(disk, path, end + 1536) != [0; 4] {
        end += 1536;
    }
    end
}

fn bytes_at(disk: &MemoryDisk, path: &Path, offset: usize) -> [u8; 4] {
    let mut bytes = [0; 4];
    disk.open(path).unwrap().read_at(offset as u64, &mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn missing_files_are_named() {
    for (path, expect) in [
        (segment(1), "log file /log/segment-0000000000000001.log is missing"),
        (segment(2), "log file /log/segment-0000000000000002.log is missing"),
        (PathBuf::from("/log/vote"), "log file /log/vote is missing"),
    ] {
        let disk = filled().await;
        disk.remove(&path).unwrap();
        assert_eq!(open_error(&disk).await, expect);
    }
}

#[tokio::test]
async fn a_log_without_any_segment_is_not_taken_for_a_new_one() {
    let disk = filled().await;
    for path in disk.list(Path::new("/log")).unwrap() {
        if path.to_string_lossy().contains("segment-") {
            disk.remove(&path).unwrap();
        }
    }
    assert_eq!(open_error(&disk).await, "log file /log/segment-0000000000000001.log is missing");
}

#[tokio::test]
async fn a_log_of_others_is_refused() {
    let disk = filled().await;
    for (identity, expect) in [
        (
            LogIdentity { cluster: ClusterId::new([8; 16]), node: 1 },
            "log file /log/segment-0000000000000001.log belongs to cluster \
             07070707070707070707070707070707, not to 08080808080808080808080808080808",
        ),
        (
            LogIdentity { cluster: ClusterId::new([7; 16]), node: 4 },
            "log file /log/segment-0000000000000001.log belongs to node 1, not to node 4",
        ),
    ] {
        let mut options = options(&disk);
        options.identity = identity;
        assert_eq!(Log::open(options).await.unwrap_err().to_string(), expect);
    }
}

#[tokio::test]
async fn one_copy_of_the_vote_is_enough_and_two_damaged_ones_are_an_error() {
    let (disk, vote) = (filled().await, Path::new("/log/vote"));
    for offset in [60, 4096 + 60] {
        disk.corrupt(vote, offset);
        let mut log = open(&disk).await;
        assert_eq!(
            contents(&mut log).await.vote,
            Some(Vote::new(3, 1)),
            "repaired from the other copy"
        );
        log.close().await.unwrap();
    }
    disk.corrupt(vote, 60);
    disk.corrupt(vote, 4096 + 60);
    let expect =
        "log file /log/vote is corrupt at offset 0: both copies of the vote fail their checksum";
    assert_eq!(open_error(&disk).await, expect);
}

#[tokio::test]
async fn segments_used_again_never_bring_old_entries_back() {
    let disk = MemoryDisk::new();
    let mut log = open(&disk).await;
    for round in 0..20 {
        let start = round * 30;
        append_range(&mut log, 1 + round, start..start + 30, 1000).await;
        log.purge(log_id(1 + round, start + 24)).await.unwrap();
    }
    log.close().await.unwrap();
    let files = disk.list(Path::new("/log")).unwrap();
    assert!(files.len() < 12, "purged segments are taken back: {files:?}");
    let mut log = open(&disk).await;
    assert_eq!(summary(&mut log).await, "purged 20.594 last 20.599 holds 5 from 20.595 to 20.599");
}
