//! A file at whose end bytes are written, past the page cache where that is possible.
//!
//! A busy trail writes tens of megabytes a second that nobody reads soon. Through the cache each of them costs more than to make
//! the events, and pushes out what others would read again. So whole blocks of what is long go to the disk directly, as far as the
//! file system takes that (not all do); what is short, and what is before and behind the blocks, goes the ordinary way.
//!
//! Invariants: bytes lie in the file in the order in which they came, and begin on a line of their own, whatever an end of the process or
//! a full disk has left there; as far as the file can be cut, it ends where it ended before after a failure, and it is never made longer.
//! After a power cut, the end of what was written the ordinary way (a block at most) may be missing before blocks that are there.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// What places in a direct write, in the file and in memory, are multiples of. A disk with larger blocks refuses such writes.
const BLOCK_BYTES: usize = 4096;
/// Bytes that are written directly in one go.
const PIECE_BYTES: usize = 512 << 10;
/// Fewer bytes than this go through the cache.
const LONG_BYTES: usize = 128 << 10;

/// The mode of a file that is made here.
const PRIVATE: u32 = 0o600;

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
    /// Opens a file, or makes one that is its owner's only: it may hold what others must not read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).read(true).append(true).mode(PRIVATE).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, direct: Direct::open(path), size })
    }

    /// How long the file was when something was written last.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Writes lines behind what is there.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        // Others may have cut it.
        let before = self.file.metadata()?.len();
        let written = self.end_line(before).and_then(|begin| {
            self.write(begin, lines)?;
            Ok(begin + lines.len() as u64)
        });
        self.size = *written.as_ref().unwrap_or(&before);
        if written.is_err() && self.file.metadata().is_ok_and(|now| now.len() > before) {
            // The next lines begin behind a torn one if even that fails.
            self.file.set_len(before).ok();
        }
        written.map(drop)
    }

    /// Ends a line that was not written whole. Gives the length of the file.
    fn end_line(&mut self, size: u64) -> io::Result<u64> {
        let mut last = *b"\n";
        if size > 0 {
            self.file.read_exact_at(&mut last, size - 1)?;
        }
        if last == *b"\n" {
            return Ok(size);
        }
        self.file.write_all(b"\n")?;
        Ok(size + 1)
    }

    fn write(&mut self, begin: u64, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        if let Some(direct) = self.direct.as_mut().filter(|_| bytes.len() >= LONG_BYTES) {
            let over = usize::try_from(begin % BLOCK_BYTES as u64).map_err(io::Error::other)?;
            let (before, blocks) = bytes.split_at((BLOCK_BYTES - over) % BLOCK_BYTES);
            self.file.write_all(before)?;
            let blocks = &blocks[..blocks.len() / BLOCK_BYTES * BLOCK_BYTES];
            let written = direct.write(blocks);
            if written < blocks.len() {
                // Whatever is wrong, the ordinary way finds out as well, or does without.
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
        let file = File::options().append(true).custom_flags(libc::O_DIRECT).open(path).ok()?;
        Some(Self { file, buffer: Vec::new() })
    }

    #[cfg(not(target_os = "linux"))]
    fn open(_: &Path) -> Option<Self> {
        None
    }

    /// Writes blocks as far as the file system takes them; says how many bytes it has taken.
    fn write(&mut self, blocks: &[u8]) -> usize {
        self.buffer.resize(PIECE_BYTES + BLOCK_BYTES, 0);
        let begin = self.buffer.as_ptr().align_offset(BLOCK_BYTES);
        let mut taken = 0;
        while taken < blocks.len() {
            let piece = &blocks[taken..blocks.len().min(taken + PIECE_BYTES)];
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
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    /// Bytes that differ from block to block.
    fn bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| u8::try_from((at / 97 + at) % 251).unwrap()).collect()
    }

    /// Whether files here can be written directly at all.
    fn takes_direct(folder: &Path) -> bool {
        let path = folder.join("probe");
        std::fs::write(&path, b"").unwrap();
        Direct::open(&path).is_some_and(|mut direct| direct.write(&[7; BLOCK_BYTES]) == BLOCK_BYTES)
    }

    #[test]
    fn what_is_written_lies_behind_each_other() {
        let check = |lengths: &[usize], is_direct: bool| {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("log");
            std::fs::write(&path, b"there\n").unwrap();
            let mut appender = Appender::open(&path).unwrap();
            if !is_direct {
                appender.direct = None;
            }
            let mut expect = b"there\n".to_vec();
            for length in lengths {
                let mut bytes = bytes(*length);
                bytes.extend_from_slice(b"\n");
                appender.append(&bytes).unwrap();
                expect.extend_from_slice(&bytes);
                assert_eq!(appender.size(), expect.len() as u64);
            }
            assert!(std::fs::read(&path).unwrap() == expect, "{lengths:?} {is_direct}");
            assert_eq!(appender.direct.is_some(), is_direct && takes_direct(folder.path()));
        };
        for is_direct in [true, false] {
            check(&[0, 1, LONG_BYTES, 7, LONG_BYTES - 1, 0], is_direct);
            check(&[BLOCK_BYTES - 5, LONG_BYTES, LONG_BYTES + BLOCK_BYTES], is_direct);
            check(&[3 * PIECE_BYTES + 1, PIECE_BYTES, 2 * PIECE_BYTES - 6], is_direct);
        }
    }

    #[test]
    fn whatever_others_leave_at_the_end_a_line_begins_behind_it() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        let mut appender = Appender::open(&path).unwrap();
        let bytes = [&bytes(LONG_BYTES)[..], b"\n"].concat();
        for (left, expect) in [(&b""[..], &b""[..]), (b"torn", b"torn\n"), (b"whole\n", b"whole\n")] {
            std::fs::write(&path, left).unwrap();
            appender.append(&bytes).unwrap();
            appender.append(b"next\n").unwrap();
            assert!(std::fs::read(&path).unwrap() == [expect, &bytes, b"next\n"].concat());
        }
    }

    #[test]
    fn a_file_is_its_owners_only_unless_it_was_there() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        let check = |expect: u32| {
            Appender::open(&path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, expect);
        };
        check(0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        check(0o640);
    }

    #[test]
    fn blocks_that_are_not_taken_go_the_ordinary_way() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        let mut appender = Appender::open(&path).unwrap();
        // Only for reading: every direct write fails.
        appender.direct = Some(Direct { file: File::open(&path).unwrap(), buffer: Vec::new() });
        let bytes = [&bytes(LONG_BYTES)[..], b"\n"].concat();
        appender.append(&bytes).unwrap();
        assert!(appender.direct.is_none());
        assert!(std::fs::read(&path).unwrap() == bytes);
    }

    #[test]
    fn what_was_not_written_whole_is_not_there() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log");
        let mut appender = Appender::open(&path).unwrap();
        appender.append(b"whole\n").unwrap();
        let writing = std::mem::replace(&mut appender.file, File::open(&path).unwrap());
        appender.append(b"never\n").unwrap_err();
        assert_eq!(appender.size(), 6);
        appender.file = writing;
        appender.append(b"next\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole\nnext\n");
    }
}
