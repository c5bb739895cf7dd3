//! Damage to a member's files while it is down: flipped bits and lost ends, in its log, its vote
//! and its state.
//!
//! A member whose disk has decayed must refuse to start, or start with nothing wrong. It counts as
//! lost in any case: a start cannot tell the decay of the last write from a write that a crash
//! tore; so the operator keeps it away from the others and replaces it. An older copy of a whole
//! disk, see `Cluster::go_back`, a start can tell, with the help of the others.

use std::fmt::Display;
use std::io;
use std::path::Path;

use quorate_env::disk::{Disk, MemoryDisk};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Where files decay, and what that is called.
#[derive(Clone, Copy)]
struct Kinds {
    folder: &'static str,
    cut_off: &'static str,
    flipped: &'static str,
}

const LOGS: Kinds =
    Kinds { folder: "log", cut_off: "logs cut off", flipped: "logs with flipped bits" };
const STATES: Kinds =
    Kinds { folder: "state", cut_off: "states cut off", flipped: "states with flipped bits" };

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
    let kinds = if rng.random_ratio(3, 5) { LOGS } else { STATES };
    damage_one(disk, &Path::new(folder).join(kinds.folder), kinds, &mut rng)
}

impl Damage {
    fn new(kind: &'static str, path: &Path, offset: impl Display) -> Self {
        Self { kind, place: format!("{} at {offset}", path.display()) }
    }
}

fn damage_one(
    disk: &MemoryDisk,
    folder: &Path,
    kinds: Kinds,
    rng: &mut StdRng,
) -> io::Result<Option<Damage>> {
    let files = disk.list(folder)?;
    let Some(path) = files.choose(rng) else {
        return Ok(None);
    };
    let length = usize::try_from(disk.open(path)?.length()?).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(None);
    }
    let offset = rng.random_range(0..length);
    if rng.random_ratio(1, 4) {
        disk.truncate(path, offset);
        return Ok(Some(Damage::new(kinds.cut_off, path, offset)));
    }
    disk.corrupt(path, offset);
    Ok(Some(Damage::new(kinds.flipped, path, offset)))
}
