//! Log recovery: opening the files of a log and finding out what they amount to and where writing
//! goes on.
//!
//! What a crash explains is repaired with a line in the node's log: the torn last batch, unfinished
//! files, one torn copy of the vote. Everything else is an error that names the file and the place;
//! nothing is guessed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use quorate_env::disk::Lock;

use super::error::LogOpenError;
use super::hard_state::HardState;
use super::index::{Durable, Place};
use super::options::{BATCH_BYTES, LogOptions};
use super::record::{self, RecordKind};
use super::scan::{self, End};
use super::segment::{self, LogFile, Segment};
use crate::types::{LogId, Vote};

/// Where the next batch goes.
#[derive(Debug, Clone)]
pub(super) struct WritePosition {
    pub(super) segment: Arc<Segment>,
    /// Byte offset in it.
    pub(super) offset: u64,
    /// The batch's number.
    pub(super) batch: u64,
}

/// An opened log.
pub(super) struct RecoveredLog {
    pub(super) durable: Durable,
    pub(super) vote: Option<Vote>,
    pub(super) hard: HardState,
    /// `None` for a new log.
    pub(super) position: Option<WritePosition>,
    /// Segments that were made ahead, in order.
    pub(super) prepared: Vec<Arc<Segment>>,
    /// Purged segments to be used again.
    pub(super) spares: Vec<PathBuf>,
    pub(super) lock: Lock,
}

/// Opens what is in the folder.
pub(super) async fn recover(options: &LogOptions) -> Result<RecoveredLog, LogOpenError> {
    let directory = &options.directory;
    options.disk.create_dir(directory).map_err(LogOpenError::io(directory))?;
    let lock = take_lock(options)?;
    let (segments, spares) = list(options)?;
    let (hard, vote) = HardState::open(options, !segments.is_empty()).await?;
    if segments.is_empty() && vote.is_some() {
        return Err(LogOpenError::Missing { path: segment::path(directory, 1) });
    }
    let mut recovered = RecoveredLog {
        durable: Durable::default(),
        vote,
        hard,
        position: None,
        prepared: Vec::new(),
        spares,
        lock,
    };
    let Some(first) = segments.first().cloned() else {
        return Ok(recovered);
    };
    let ends = read_all(&segments, &mut recovered.durable)?;
    let active = ends.iter().rposition(|end| end.batches > 0).unwrap_or(0);
    for (segment, end) in segments.iter().zip(&ends).skip(active) {
        blank_torn_batch(segment, end).await?;
    }
    rewrite_last_batch(&segments[active], &ends[active]).await?;
    for segment in &segments[..=active] {
        recovered.durable.segments.insert(segment.header.sequence, Arc::clone(segment));
    }
    let segment = Arc::clone(&segments[active]);
    let batch = ends[active].next_batch.unwrap_or(1);
    let position = WritePosition { segment, offset: ends[active].offset, batch };
    check_complete(options, &recovered, &first, &position)?;
    recovered.position = Some(position);
    recovered.prepared = segments[active + 1..].to_vec();
    Ok(recovered)
}

fn take_lock(options: &LogOptions) -> Result<Lock, LogOpenError> {
    let path = options.directory.join("lock");
    options.disk.lock(&path).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => LogOpenError::InUse { path: options.directory.clone() },
        _ => LogOpenError::Io { path, source: error },
    })
}

/// The segments, which must be without a gap, and the spare files. Removes unfinished ones.
fn list(options: &LogOptions) -> Result<(Vec<Arc<Segment>>, Vec<PathBuf>), LogOpenError> {
    let (disk, directory) = (options.disk.as_ref(), &options.directory);
    let (mut segments, mut spares) = (Vec::<Arc<Segment>>::new(), Vec::new());
    for path in disk.list(directory).map_err(LogOpenError::io(directory))? {
        match segment::classify(&path) {
            LogFile::Segment(sequence) => {
                let expected = segments.last().map_or(sequence, |last| last.header.sequence + 1);
                if sequence != expected {
                    return Err(LogOpenError::Missing { path: segment::path(directory, expected) });
                }
                segments.push(Arc::new(Segment::open(disk, &path, sequence, options.identity)?));
            }
            LogFile::Spare => spares.push(path),
            LogFile::Unfinished => disk.remove(&path).map_err(LogOpenError::io(&path))?,
            LogFile::Other => {}
        }
    }
    Ok((segments, spares))
}

