//! The state's folder: its owner, its files, and its current generation.
//!
//! A *generation* is one complete copy of the state: journal and checkpoints. A snapshot is
//! received into a new one beside the one that serves, and becomes current by one write to the
//! owner file; any other generation is garbage that the next start removes.
//!
//! Files: `lock`; `owner` and `synced` (`owner_file.rs`); `journal-G-S`, a segment of generation G
//! that begins with frame S (`frame.rs`); `checkpoint-G-S`, the objects as they were after frame S
//! (`checkpoint.rs`); what ends in `.tmp` was never finished. Numbers are 16 hexadecimal digits.
//! Invariant: the owner file is written before anything else is stored.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use quorate_env::disk::{Disk, Lock};

use super::error::StateOpenError;
use super::options::{StateIdentity, StateMachineOptions};
use super::owner_file::{OWNER, Owner, SYNCED};
use crate::cluster::ClusterId;
use crate::types::LogId;

/// Version of everything that is described here and where this points to.
pub(crate) const FORMAT_VERSION: u32 = 4;
/// The oldest version that is read; a folder becomes one of [`FORMAT_VERSION`] when it is opened.
/// What is in it need not be written again: what version 4 has besides may be absent (`record.rs`).
/// Any other version is refused.
pub(crate) const OLDEST_FORMAT: u32 = 3;
/// What the format before had, which was a database of fjall's.
const FORMER_FORMAT: (u32, &str) = (2, "version");
const LOCK_FILE: &str = "lock";
/// The first generation of a new folder.
const FIRST_GENERATION: u64 = 1;

/// A file of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GenerationFile {
    pub(super) kind: FileKind,
    pub(super) generation: u64,
    pub(super) sequence: u64,
}

/// What a file of a generation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    Journal,
    Checkpoint,
}

/// An open folder, which no other process uses.
pub(super) struct Folder {
    pub(super) disk: Arc<dyn Disk>,
    path: PathBuf,
    owner: Mutex<Owner>,
    next_generation: AtomicU64,
    /// The last entry that is noted as synced.
    synced: Mutex<Option<LogId>>,
    bytes: AtomicU64,
    _lock: Lock,
}

