//! The journals of states, which are real files: what of them is durable, and what a power cut leaves.
//!
//! Invariants: durable is what a journal held when a sync of it was last carried out; a power cut picks for each sector, independently, the
//! durable content or that of the moment. What a library syncs while its process is being killed does not count: a killed process
//! does nothing any more. A journal changes at its end only: when the end is where it was before, a sync reads what is new after it. Only
//! journals are concerned: whatever else a state's folder holds is written with its sync in one go.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// What a power cut keeps or loses as a whole, bytes.
const SECTOR_BYTES: usize = 512;
/// Bytes of a journal that are read at once; more than any batch has of zeros.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes at the end of a journal that are never the same by chance: batches are numbered.
const END_BYTES: usize = 4 << 10;

/// What is known of all journals of this process.
pub(crate) struct Journals {
    known: Mutex<Known>,
}

struct Known {
    /// What is durable, without the zeros at its end.
    durable: BTreeMap<PathBuf, Vec<u8>>,
    /// Syncs are answered and not carried out.
    deaf: bool,
    /// The folders of states whose next sync fails.
    failing: BTreeSet<PathBuf>,
    lost: u64,
}

impl Journals {
    /// Knows nothing yet.
    pub(crate) const fn new() -> Self {
        Self { known: Mutex::new(Known { durable: BTreeMap::new(), deaf: false, failing: BTreeSet::new(), lost: 0 }) }
    }

    /// A file is synced. Nothing unless it is a journal. False when that fails: nothing is durable then that was not before.
    pub(crate) fn sync(&self, path: &Path) -> bool {
        let mut known = self.known.lock();
        if !is_journal(path) || known.deaf {
            return true;
        }
        if path.parent().is_some_and(|state| known.failing.remove(state)) {
            return false;
        }
        let before = known.durable.remove(path).unwrap_or_default();
        if let Ok(content) = content(path, before) {
            known.durable.insert(path.to_owned(), content);
        }
        true
    }

    /// The next sync of a journal of this state fails, or need not any more. Nothing when there is no such state.
    pub(crate) fn fail_next_sync(&self, state: &Path, fails: bool) {
        let Ok(state) = fs::canonicalize(state) else { return };
        let mut known = self.known.lock();
        if fails {
            known.failing.insert(state);
        } else {
            known.failing.remove(&state);
        }
    }

    /// Syncs are carried out from now on, or not.
    pub(crate) fn set_deaf(&self, deaf: bool) {
        self.known.lock().deaf = deaf;
    }

    /// Kills a process: what it syncs in its last moment does not count.
    pub(crate) fn kill(&self, kill: impl FnOnce()) {
        let deaf = std::mem::replace(&mut self.known.lock().deaf, true);
        kill();
        self.set_deaf(deaf);
    }

    /// The power goes: a state's journals become what is found afterwards, and their syncs succeed again. To be called after
    /// [`Journals::kill`].
    pub(crate) fn cut_power(&self, state: &Path, seed: u64) -> io::Result<()> {
        let state = match fs::canonicalize(state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let mut rng = StdRng::seed_from_u64(seed);
        let mut journals: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(&state)? {
            journals.extend(Some(entry?.path()).filter(|path| is_journal(path)));
        }
        journals.sort();
        let mut known = self.known.lock();
        known.failing.remove(&state);
        for path in journals {
            let now = content(&path, Vec::new())?;
            let durable = known.durable.get(&path).map_or(&[][..], Vec::as_slice);
            let found = after_power_cut(durable, &now, &mut rng);
            let file = OpenOptions::new().write(true).open(&path)?;
            let differs = |(sector, found): &(usize, &[u8])| *found != sector_of(&now, *sector);
            let lost: Vec<_> = found.chunks(SECTOR_BYTES).enumerate().filter(differs).collect();
            for (sector, content) in &lost {
                file.write_all_at(content, (sector * SECTOR_BYTES) as u64)?;
            }
            known.lost += lost.len() as u64;
            known.durable.insert(path, found);
        }
        Ok(())
    }

    /// Everything in this folder is durable as it is, and nothing else ever was.
    pub(crate) fn settle(&self, state: &Path) -> io::Result<()> {
        let state = fs::canonicalize(state)?;
        let mut known = self.known.lock();
        known.durable.retain(|path, _| !path.starts_with(&state));
        for entry in fs::read_dir(&state)? {
            let path = entry?.path();
            if is_journal(&path) {
                known.durable.insert(path.clone(), content(&path, Vec::new())?);
            }
        }
        Ok(())
    }

    /// Sectors that power cuts have changed back.
    pub(crate) fn lost(&self) -> u64 {
        self.known.lock().lost
    }
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jnl")
}

/// Copies a file without giving its empty end room.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::write(to, content(from, Vec::new())?)?;
    OpenOptions::new().write(true).open(to)?.set_len(fs::metadata(from)?.len())
}

