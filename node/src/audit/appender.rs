//! A file at whose end bytes are written, past the page cache where that is possible.
//!
//! A busy trail writes tens of megabytes a second that nobody reads soon. Through the cache each of them costs more than to make
//! the events, and pushes out what others would read again. So whole blocks of what is long go to the disk directly, as far as the
//! file system takes that (not all do); what is short, and what is before and behind the blocks, goes the ordinary way.
//!
//! Invariants: bytes lie in the file in the order in which they came; after a failure the file ends where it ended before.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// What places in a direct write, in the file and in memory, are multiples of: the largest block of today's disks.
const BLOCK_BYTES: usize = 4096;
/// Bytes that are written directly in one go.
const PIECE_BYTES: usize = 512 << 10;
/// Fewer bytes than this go through the cache.
const LONG_BYTES: usize = 128 << 10;

/// See the module.
pub(super) struct Appender {
    file: File,
    /// The same file, if bytes may go directly to the disk.
    direct: Option<Direct>,
    size: u64,
}

struct Direct {
    file: File,
    /// Room for a piece that begins at a multiple of the block.
    buffer: Vec<u8>,
}

impl Appender {
    /// Opens a file, or makes one.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, direct: Direct::open(path), size })
    }

    /// How long the file is.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Writes behind what is there.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.write(bytes);
        match written {
            Ok(()) => self.size += bytes.len() as u64,
            Err(_) => self.file.set_len(self.size)?,
        }
        written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        if let Some(direct) = self.direct.as_mut().filter(|_| bytes.len() >= LONG_BYTES) {
            let over = usize::try_from(self.size % BLOCK_BYTES as u64).map_err(io::Error::other)?;
            let (before, blocks) = bytes.split_at((BLOCK_BYTES - over) % BLOCK_BYTES);
            self.file.write_all(before)?;
            let blocks = &blocks[..blocks.len() / BLOCK_BYTES * BLOCK_BYTES];
            let written = direct.write(blocks)?;
            if written < blocks.len() {
                self.direct = None;
            }
            rest = &bytes[before.len() + written..];
        }
        self.file.write_all(rest)
    }
}

impl Direct {
    #[cfg(target_os = "linux")]
    fn open(path: &Path) -> Option<Self> {
        use std::os::unix::fs::OpenOptionsExt;

        let file = File::options().append(true).custom_flags(libc::O_DIRECT).open(path).ok()?;
        Some(Self { file, buffer: Vec::new() })
    }

    #[cfg(not(target_os = "linux"))]
    fn open(_: &Path) -> Option<Self> {
        None
    }

    /// Writes blocks as far as the file system takes them; says how many bytes it has taken.
    fn write(&mut self, blocks: &[u8]) -> io::Result<usize> {
        self.buffer.resize(PIECE_BYTES + BLOCK_BYTES, 0);
        let begin = self.buffer.as_ptr().align_offset(BLOCK_BYTES);
        let mut taken = 0;
        for piece in blocks.chunks(PIECE_BYTES) {
            let Some(aligned) = self.buffer.get_mut(begin..).and_then(|buffer| buffer.get_mut(..piece.len())) else {
                break;
            };
            aligned.copy_from_slice(piece);
            match self.file.write(aligned) {
                Ok(written) => {
                    taken += written;
                    if written < piece.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Bytes that differ from block to block.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| u8::try_from((at / 97 + at) % 251).unwrap()).collect()
    }

    #[test]
    fn what_is_written_lies_behind_each_other() {
        let check = |lengths: &[usize], is_direct: bool| {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("log");
            std::fs::write(&path, b"there").unwrap();
            let mut appender = Appender::open(&path).unwrap();
            if !is_direct {
                appender.direct = None;
            }
            let mut expect = b"there".to_vec();
            for length in lengths {
                let bytes = bytes(*length);
                appender.append(&bytes).unwrap();
                expect.extend_from_slice(&bytes);
                assert_eq!(appender.size(), expect.len() as u64);
            }
            assert!(std::fs::read(&path).unwrap() == expect, "{lengths:?} {is_direct}");
        };
        for is_direct in [true, false] {
            check(&[0, 1, LONG_BYTES, 7, LONG_BYTES - 1, 0], is_direct);
            check(&[BLOCK_BYTES - 5, LONG_BYTES, LONG_BYTES + BLOCK_BYTES], is_direct);
            check(&[3 * PIECE_BYTES + 1, PIECE_BYTES, 2 * PIECE_BYTES - 6], is_direct);
        }
    }

    #[test]
    fn blocks_that_are_not_taken_go_the_ordinary_way() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        let mut appender = Appender::open(&path).unwrap();
        // Somebody else has written meanwhile: the end is not where blocks may begin.
        std::fs::write(&path, b"theirs").unwrap();
        let bytes = bytes(LONG_BYTES);
        appender.append(&bytes).unwrap();
        appender.append(&bytes).unwrap();
        assert!(std::fs::read(&path).unwrap() == [b"theirs", &bytes[..], &bytes].concat());
    }

    #[test]
    fn what_was_not_written_whole_is_not_there() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        let mut appender = Appender::open(&path).unwrap();
        appender.append(b"whole\n").unwrap();
        appender.file.write_all(b"hal").unwrap();
        // Only for reading: what comes now fails.
        appender.direct = Some(Direct { file: File::open(&path).unwrap(), buffer: Vec::new() });
        assert!(appender.append(&bytes(LONG_BYTES)).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"whole\n");
        appender.append(b"next\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole\nnext\n");
    }
}