impl Folder {
    /// Opens or makes it, refuses another cluster's, and removes what interrupted snapshots and
    /// checkpoints have left.
    pub(super) fn open(options: &StateMachineOptions) -> Result<Self, StateOpenError> {
        let (disk, path) = (Arc::clone(&options.disk), options.directory.clone());
        let failed = |error| StateOpenError::Io { directory: path.clone(), error };
        disk.create_dir(&path).map_err(failed)?;
        let lock = disk.lock(&path.join(LOCK_FILE)).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => StateOpenError::Locked { directory: path.clone() },
            _ => failed(error),
        })?;
        let owner = match read_record(OWNER.read(&*disk, &path), &path)? {
            Some(owner) => {
                let owner = checked(owner, &options.identity, &path)?;
                upgraded(owner, &*disk, &path).map_err(failed)?
            }
            None => created(&*disk, &options.identity, &path)?,
        };
        let synced = read_record(SYNCED.read(&*disk, &path), &path)?;
        let folder = Self {
            next_generation: AtomicU64::new(owner.generation + 1),
            owner: Mutex::new(owner),
            synced: Mutex::new(synced),
            bytes: AtomicU64::new(0),
            _lock: lock,
            disk,
            path,
        };
        folder
            .remove_leftovers()
            .map_err(|error| StateOpenError::Io { directory: folder.path.clone(), error })?;
        Ok(folder)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub(super) fn path_of(&self, name: GenerationFile) -> PathBuf {
        self.path.join(name.to_string())
    }

    /// The current generation.
    pub(super) fn generation(&self) -> u64 {
        self.owner.lock().generation
    }

    /// The number of a new generation, which is not current.
    pub(super) fn new_generation(&self) -> u64 {
        self.next_generation.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes a generation current, durably, and the folder another cluster's if one is given. All
    /// that is in it must be durable before.
    pub(super) fn switch(&self, generation: u64, cluster: Option<ClusterId>) -> io::Result<()> {
        let mut owner = self.owner.lock();
        let mut next = Owner { generation, ..owner.clone() };
        next.cluster = cluster.unwrap_or(next.cluster);
        OWNER.write(&*self.disk, &self.path, &next)?;
        *owner = next;
        Ok(())
    }

    /// The entry up to which everything is known to be durable.
    pub(super) fn synced(&self) -> Option<LogId> {
        *self.synced.lock()
    }

    /// Syncs, and records the entry up to which everything is durable, if there is one. One at a
    /// time.
    pub(super) fn sync_with(
        &self,
        sync: impl FnOnce() -> io::Result<Option<LogId>>,
    ) -> io::Result<()> {
        let mut synced = self.synced.lock();
        let entry = sync()?;
        if let Some(entry) = entry
            && *synced != Some(entry)
        {
            SYNCED.write(&*self.disk, &self.path, &entry)?;
            *synced = Some(entry);
        }
        Ok(())
    }

    /// Bytes of all files of generations.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A file has become so much longer.
    pub(super) fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The files of a generation, segments first, each kind in its order.
    pub(super) fn files(&self, generation: u64) -> io::Result<Vec<GenerationFile>> {
        let paths = self.disk.list(&self.path)?;
        let names =
            paths.iter().filter_map(|path| GenerationFile::parse(path.file_name()?.to_str()?));
        let mut names: Vec<GenerationFile> =
            names.filter(|name| name.generation == generation).collect();
        names.sort();
        Ok(names)
    }

    /// Removes a file. One that cannot be opened any more counts as empty: the bytes in use are
    /// reported too high then, until the next start.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        let length = self.disk.open(path).and_then(|file| file.length()).unwrap_or_default();
        self.disk.remove(path)?;
        self.bytes.fetch_sub(length.min(self.bytes()), Ordering::Relaxed);
        Ok(())
    }

    /// Removes a generation that is not current. Failing costs disk space until the next start,
    /// nothing else.
    pub(super) fn remove_generation(&self, generation: u64) {
        let removed = self
            .files(generation)
            .and_then(|names| names.iter().try_for_each(|name| self.remove(&self.path_of(*name))));
        if let Err(error) = removed {
            tracing::warn!(generation, %error, "cannot remove an unused generation of the state");
        }
    }

    /// Makes the names in it durable.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_dir(&self.path)
    }

    /// Something in it contradicts the rest.
    pub(super) fn corrupt(&self, what: impl ToString) -> StateOpenError {
        StateOpenError::Corrupt { directory: self.path.clone(), what: what.to_string() }
    }

    /// The disk's words for why it cannot be opened.
    pub(super) fn failed(&self, error: io::Error) -> StateOpenError {
        StateOpenError::Io { directory: self.path.clone(), error }
    }

    /// Removes what is of no current generation or was never finished, and counts the rest.
    fn remove_leftovers(&self) -> io::Result<()> {
        let current = self.generation();
        for path in self.disk.list(&self.path)? {
            let Some(file) = path.file_name().and_then(|file| file.to_str()) else {
                continue;
            };
            let name = GenerationFile::parse(file);
            let is_unfinished = file
                .strip_suffix(UNFINISHED)
                .is_some_and(|file| GenerationFile::parse(file).is_some());
            if is_unfinished || name.is_some_and(|name| name.generation != current) {
                tracing::info!(
                    file,
                    "removing what an interrupted snapshot or checkpoint has left"
                );
                self.disk.remove(&path)?;
            } else if name.is_some() {
                self.count(self.disk.open(&path)?.length()?);
            }
        }
        Ok(())
    }
}

/// What the name of an unfinished file ends with.
pub(super) const UNFINISHED: &str = ".tmp";

impl GenerationFile {
    fn parse(file: &str) -> Option<Self> {
        let (kind, numbers) = file.split_once('-')?;
        let kind = [FileKind::Journal, FileKind::Checkpoint]
            .into_iter()
            .find(|known| known.name() == kind)?;
        let (generation, sequence) = numbers.split_once('-')?;
        let number = |digits: &str| {
            (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
        };
        Some(Self { kind, generation: number(generation)?, sequence: number(sequence)? })
    }
}

impl std::fmt::Display for GenerationFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}-{:016x}", self.kind.name(), self.generation, self.sequence)
    }
}

