//! A copy of a member's whole disk, taken while it runs, and put back later: what a backup, or a machine's snapshot, does.
//!
//! Invariant: a copy is what a killed process would find at that moment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use quorate_raft::disk::MemoryDisk;

use crate::determinism::JOURNALS;
use crate::journals;

/// See the module.
pub(crate) struct Backup {
    log: MemoryDisk,
    state: PathBuf,
}

impl Backup {
    /// Of this log's disk and of the state in this folder. One at a time for each folder.
    pub(crate) fn take(log: &MemoryDisk, state: &Path) -> io::Result<Self> {
        let copy = state.with_extension("copy");
        replace(state, &copy)?;
        Ok(Self { log: log.copy(), state: copy })
    }

    /// Puts it back, while no process runs. Gives the log's disk.
    pub(crate) fn put_back(self, state: &Path) -> io::Result<MemoryDisk> {
        replace(&self.state, state)?;
        JOURNALS.settle(state)?;
        Ok(self.log)
    }
}

/// Makes a folder a copy of another one.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        if path.is_dir() { replace(&path, &to.join(name))? } else { journals::copy(&path, &to.join(name))? }
    }
    Ok(())
}
