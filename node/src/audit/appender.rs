//! An append-only file of lines, written past the page cache (`O_DIRECT`) where that is possible.
//!
//! A busy audit log writes tens of megabytes a second that are not read soon. Through the page
//! cache each of them costs more than making the events, and evicts pages that other programs read
//! again. So a long write goes from memory to the disk in whole blocks, without a copy, where the
//! file system supports that. Such blocks must be aligned in memory and in the file: the last line
//! of a long write is padded with blanks, which JSON allows, so that the next write begins at a
//! block. Short writes go through the page cache.
//!
//! Invariants: writes stand in the file in their order, and each begins on a line of its own, even
//! after a killed process or a full disk has left half a line; a failed write is cut off again
//! where the file can be truncated. After a power cut, zeros may stand where bytes went through the
//! page cache (the end of a long write, or a write that did not begin at a block), before blocks
//! that were written directly.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use quorate_api::audit::BLOCK_BYTES;

/// Bytes from which on a write is long: shorter ones go through the page cache.
const LONG_BYTES: usize = 128 << 10;

/// The mode of a file that is made here.
const PRIVATE: u32 = 0o600;

/// A file that is only appended to.
pub(super) struct Appender {
    file: File,
    /// The same file, if the disk may take bytes directly.
    direct: Option<File>,
    size: u64,
}

impl Appender {
    /// Opens a file, or makes one that is its owner's only: it may hold what others must not read.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).read(true).append(true).mode(PRIVATE).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, direct: open_direct(path), size })
    }

    /// How long the file was when something was written last.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// How long it will be after so many bytes of further lines, if no other process changes it.
    pub(super) fn size_with(&self, bytes: usize) -> u64 {
        let size = self.size + bytes as u64;
        if self.fills_up(bytes) { size.next_multiple_of(BLOCK_BYTES as u64) } else { size }
    }

    /// Writes lines behind what is there.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        // Another process may have truncated it.
        let before = self.file.metadata()?.len();
        let written = self.end_line(before).and_then(|begin| self.write(begin, lines));
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

    /// Writes lines from here on. Gives the length of the file then.
    fn write(&mut self, begin: u64, lines: &[u8]) -> io::Result<u64> {
        let mut rest = lines;
        if self.fills_up(lines.len())
            && begin.is_multiple_of(BLOCK_BYTES as u64)
            && begins_a_block(lines)
        {
            rest = &lines[self.write_blocks(lines)..];
        }
        let end = begin + lines.len() as u64;
        let blanks = if self.fills_up(lines.len()) {
            end.next_multiple_of(BLOCK_BYTES as u64) - end
        } else {
            0
        };
        match rest.strip_suffix(b"\n") {
            Some(line) if blanks > 0 => {
                self.file.write_all(line)?;
                self.file.write_all(&line_end(blanks))?;
                Ok(end + blanks)
            }
            _ => {
                self.file.write_all(rest)?;
                Ok(end)
            }
        }
    }

    /// Whether the last of so many bytes of lines is filled up.
    fn fills_up(&self, bytes: usize) -> bool {
        self.direct.is_some() && bytes >= LONG_BYTES
    }

    /// Writes the whole blocks directly, where the file system supports that; returns the bytes
    /// that were written.
    fn write_blocks(&mut self, lines: &[u8]) -> usize {
        let Some(mut direct) = self.direct.take() else {
            return 0;
        };
        let blocks = &lines[..lines.len() / BLOCK_BYTES * BLOCK_BYTES];
        let mut taken = 0;
        while taken < blocks.len() {
            match direct.write(&blocks[taken..]) {
                Ok(written) if written > 0 && written.is_multiple_of(BLOCK_BYTES) => {
                    taken += written
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The write through the page cache meets the same error, or does not need direct
                // writes.
                Ok(written) => return taken + written,
                Err(_) => return taken,
            }
        }
        self.direct = Some(direct);
        taken
    }
}

/// Opens a file for what the disk takes directly.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> Option<File> {
    File::options().append(true).custom_flags(libc::O_DIRECT).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_: &Path) -> Option<File> {
    None
}

/// Whether the bytes are aligned in memory for a direct write.
fn begins_a_block(bytes: &[u8]) -> bool {
    bytes.as_ptr().align_offset(BLOCK_BYTES) == 0
}

/// The end of a line, behind so many blanks.
fn line_end(blanks: u64) -> Vec<u8> {
    (0..blanks).map(|_| b' ').chain([b'\n']).collect()
}
