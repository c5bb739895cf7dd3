//! What a crash can leave in the database's folder that the database does not put right by itself.
//!
//! Three cases. A kill while the folder is being made leaves a journal without a version marker: nothing was ever stored, so the
//! journal goes. A power cut leaves holes in the newest journal, behind its last sync, when the disk wrote later pages
//! first: the database takes a hole inside a record for damage, or for a length, although everything from there on was never
//! promised to anybody. The journal then ends before its first broken batch, and the log supplies the rest; if it cannot, because the
//! broken part had been synced, that is damage (see `note`), and the node does not start. And a sync that failed leaves bytes in the system's
//! cache that no later sync writes: they are written once more. Tied to fjall 3.1's journal format.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use crate::disk::{Disk, File, Lock, SystemDisk, sync_at_once};

/// Written last when a database is created.
const VERSION_FILE: &str = "version";
/// Locked by whoever has the database open.
const LOCK_FILE: &str = "lock";
/// Ends every batch of a journal.
const TRAILER: [u8; 4] = *b"FJL\x03";
/// No record begins with it: the database takes it for the end and cuts the file there.
const END: u8 = 0;
/// Bytes read from a journal, or written to it, at once. Reading begins with fewer: most journals are short.
const READ_BYTES: usize = 1 << 20;
const FIRST_READ_BYTES: usize = 32 << 10;

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

