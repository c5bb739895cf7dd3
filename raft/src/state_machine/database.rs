//! The fjall database: opening it, whose it is, and its generations.
//!
//! Invariants: `meta` names the cluster, the naming profile and the format before anything else is stored; exactly one
//! generation is current; any other belongs to a snapshot being received or is removed. This file does not interpret
//! objects or history.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use fjall::{AbstractTree, Keyspace, PersistMode};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ClusterId;

use super::error::{OpenError, storage};
use super::keyspace::{FORMAT_VERSION, Key, Space};
use super::manifest;
use super::note::{Note, REMOVED, SYNCED};
use super::options::{Identity, Options};
use super::progress::{Position, Progress};
use super::repair;
use crate::disk::SystemDisk;
use crate::types::LogId;

/// Bytes that all journals together may reach before the keyspaces that hold them back are written out.
const JOURNAL_BYTES: u64 = 192 << 20;
/// More sequence numbers than the removal of a generation takes, with all that is written beside it meanwhile.
const REMOVAL_NUMBERS: u64 = 1024;
/// No database gets that far. The numbers in its journal are under no checksum, and at twice this it panics instead of writing.
const LAST_NUMBER: u64 = 1 << 62;
/// The first generation of a new database.
const FIRST_GENERATION: u64 = 1;

/// An open database.
pub(super) struct Database {
    inner: fjall::Database,
    pub(super) meta: Keyspace,
    directory: PathBuf,
    next_generation: AtomicU64,
    /// The last entry that is noted as synced.
    synced: Mutex<Option<LogId>>,
}

/// One copy of objects and history.
#[derive(Clone)]
pub(super) struct Generation {
    pub(super) number: u64,
    pub(super) objects: Keyspace,
    pub(super) history: Keyspace,
    pub(super) index: Keyspace,
}

impl Database {
    /// Opens or creates the database, refuses another cluster's, and removes what interrupted snapshots have left.
    pub(super) fn open(options: &Options) -> Result<(Self, Generation), OpenError> {
        let directory = options.directory.clone();
        let failed = |error| OpenError::from_database(directory.clone(), error);
        let inner = open_repaired(options)?;
        let meta = inner.keyspace(&Space::Meta.name(), || Space::Meta.create_options()).map_err(failed)?;
        let next_generation = AtomicU64::new(FIRST_GENERATION);
        let database = Self { inner, meta, directory, next_generation, synced: Mutex::default() };
        database.outnumber_removals()?;
        let generation = database.claim(&options.identity)?;
        database.settle()?;
        Ok((database, generation))
    }

    /// Refuses a database that has lost what was synced, and syncs what may not be.
    fn settle(&self) -> Result<(), OpenError> {
        let failed = |error| OpenError::Io { directory: self.directory.clone(), error };
        let noted = self.noted(&SYNCED)?;
        let applied = self.applied()?;
        let next = |entry: Option<LogId>| entry.map_or(0, |entry| entry.index + 1);
        if next(noted) > next(applied) {
            let (next, noted) = (next(applied), next(noted) - 1);
            return Err(
                self.corrupt(&format!("it ends before entry {next}, but entries up to {noted} had been synced"))
            );
        }
        *self.synced.lock() = noted;
        if noted == applied {
            return Ok(());
        }
        repair::settle_journal(&SystemDisk, &self.directory).and_then(|()| self.persist()).map_err(failed)
    }

