//! What a crash can leave in the database's folder that the database does not put right by itself.
//!
//! Two cases. A kill while the folder is being made leaves a journal without a version marker: nothing was ever stored, so the
//! journal goes. A power cut leaves holes in the newest journal, behind its last sync, when the disk wrote later pages
//! first: the database takes a hole inside a record for damage and refuses to open, although everything from there on was never
//! promised to anybody. The journal then ends before its first broken batch, and the log supplies the rest; if it cannot, because the
//! broken part was older than the log, openraft says so and the node does not start. Tied to fjall 3.1's journal format.

use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::disk::{Disk, SystemDisk};

/// Written last when a database is created.
const VERSION_FILE: &str = "version";
/// Ends every batch of a journal.
const TRAILER: [u8; 4] = *b"FJL\x03";
/// Bytes read from a journal at once.
const READ_BYTES: usize = 1 << 20;

/// Removes an unfinished database's journal. Does nothing to a finished one, or to a folder that does not exist.
pub(super) fn finish_creation(directory: &Path) -> io::Result<()> {
    let disk = SystemDisk;
    let files = match disk.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let version = directory.join(VERSION_FILE);
    if files.contains(&version) && disk.open(&version)?.length()? > 0 {
        return Ok(());
    }
    files.iter().filter(|file| **file == version || is_journal(file)).try_for_each(|file| disk.remove(file))
}

/// Ends the newest journal before its first broken batch. Gives the file and the place when there was one.
pub(super) fn cut_journal(directory: &Path) -> io::Result<Option<(PathBuf, u64)>> {
    let disk = SystemDisk;
    let number = |path: &Path| path.file_stem()?.to_str()?.parse::<u64>().ok();
    let journals = disk.list(directory)?.into_iter().filter(|file| is_journal(file));
    let Some(newest) = journals.max_by_key(|path| number(path)) else { return Ok(None) };
    let file = disk.open(&newest)?;
    let mut journal = vec![0; usize::try_from(file.length()?).map_err(io::Error::other)?];
    for (index, chunk) in journal.chunks_mut(READ_BYTES).enumerate() {
        file.read_at((index * READ_BYTES) as u64, chunk)?;
    }
    let sound = sound_bytes(&journal);
    if journal.get(sound).is_none_or(|byte| *byte == 0) {
        return Ok(None);
    }
    // No record begins with a zero: the database takes it for the end and cuts the file there.
    file.write_at(sound as u64, &[0])?;
    Ok(Some((newest, sound as u64)))
}

/// How many bytes at the front are whole batches with the right checksums.
fn sound_bytes(journal: &[u8]) -> usize {
    let mut rest = journal;
    while let Some(after) = skip_batch(rest) {
        rest = after;
    }
    journal.len() - rest.len()
}

/// A batch: start (tag 1, item count u32, number u64), items, end (tag 3, xxh3 of the items' bytes u64, trailer).
fn skip_batch(journal: &[u8]) -> Option<&[u8]> {
    let (start, mut rest) = journal.split_first_chunk::<13>()?;
    let [1, c0, c1, c2, c3, ..] = *start else { return None };
    let items = rest;
    for _ in 0..u32::from_le_bytes([c0, c1, c2, c3]) {
        rest = skip_item(rest)?;
    }
    let mut hasher = Xxh3::new();
    hasher.update(&items[..items.len() - rest.len()]);
    let (end, rest) = rest.split_first_chunk::<13>()?;
    let (checksum, trailer) = (hasher.digest().to_le_bytes(), &end[9..]);
    (end[0] == 3 && end[1..9] == checksum && trailer == TRAILER).then_some(rest)
}

/// An item: tag 2, kind u8, compression u8, keyspace u64, key length u16, value length u32, stored length u32, key, value.
fn skip_item(journal: &[u8]) -> Option<&[u8]> {
    let (head, rest) = journal.split_first_chunk::<21>()?;
    let [2, _, _, _, _, _, _, _, _, _, _, k0, k1, _, _, _, _, v0, v1, v2, v3] = *head else { return None };
    let key = usize::from(u16::from_le_bytes([k0, k1]));
    let value = u32::from_le_bytes([v0, v1, v2, v3]) as usize;
    rest.get(key + value..)
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jnl")
}