fn read_all(segments: &[Arc<Segment>], durable: &mut Durable) -> Result<Vec<End>, LogOpenError> {
    let mut ends: Vec<End> = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let next_batch = ends.last().and_then(|end| end.next_batch);
        let mut number = 0;
        let visit = |header: &record::RecordHeader, bytes: &[u8], place: Place| {
            number += 1;
            follow(durable, header, bytes, place, (at == 0, number == 1))
                .map_err(|detail| LogOpenError::corrupt(&segment.path, place.offset.into(), detail))
        };
        let end = scan::scan(segment, next_batch, visit)?;
        let before = at.checked_sub(1).map(|before| (&segments[before], &ends[before]));
        if let Some((segment, before)) = before
            && end.batches > 0
            && (before.batches == 0 || before.torn.is_some())
        {
            let detail = "not a valid batch, but the next segment was written after it";
            return Err(LogOpenError::corrupt(&segment.path, before.offset, detail));
        }
        ends.push(end);
    }
    Ok(ends)
}

/// Follows one record; the first of each segment says what the log amounts to before it.
fn follow(
    durable: &mut Durable,
    header: &record::RecordHeader,
    bytes: &[u8],
    place: Place,
    (first_segment, first_record): (bool, bool),
) -> Result<(), String> {
    if first_record != (header.kind == RecordKind::Base) {
        return Err("the record that starts a segment is missing or out of place".to_owned());
    }
    if !first_record {
        return durable.apply(header, place);
    }
    let purged: Option<LogId> =
        postcard::from_bytes(header.payload(bytes)).map_err(|error| error.to_string())?;
    if first_segment {
        durable.purged = purged;
        durable.last = header.position;
    }
    if (durable.purged, durable.last) != (purged, header.position) {
        return Err("the segment does not continue the one before it".to_owned());
    }
    Ok(())
}

/// Blanks the batch that a crash tore.
async fn blank_torn_batch(segment: &Segment, end: &End) -> Result<(), LogOpenError> {
    let Some(torn) = end.torn else { return Ok(()) };
    tracing::warn!(
        path = %segment.path.display(),
        offset = end.offset,
        bytes = torn,
        "cut a torn write off the log's end; it had not been acknowledged"
    );
    let mut offset = end.offset;
    while offset < end.offset + torn {
        let bytes = (end.offset + torn - offset).min(BATCH_BYTES as u64);
        let zeros = vec![0; usize::try_from(bytes).expect("bounded by a small constant")];
        segment.file.write_at(offset, &zeros).map_err(LogOpenError::io(&segment.path))?;
        offset += bytes;
    }
    segment.file.sync_data().await.map_err(LogOpenError::io(&segment.path))
}

/// Writes the last batch once more and syncs it. If the process died before the sync, or the sync
/// failed, the batch may be nowhere but in the system's cache, where nothing tells it from a
/// durable one; a failed sync even leaves it marked as clean.
async fn rewrite_last_batch(segment: &Segment, end: &End) -> Result<(), LogOpenError> {
    let length = usize::try_from(end.offset - end.last).expect("segments fit into memory");
    if length == 0 {
        return Ok(());
    }
    let mut batch = vec![0; length];
    segment.file.read_at(end.last, &mut batch).map_err(LogOpenError::io(&segment.path))?;
    segment.file.write_at(end.last, &batch).map_err(LogOpenError::io(&segment.path))?;
    segment.file.sync_data().await.map_err(LogOpenError::io(&segment.path))
}

/// Nothing may be missing before the first segment or after the last batch.
fn check_complete(
    options: &LogOptions,
    recovered: &RecoveredLog,
    first: &Segment,
    position: &WritePosition,
) -> Result<(), LogOpenError> {
    let durable = &recovered.durable;
    let purged = durable.purged.map_or(0, |purged| purged.index + 1);
    let before = first.header.sequence.saturating_sub(1);
    if before > 0 && durable.first().unwrap_or(durable.next()) > purged {
        return Err(LogOpenError::Missing { path: segment::path(&options.directory, before) });
    }
    let committed = recovered.hard.saved.map_or(0, |committed| committed.index + 1);
    if committed > durable.next() {
        let detail = format!(
            "the log ends before entry {}, but entries up to {} had been durable and committed",
            durable.next(),
            committed - 1
        );
        return Err(LogOpenError::corrupt(&position.segment.path, position.offset, detail));
    }
    Ok(())
}