    fn noted<T: Serialize + DeserializeOwned>(&self, note: &Note<T>) -> Result<Option<T>, OpenError> {
        note.read(&SystemDisk, &self.directory).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.corrupt(&error.to_string()),
            _ => OpenError::Io { directory: self.directory.clone(), error },
        })
    }

    fn applied(&self) -> Result<Option<LogId>, OpenError> {
        Ok(self.read::<Progress>(Key::Applied)?.and_then(|progress| progress.log_id))
    }

    /// Its folder.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// An empty batch that survives a crash of this process once committed, and a crash of the machine once persisted.
    pub(super) fn batch(&self) -> fjall::OwnedWriteBatch {
        self.inner.batch().durability(Some(PersistMode::Buffer))
    }

    /// An empty batch that survives a crash of the machine once committed.
    pub(super) fn durable_batch(&self) -> fjall::OwnedWriteBatch {
        self.inner.batch().durability(Some(PersistMode::SyncAll))
    }

    /// Makes everything committed so far survive a crash of the machine, and notes that it does.
    pub(super) fn persist(&self) -> io::Result<()> {
        let mut synced = self.synced.lock();
        let applied = self.applied().map_err(io::Error::other)?;
        self.inner.persist(PersistMode::SyncAll).map_err(storage)?;
        if let Some(entry) = applied
            && *synced != applied
        {
            SYNCED.write(&SystemDisk, &self.directory, &entry)?;
            *synced = applied;
        }
        Ok(())
    }

    /// A consistent view of everything committed so far.
    pub(super) fn view(&self) -> fjall::Snapshot {
        self.inner.snapshot()
    }

    /// Bytes on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.inner.disk_space().unwrap_or(0)
    }

    /// A new, empty generation that is not current.
    pub(super) fn create_generation(&self) -> io::Result<Generation> {
        let number = self.next_generation.fetch_add(1, Ordering::Relaxed);
        self.generation(number).map_err(storage)
    }

    /// Makes a received generation current, durably. Its own data must be committed before.
    pub(super) fn switch(&self, generation: &Generation, position: &Position) -> io::Result<()> {
        let mut batch = self.durable_batch();
        batch.insert(&self.meta, Key::Generation.bytes(), generation.number.to_le_bytes());
        batch.insert(&self.meta, Key::Applied.bytes(), encode(&position.progress));
        batch.insert(&self.meta, Key::Membership.bytes(), encode(&position.membership));
        batch.commit().map_err(storage)
    }

    /// Deletes a generation that is not current. Failing costs disk space until the next start, nothing else.
    pub(super) fn remove(&self, generation: Generation) {
        let number = generation.number;
        let removed = self.delete([generation.objects, generation.history, generation.index]);
        if let Err(error) = removed {
            tracing::warn!(generation = number, %error, "cannot remove an unused generation of the state");
        }
    }

    /// Drops the tables of a keyspace that hold nothing beyond `last`. What is left below it costs disk space only.
    pub(super) fn drop_through(keyspace: &Keyspace, last: &[u8]) -> io::Result<()> {
        keyspace.tree.drop_range(..=last).map_err(|error| storage(error.into()))
    }

    /// How far the current generation is.
    pub(super) fn position(&self) -> Result<Position, OpenError> {
        Ok(Position {
            progress: self.read(Key::Applied)?.unwrap_or_default(),
            membership: self.read(Key::Membership)?.unwrap_or_default(),
        })
    }

    fn claim(&self, identity: &Identity) -> Result<Generation, OpenError> {
        match self.value(Key::Format)? {
            None => self.create(identity),
            Some(found) => self.reopen(identity, &found),
        }
    }

    fn create(&self, identity: &Identity) -> Result<Generation, OpenError> {
        let failed = |error| OpenError::from_database(self.directory.clone(), error);
        self.remove_garbage(None)?;
        let generation = self.generation(FIRST_GENERATION).map_err(failed)?;
        let mut batch = self.durable_batch();
        batch.insert(&self.meta, Key::Format.bytes(), FORMAT_VERSION.to_le_bytes());
        batch.insert(&self.meta, Key::Cluster.bytes(), identity.cluster.bytes());
        batch.insert(&self.meta, Key::Naming.bytes(), identity.naming.as_str());
        batch.insert(&self.meta, Key::Generation.bytes(), FIRST_GENERATION.to_le_bytes());
        batch.commit().map_err(failed)?;
        self.next_generation.store(FIRST_GENERATION + 1, Ordering::Relaxed);
        Ok(generation)
    }

    fn reopen(&self, identity: &Identity, format: &[u8]) -> Result<Generation, OpenError> {
        let directory = || self.directory.clone();
        let found = format.try_into().map(u32::from_le_bytes).map_err(|_| self.corrupt("the format version"))?;
        if found != FORMAT_VERSION {
            return Err(OpenError::Format { directory: directory(), found, expected: FORMAT_VERSION });
        }
        let found = self.value(Key::Cluster)?.and_then(|id| <[u8; 16]>::try_from(&*id).ok()).map(ClusterId::new);
        let found = found.ok_or_else(|| self.corrupt("the cluster id is missing or damaged"))?;
        if found != identity.cluster {
            return Err(OpenError::Cluster { directory: directory(), found, expected: identity.cluster });
        }
        let found = self.text(Key::Naming)?;
        if found != identity.naming {
            return Err(OpenError::Naming { directory: directory(), found, expected: identity.naming.clone() });
        }
        let number = self.number(Key::Generation)?;
        for space in [Space::Objects(number), Space::History(number), Space::Index(number)] {
            if !self.inner.keyspace_exists(&space.name()) {
                return Err(self.corrupt(&format!("keyspace {} is missing", space.name())));
            }
        }
        self.remove_garbage(Some(number))?;
        self.next_generation.store(number + 1, Ordering::Relaxed);
        self.generation(number).map_err(|error| OpenError::from_database(directory(), error))
    }

    fn remove_garbage(&self, current: Option<u64>) -> Result<(), OpenError> {
        for name in self.inner.list_keyspace_names() {
            let Some(space) = Space::parse(&name) else {
                return Err(self.corrupt(&format!("keyspace {name:?} is not one of ours")));
            };
            if space.generation().is_none() || space.generation() == current {
                continue;
            }
            tracing::info!(keyspace = %space.name(), "removing what an interrupted snapshot has left");
            let removed = self
                .inner
                .keyspace(&name, || space.create_options())
                .map_err(storage)
                .and_then(|keyspace| self.delete([keyspace]));
            removed.map_err(|error| OpenError::Io { directory: self.directory.clone(), error })?;
        }
        Ok(())
    }

    /// Deletes keyspaces, and notes before which sequence numbers that happens.
    fn delete(&self, keyspaces: impl IntoIterator<Item = Keyspace>) -> io::Result<()> {
        REMOVED.write(&SystemDisk, &self.directory, &(self.inner.seqno() + REMOVAL_NUMBERS))?;
        keyspaces.into_iter().try_for_each(|keyspace| self.inner.delete_keyspace(keyspace)).map_err(storage)
    }

    /// Passes the sequence numbers of the removals before this start. fjall takes its own from our keyspaces and not from its list of them,
    /// and gives the internal numbers of deleted keyspaces again: the tombstones in that list would hide the next keyspaces, and the start
    /// after that would delete them. Writes that a power cut has taken back are why their numbers can lie ahead.
    fn outnumber_removals(&self) -> Result<(), OpenError> {
        let failed = |error| OpenError::Io { directory: self.directory.clone(), error };
        let Some(removed) = self.noted(&REMOVED)? else { return Ok(()) };
        if self.inner.seqno() >= removed {
            return Ok(());
        }
        while self.inner.seqno() < removed {
            self.meta.insert(Key::Sequence.bytes(), []).map_err(storage).map_err(failed)?;
        }
        self.inner.persist(PersistMode::SyncAll).map_err(storage).map_err(failed)
    }

    fn generation(&self, number: u64) -> fjall::Result<Generation> {
        let open = |space: Space| self.inner.keyspace(&space.name(), || space.create_options());
        Ok(Generation {
            number,
            objects: open(Space::Objects(number))?,
            history: open(Space::History(number))?,
            index: open(Space::Index(number))?,
        })
    }

    fn read<T: DeserializeOwned>(&self, key: Key) -> Result<Option<T>, OpenError> {
        let Some(value) = self.value(key)? else { return Ok(None) };
        postcard::from_bytes(&value).map(Some).map_err(|error| self.corrupt(&format!("{key:?}: {error}")))
    }

    fn number(&self, key: Key) -> Result<u64, OpenError> {
        let value = self.value(key)?.ok_or_else(|| self.corrupt(&format!("{key:?} is missing")))?;
        let bytes = <[u8; 8]>::try_from(&*value).map_err(|_| self.corrupt(&format!("{key:?} is not a number")))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn text(&self, key: Key) -> Result<String, OpenError> {
        let value = self.value(key)?.ok_or_else(|| self.corrupt(&format!("{key:?} is missing")))?;
        String::from_utf8(value.to_vec()).map_err(|_| self.corrupt(&format!("{key:?} is not text")))
    }

    fn value(&self, key: Key) -> Result<Option<fjall::UserValue>, OpenError> {
        self.meta.get(key.bytes()).map_err(|error| OpenError::from_database(self.directory.clone(), error))
    }

    fn corrupt(&self, what: &str) -> OpenError {
        OpenError::Corrupt { directory: self.directory.clone(), what: what.to_owned() }
    }
}