/// A journal from its start to the last byte that is not zero; `before` is what it was. It is made much longer than it needs to be, and has no
/// holes in front.
fn content(path: &Path, before: Vec<u8>) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut content = if ends_with(&file, &before) { before } else { Vec::new() };
    while content.len() < length {
        let start = content.len();
        content.resize((start + CHUNK_BYTES).min(length), 0);
        file.read_exact_at(&mut content[start..], start as u64)?;
        if content[start..].iter().all(|byte| *byte == 0) {
            break;
        }
    }
    content.truncate(content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    Ok(content)
}

/// Whether the end of this is still there, and where it was.
fn ends_with(file: &File, before: &[u8]) -> bool {
    let end = &before[before.len().saturating_sub(END_BYTES)..];
    let mut found = vec![0; end.len()];
    file.read_exact_at(&mut found, (before.len() - end.len()) as u64).is_ok() && found == end
}

fn after_power_cut(durable: &[u8], now: &[u8], rng: &mut StdRng) -> Vec<u8> {
    let sectors = durable.len().max(now.len()).div_ceil(SECTOR_BYTES);
    let sector = |sector| sector_of(if rng.random() { durable } else { now }, sector);
    (0..sectors).flat_map(sector).collect()
}

fn sector_of(bytes: &[u8], sector: usize) -> [u8; SECTOR_BYTES] {
    let start = (sector * SECTOR_BYTES).min(bytes.len());
    let end = (start + SECTOR_BYTES).min(bytes.len());
    let mut content = [0; SECTOR_BYTES];
    content[..end - start].copy_from_slice(&bytes[start..end]);
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cut_keeps_what_was_synced_and_tears_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let (path, journals) = (fs::canonicalize(folder.path()).unwrap().join("7.jnl"), Journals::new());
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&[1; 1000], 0).unwrap();
        assert!(journals.sync(&path));
        file.write_all_at(&[2; 40 * SECTOR_BYTES], 1000).unwrap();
        journals.fail_next_sync(folder.path(), true);
        assert!(!journals.sync(&path));
        journals.kill(|| assert!(journals.sync(&path)));
        journals.cut_power(folder.path(), 1).unwrap();
        let found = content(&path, Vec::new()).unwrap();
        assert_eq!(found[..1000], [1; 1000]);
        let kept = found.chunks(SECTOR_BYTES).filter(|sector| sector.contains(&2)).count();
        assert!((5..35).contains(&kept), "{kept} of 40 sectors");
        assert!(journals.lost() > 5);
        assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
        journals.cut_power(folder.path(), 2).unwrap();
        assert_eq!(content(&path, Vec::new()).unwrap(), found, "what was found after the first is durable");
    }

    #[test]
    fn what_is_durable_follows_a_journal_that_grows_or_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let (path, journals) = (fs::canonicalize(folder.path()).unwrap().join("7.jnl"), Journals::new());
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        let check = |bytes: &[u8], offset: u64, expect: &[(usize, u8)]| {
            file.write_all_at(bytes, offset).unwrap();
            assert!(journals.sync(&path));
            let durable = journals.known.lock().durable[&path].clone();
            let expect: Vec<u8> = expect.iter().flat_map(|(count, byte)| vec![*byte; *count]).collect();
            assert_eq!(durable, expect);
        };
        check(&[1; 1000], 0, &[(1000, 1)]);
        check(&[2; 100_000], 1000, &[(1000, 1), (100_000, 2)]);
        check(&[], 0, &[(1000, 1), (100_000, 2)]);
        file.set_len(500).unwrap();
        check(&[3; 100], 500, &[(500, 1), (100, 3)]);
        file.set_len(550).unwrap();
        check(&[4; 100_000], 550, &[(500, 1), (50, 3), (100_000, 4)]);
        file.set_len(600).unwrap();
        check(&[], 0, &[(500, 1), (50, 3), (50, 4)]);
    }
}