impl FileKind {
    fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Checkpoint => "checkpoint",
        }
    }
}

fn read_record<T>(read: io::Result<Option<T>>, path: &Path) -> Result<Option<T>, StateOpenError> {
    read.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => {
            StateOpenError::Corrupt { directory: path.to_owned(), what: error.to_string() }
        }
        _ => StateOpenError::Io { directory: path.to_owned(), error },
    })
}

/// The owner, if it is the expected one.
fn checked(owner: Owner, identity: &StateIdentity, path: &Path) -> Result<Owner, StateOpenError> {
    let directory = || path.to_owned();
    if !(OLDEST_FORMAT..=FORMAT_VERSION).contains(&owner.format) {
        return Err(StateOpenError::Format {
            directory: directory(),
            found: owner.format,
            expected: FORMAT_VERSION,
        });
    }
    if owner.cluster != identity.cluster {
        let (found, expected) = (owner.cluster, identity.cluster);
        return Err(StateOpenError::Cluster { directory: directory(), found, expected });
    }
    if owner.naming != identity.naming {
        let (found, expected) = (owner.naming, identity.naming.clone());
        return Err(StateOpenError::Naming { directory: directory(), found, expected });
    }
    Ok(owner)
}

/// The owner with the format that is written from now on.
fn upgraded(owner: Owner, disk: &dyn Disk, path: &Path) -> io::Result<Owner> {
    if owner.format == FORMAT_VERSION {
        return Ok(owner);
    }
    let next = Owner { format: FORMAT_VERSION, ..owner };
    OWNER.write(disk, path, &next)?;
    tracing::info!(folder = %path.display(), from = owner.format, to = FORMAT_VERSION, "upgraded the state");
    Ok(next)
}

/// The format of a folder, as it is on disk; `None` when nothing is.
pub(crate) fn stored_format(disk: &dyn Disk, path: &Path) -> io::Result<Option<u32>> {
    Ok(OWNER.read(disk, path)?.map(|owner| owner.format))
}

/// The owner of a new folder.
fn created(
    disk: &dyn Disk,
    identity: &StateIdentity,
    path: &Path,
) -> Result<Owner, StateOpenError> {
    let failed = |error| StateOpenError::Io { directory: path.to_owned(), error };
    let files = disk.list(path).map_err(failed)?;
    let (found, mark) = FORMER_FORMAT;
    if files.contains(&path.join(mark)) {
        return Err(StateOpenError::Format {
            directory: path.to_owned(),
            found,
            expected: FORMAT_VERSION,
        });
    }
    let is_ours = |file: &PathBuf| {
        file.file_name().and_then(|file| file.to_str()).and_then(GenerationFile::parse).is_some()
    };
    if files.iter().any(is_ours) {
        let what = "nothing says whose it is".to_owned();
        return Err(StateOpenError::Corrupt { directory: path.to_owned(), what });
    }
    let StateIdentity { cluster, naming } = identity.clone();
    let owner = Owner { format: FORMAT_VERSION, cluster, naming, generation: FIRST_GENERATION };
    OWNER.write(disk, path, &owner).map_err(failed)?;
    Ok(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_sort() {
        let name = |kind, generation, sequence| GenerationFile { kind, generation, sequence };
        let names = [
            name(FileKind::Journal, 1, 9),
            name(FileKind::Journal, 1, 0x10),
            name(FileKind::Checkpoint, 1, 0),
            name(FileKind::Checkpoint, u64::MAX, u64::MAX),
        ];
        for name in names {
            assert_eq!(GenerationFile::parse(&name.to_string()), Some(name));
        }
        assert!(names.is_sorted());
        for other in [
            "",
            "owner",
            "journal",
            "journal-1-2",
            "journal-0000000000000001-000000000000000x",
            "lock",
        ] {
            assert_eq!(GenerationFile::parse(other), None, "{other}");
        }
    }
}
