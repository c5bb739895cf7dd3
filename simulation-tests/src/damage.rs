//! Decay of a member's files while it is down: flipped bits and lost ends, in its log, its vote and its state.
//!
//! A member whose disk has decayed must refuse to start, or start with nothing wrong. It counts as lost in any case: a start cannot tell the
//! decay of the last write from a write that a crash tore; so the operator keeps it away from the others and replaces it. An older copy of
//! a whole disk, see `backup`, a start can tell, with the help of the others.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use quorate_raft::disk::{Disk, MemoryDisk};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Where in the state's files bits flip: their first bytes, which have something in them.
const FILLED_BYTES: u64 = 100_000;

/// What was done to a file.
#[derive(Debug)]
pub(crate) struct Damage {
    /// Of which files, and what, as reports count it.
    pub(crate) kind: &'static str,
    /// The file, and where.
    pub(crate) place: String,
}

/// Damages one file of a member. `None` when there was nothing to damage.
pub(crate) fn damage(disk: &MemoryDisk, folder: &str, seed: u64) -> io::Result<Option<Damage>> {
    let mut rng = StdRng::seed_from_u64(seed);
    if rng.random_ratio(3, 5) {
        damage_log(disk, &Path::new(folder).join("log"), &mut rng)
    } else {
        damage_state(&Path::new(folder).join("state"), &mut rng)
    }
}

impl Damage {
    fn new(kind: &'static str, path: &Path, offset: impl Display) -> Self {
        Self { kind, place: format!("{} at {offset}", path.display()) }
    }
}

fn damage_log(disk: &MemoryDisk, folder: &Path, rng: &mut StdRng) -> io::Result<Option<Damage>> {
    let files = disk.list(folder)?;
    let Some(path) = files.choose(rng) else { return Ok(None) };
    let length = usize::try_from(disk.open(path)?.length()?).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(None);
    }
    let offset = rng.random_range(0..length);
    if rng.random_ratio(1, 4) {
        disk.truncate(path, offset);
        return Ok(Some(Damage::new("logs cut off", path, offset)));
    }
    disk.corrupt(path, offset);
    Ok(Some(Damage::new("logs with flipped bits", path, offset)))
}

fn damage_state(folder: &Path, rng: &mut StdRng) -> io::Result<Option<Damage>> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let Some(path) = files.choose(rng) else { return Ok(None) };
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len().min(FILLED_BYTES);
    if length == 0 {
        return Ok(None);
    }
    let offset = rng.random_range(0..length);
    if rng.random_ratio(1, 4) {
        file.set_len(offset)?;
        return Ok(Some(Damage::new("states cut off", path, offset)));
    }
    flip(&file, offset)?;
    Ok(Some(Damage::new("states with flipped bits", path, offset)))
}

fn flip(file: &File, offset: u64) -> io::Result<()> {
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset)?;
    file.write_all_at(&[!byte[0]], offset)
}

/// All files in a folder and below.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}