/// Opens the database, after repairing what only a crash can have done to it.
fn open_repaired(options: &Options) -> Result<fjall::Database, OpenError> {
    let directory = &options.directory;
    let failed = |error| OpenError::from_database(directory.clone(), error);
    let failed_io = |error: io::Error| failed(error.into());
    repair::finish_creation(directory).map_err(failed_io)?;
    let lock = repair::lock(directory).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => OpenError::Locked { directory: directory.clone() },
        _ => failed_io(error),
    })?;
    // Before the database sees it: it takes some damage for lengths, and believes them.
    if let Some((journal, offset)) = repair::cut_journal(directory).map_err(failed_io)? {
        tracing::warn!(journal = %journal.display(), offset, "the state's journal ends in a broken batch; the log supplies the rest");
    }
    if let Some(what) = manifest::damage(directory).map_err(failed_io)? {
        return Err(OpenError::Corrupt { directory: directory.clone(), what });
    }
    drop(lock);
    let database = open_once(options).map_err(failed)?;
    if database.seqno() > LAST_NUMBER {
        let what = format!("a batch of its journal has number {}", database.seqno() - 1);
        return Err(OpenError::Corrupt { directory: directory.clone(), what });
    }
    Ok(database)
}

fn open_once(options: &Options) -> fjall::Result<fjall::Database> {
    fjall::Database::builder(&options.directory)
        .cache_size(options.block_cache_bytes)
        .max_journaling_size(JOURNAL_BYTES)
        .journal_compression(fjall::CompressionType::None)
        .worker_threads_unchecked(options.worker_threads)
        .open()
}

/// The bytes of a record of `meta`.
pub(super) fn encode<T: Serialize>(record: &T) -> Vec<u8> {
    postcard::to_stdvec(record).expect("a vector grows and the record has no failing parts")
}
