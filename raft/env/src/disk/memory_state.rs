//! The content of a [`MemoryDisk`](super::MemoryDisk): inodes, names and the faults still to come.
//!
//! Invariants: a name is durable once its folder was synced; every mutating call is counted, and
//! none succeeds after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::faults::Faults;
use super::inode::Inode;

/// Paths and the numbers of their inodes.
pub(super) type Names = BTreeMap<PathBuf, usize>;

/// Files, names, faults and locks.
#[derive(Debug, Default)]
pub(super) struct MemoryState {
    pub(super) inodes: Vec<Inode>,
    pub(super) names: Names,
    pub(super) durable_names: Names,
    pub(super) name_changes: Vec<NameChange>,
    pub(super) faults: Faults,
    pub(super) calls: u64,
    pub(super) crashed: bool,
    pub(super) locks: BTreeSet<PathBuf>,
}

/// A change of a name that its folder was not synced after.
#[derive(Debug, Clone)]
pub(super) enum NameChange {
    Link(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl NameChange {
    pub(super) fn apply(&self, names: &mut Names) {
        match self {
            Self::Link(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            Self::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Self::Remove(path) => {
                names.remove(path);
            }
        }
    }
}

impl MemoryState {
    pub(super) fn alive(&self) -> io::Result<()> {
        if self.crashed {
            Err(io::Error::other("the simulated machine has lost power"))
        } else {
            Ok(())
        }
    }

    /// Counts a mutating call. True when the power is cut during it.
    pub(super) fn mutate(&mut self) -> io::Result<bool> {
        self.alive()?;
        self.calls += 1;
        self.crashed = self.faults.crashes_now();
        Ok(self.crashed)
    }

    pub(super) fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        self.mutate()?;
        change.apply(&mut self.names);
        self.name_changes.push(change);
        self.alive()
    }

    pub(super) fn used(&self) -> usize {
        self.names.values().map(|&inode| self.inodes[inode].current().len()).sum()
    }

    pub(super) fn inode(&self, path: &Path) -> io::Result<usize> {
        self.alive()?;
        self.names.get(path).copied().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    pub(super) fn write(&mut self, inode: usize, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.mutate()?;
        let growth = (offset + bytes.len()).saturating_sub(self.inodes[inode].current().len());
        if growth > 0
            && self.faults.capacity.is_some_and(|capacity| self.used() + growth > capacity)
        {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.inodes[inode].write(offset, bytes);
        self.alive()
    }

    pub(super) fn sync(&mut self, inode: usize) -> io::Result<()> {
        if self.mutate()? {
            return self.alive();
        }
        let folder = self
            .names
            .iter()
            .find(|(_, named)| **named == inode)
            .and_then(|(path, _)| path.parent());
        if self.faults.sync_fails_now(folder) {
            self.inodes[inode].lose_unsynced();
            return Err(io::Error::other("simulated sync failure"));
        }
        self.inodes[inode].sync();
        Ok(())
    }
}