/// Keeps other processes out of a finished database while it is repaired; nothing for one that does not exist yet. `WouldBlock` when one
/// is in.
pub(super) fn lock(directory: &Path) -> io::Result<Option<Lock>> {
    let path = directory.join(LOCK_FILE);
    match SystemDisk.open(&path) {
        Ok(_) => SystemDisk.lock(&path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Ends the newest journal before its first broken batch. Gives the file and the place when there was one. Whether that loses
/// anything that was synced is the caller's to find out (see `note`).
pub(super) fn cut_journal(directory: &Path) -> io::Result<Option<(PathBuf, u64)>> {
    let Some(journal) = newest_journal(&SystemDisk, directory)? else { return Ok(None) };
    if journal.ends() {
        return Ok(None);
    }
    let sound = journal.sound as u64;
    journal.file.write_at(sound, &[END])?;
    Ok(Some((journal.path, sound)))
}

/// Writes what the newest journal holds once more and syncs it. What was written before the last start, and not synced or synced in vain,
/// may be nowhere but in the system's cache; the journals before the newest were synced when it was begun.
pub(super) fn settle_journal(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    let Some(journal) = newest_journal(disk, directory)? else { return Ok(()) };
    for (index, chunk) in journal.bytes[..journal.sound].chunks(READ_BYTES).enumerate() {
        journal.file.write_at((index * READ_BYTES) as u64, chunk)?;
    }
    sync_at_once(&*journal.file)
}

/// A journal, read as far as there are batches in it: the database makes its file longer than that in advance.
struct Journal {
    path: PathBuf,
    file: Arc<dyn File>,
    bytes: Vec<u8>,
    /// How many bytes at the front are whole batches with the right checksums.
    sound: usize,
}

impl Journal {
    fn read(path: PathBuf, file: Arc<dyn File>) -> io::Result<Self> {
        let length = usize::try_from(file.length()?).map_err(io::Error::other)?;
        let mut journal = Self { path, file, bytes: Vec::new(), sound: 0 };
        while journal.bytes.len() < length && !(journal.sound < journal.bytes.len() && journal.ends()) {
            let start = journal.bytes.len();
            let more = start.clamp(FIRST_READ_BYTES, READ_BYTES);
            journal.bytes.resize(length.min(start + more), 0);
            journal.file.read_at(start as u64, &mut journal.bytes[start..])?;
            journal.sound += sound_bytes(&journal.bytes[journal.sound..]);
        }
        Ok(journal)
    }

    /// Whether nothing comes after the whole batches.
    fn ends(&self) -> bool {
        self.bytes.get(self.sound).is_none_or(|byte| *byte == END)
    }
}

fn newest_journal(disk: &dyn Disk, directory: &Path) -> io::Result<Option<Journal>> {
    let number = |path: &Path| path.file_stem()?.to_str()?.parse::<u64>().ok();
    let files = match disk.list(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let journals = files.into_iter().filter(|file| is_journal(file));
    let Some(newest) = journals.max_by_key(|path| number(path)) else { return Ok(None) };
    let file = disk.open(&newest)?;
    Journal::read(newest, file).map(Some)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;

    fn batch(number: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
        let lengths = (u16::try_from(key.len()).unwrap(), u32::try_from(value.len()).unwrap());
        let item = [
            &[2, 0, 0][..],
            &7u64.to_le_bytes(),
            &lengths.0.to_le_bytes(),
            &lengths.1.to_le_bytes(),
            &lengths.1.to_le_bytes(),
            key,
            value,
        ]
        .concat();
        let mut hasher = Xxh3::new();
        hasher.update(&item);
        let start = [&[1][..], &1u32.to_le_bytes(), &number.to_le_bytes()].concat();
        [&start[..], &item, &[3], &hasher.digest().to_le_bytes(), &TRAILER].concat()
    }

    #[test]
    fn whole_batches_count_and_the_rest_does_not() {
        let journal = [batch(1, b"a", b"one"), batch(2, b"b", b"two")].concat();
        let first = batch(1, b"a", b"one").len();
        assert_eq!(sound_bytes(&[&journal[..], &[0; 100]].concat()), journal.len());
        for at in first..journal.len() {
            let mut damaged = journal.clone();
            damaged[at] ^= 1;
            let number = first + 5..first + 13;
            // The number of a batch is under no checksum.
            assert_eq!(sound_bytes(&damaged), if number.contains(&at) { journal.len() } else { first }, "{at}");
        }
        assert_eq!(sound_bytes(&journal[..journal.len() - 1]), first);
    }

    #[test]
    fn what_a_failed_sync_left_in_the_cache_is_made_durable() {
        let folder = Path::new("/state");
        let journal = batch(1, b"key", &[9; 3000]);
        for settled in [false, true] {
            let disk = MemoryDisk::new();
            let file = disk.create(&folder.join("3.jnl")).unwrap();
            disk.create(&folder.join("2.jnl")).unwrap();
            disk.sync_dir(folder).unwrap();
            file.write_at(0, &journal).unwrap();
            disk.fail_sync_after(0);
            sync_at_once(&*file).unwrap_err();
            // The next one says that all is well, and nothing is on the medium.
            sync_at_once(&*file).unwrap();
            if settled {
                settle_journal(&disk, folder).unwrap();
            }
            let found = newest_journal(&disk.crash(1), folder).unwrap().unwrap();
            assert_eq!(found.bytes == journal, settled);
        }
    }

    /// Reads a journal of these bytes.
    fn read(bytes: &[u8]) -> Journal {
        let (disk, path) = (MemoryDisk::new(), Path::new("/state/1.jnl"));
        disk.create(path).unwrap().write_at(0, bytes).unwrap();
        Journal::read(path.to_owned(), disk.open(path).unwrap()).unwrap()
    }

    #[test]
    fn a_journal_is_read_as_far_as_there_is_something_in_it() {
        let sizes = [1, READ_BYTES / 3, 3 * READ_BYTES, 9, READ_BYTES, 2];
        let batches = (1..).zip(sizes).map(|(number, size)| batch(number, b"key", &vec![7; size]));
        let mut journal = batches.collect::<Vec<_>>().concat();
        let sound = journal.len();
        let whole = read(&journal);
        assert!(whole.bytes == journal && whole.sound == sound && whole.ends());
        journal.resize(sound + 5 * READ_BYTES, END);
        let longer = read(&journal);
        assert!(longer.sound == sound && longer.ends() && longer.bytes.len() <= sound + READ_BYTES);
        journal[sound] = 1;
        let broken = read(&journal);
        assert!(broken.sound == sound && !broken.ends());
    }
}
