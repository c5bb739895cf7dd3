//! A log segment, and the names of the log's files.
//!
//! A segment is shared by the writer, the index and reads in flight; a holder can read it, so a
//! segment is used again only when nothing else holds it. This file neither decides when nor checks
//! records.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quorate_env::disk::{Disk, File};

use super::error::LogOpenError;
use super::options::LogIdentity;
use super::segment_header::{self, SegmentHeader};

/// An open segment.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) header: SegmentHeader,
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn File>,
    /// Where the checksums in it start from.
    pub(super) seed: u32,
}

/// What a file in the log's folder is, by its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogFile {
    /// `segment-SEQUENCE.log`, part of the log.
    Segment(u64),
    /// `spare-SEQUENCE.log`, a purged segment to be used again.
    Spare,
    /// `*.tmp`, never finished.
    Unfinished,
    /// Not the business of segments.
    Other,
}

impl Segment {
    pub(super) fn new(header: SegmentHeader, path: PathBuf, file: Arc<dyn File>) -> Self {
        Self { seed: header.seed(), header, path, file }
    }

    /// Opens the segment that the file name says is number `sequence`.
    pub(super) fn open(
        disk: &dyn Disk,
        path: &Path,
        sequence: u64,
        identity: LogIdentity,
    ) -> Result<Self, LogOpenError> {
        let file = disk.open(path).map_err(LogOpenError::io(path))?;
        let length = file.length().map_err(LogOpenError::io(path))?;
        let mut bytes = [0; segment_header::USED_BYTES];
        match file.read_at(0, &mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(LogOpenError::corrupt(path, length, "the file ends inside its header"));
            }
            other => other.map_err(LogOpenError::io(path))?,
        }
        let header = SegmentHeader::decode(&bytes, path, identity)?;
        if header.sequence != sequence {
            let detail = format!(
                "the header says segment {:016x}, another than the file name",
                header.sequence
            );
            return Err(LogOpenError::corrupt(path, 0, detail));
        }
        if header.length > length {
            let detail = format!("the file ends here; its header says {} bytes", header.length);
            return Err(LogOpenError::corrupt(path, length, detail));
        }
        Ok(Self::new(header, path.to_owned(), file))
    }
}

/// The file of a segment.
pub(super) fn path(directory: &Path, sequence: u64) -> PathBuf {
    directory.join(format!("segment-{sequence:016x}.log"))
}

/// Where a purged segment waits to be used again.
pub(super) fn spare_path(directory: &Path, sequence: u64) -> PathBuf {
    directory.join(format!("spare-{sequence:016x}.log"))
}

/// Where a new segment is made.
pub(super) fn unfinished_path(directory: &Path, sequence: u64) -> PathBuf {
    directory.join(format!("segment-{sequence:016x}.tmp"))
}

/// What a file is, by its name.
pub(super) fn classify(path: &Path) -> LogFile {
    if path.extension() == Some(OsStr::new("tmp")) {
        return LogFile::Unfinished;
    }
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let sequence = |prefix| {
        name.strip_prefix(prefix)?
            .strip_suffix(".log")
            .and_then(|hex| u64::from_str_radix(hex, 16).ok())
    };
    match (sequence("segment-"), sequence("spare-")) {
        (Some(sequence), _) => LogFile::Segment(sequence),
        (_, Some(_)) => LogFile::Spare,
        _ => LogFile::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_are() {
        let folder = Path::new("log");
        assert_eq!(classify(&path(folder, 17)), LogFile::Segment(17));
        assert_eq!(classify(&spare_path(folder, 17)), LogFile::Spare);
        assert_eq!(classify(&unfinished_path(folder, 17)), LogFile::Unfinished);
        assert_eq!(classify(&folder.join("vote")), LogFile::Other);
        assert_eq!(classify(&folder.join("segment-x.log")), LogFile::Other);
    }
}
