//! What the state machine is fed from: every entry of the range, without the whole range in memory.

use futures::{StreamExt, TryStreamExt};
use openraft::storage::RaftLogReader;
use quorate_env::disk::MemoryDisk;

use super::support::{append_range, entry, open};

#[tokio::test]
async fn a_long_range_is_streamed_piece_by_piece() {
    let mut log = open(&MemoryDisk::new()).await;
    append_range(&mut log, 1, 0..10, 1 << 20).await;
    let mut reader = log.clone();
    let mut stream = Box::pin(reader.entries_stream(2..12).await);
    assert_eq!(stream.next().await.unwrap().unwrap(), entry(1, 2, 1 << 20));
    // The end of the range is read only now, so what has come meanwhile is found.
    append_range(&mut log, 1, 10..13, 1 << 20).await;
    let rest: Vec<u64> = stream.map_ok(|entry| entry.log_id.index).try_collect().await.unwrap();
    assert_eq!(rest, (3..12).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_empty_range_ends_at_once() {
    let mut log = open(&MemoryDisk::new()).await;
    append_range(&mut log, 1, 0..2, 10).await;
    for range in [1..1, 2..2, 5..9] {
        assert_eq!(log.entries_stream(range).await.count().await, 0);
    }
}
