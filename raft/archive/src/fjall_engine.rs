//! The engine on disk: a folder and a database of the crate fjall for each table.
//!
//! A database of its own (14 ms to open, one sleeping thread, 100 KiB of memory) keeps damage inside
//! the table that has it: fjall opens a database whole or not at all, and one failed compaction ends
//! the writing of all its keyspaces. Records only come by ingestion, so fjall's own journal stays
//! empty; blocks are large and compressed, so that versions of one object, which are neighbours,
//! share what they have in common. It pauses while it writes, so that the log's syncs do not feel
//! it. Invariants: every block is checked when it is read; a panic over
//! damaged bytes is an error like any other, and what ends the process does so twice at most. fjall knows no seam of the disk, so what is done here
//! goes to the file system directly.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, PinningPolicy};
use fjall::{CompressionType, Config, Database, Guard, Keyspace, KeyspaceCreateOptions};

use crate::engine::{Engine, Record, Records, Table};
use crate::fjall_files;

/// Bytes of blocks in memory, those of all tables together.
const CACHE_BYTES: u64 = 16 << 20;
/// Bytes of a block before it is compressed.
const BLOCK_BYTES: u32 = 32 << 10;
/// Files that a table keeps open.
const OPEN_FILES: usize = 64;
/// Bytes of a table's memory for single writes, of which there are none.
const MEMTABLE_BYTES: u64 = 1 << 20;
/// Begins the names of files that say which table is being opened.
const OPENING: &str = "opening-";
/// How often a process may end while it opens a table; being killed is one of the reasons.
const OPENING_TRIES: usize = 2;
/// How often a table is tried that is still open: a member that has just stopped in this process
/// may have it.
const LOCKED_TRIES: usize = 100;
/// Between two tries.
const LOCKED_PAUSE: Duration = Duration::from_millis(20);
/// Bulks that wait to be merged. About as many fill a slice, so that a change is merged once.
const UNMERGED_BULKS: u8 = 12;
/// Bytes that are written without a pause.
const BURST_BYTES: usize = 1 << 20;
/// The pause after them.
const PAUSE: Duration = Duration::from_millis(5);
/// How far threads that write and merge go after others (`setpriority`, 0 to 19): they get a tenth
/// where all cores are busy.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;
/// The only keyspace of a database.
const KEYSPACE: &str = "records";
/// Only the server's user reads the past of secrets.
const MODE: u32 = 0o700;

/// Tables in the folders of a folder.
pub struct FjallEngine {
    directory: PathBuf,
    /// Whose cache all of them use.
    shared: Config,
}

impl FjallEngine {
    /// The tables in this folder, which is made when it is not there.
    ///
    /// # Errors
    /// What the disk says.
    pub fn open(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let directory = directory.into();
        fs::DirBuilder::new().recursive(true).mode(MODE).create(&directory)?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(MODE))?;
        let shared = Database::builder(&directory).cache_size(CACHE_BYTES).into_config();
        Ok(Self { directory, shared })
    }
}

impl FjallEngine {
    /// Notes that a table is being opened: damage that was not foreseen may make fjall ask for more
    /// memory than there is, which ends the process. A table that has ended it often enough is damaged.
    fn mark_opening(&self, name: &str) -> io::Result<PathBuf> {
        let marker = self.directory.join(format!("{OPENING}{name}"));
        let mut tries = fs::read(&marker).unwrap_or_default();
        if tries.len() >= OPENING_TRIES {
            fs::remove_file(&marker)?;
            let reason = "opening it has ended the process";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        tries.push(b'.');
        match fs::write(&marker, tries) {
            // It can be read all the same.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Ok(marker),
            written => written.map(|()| marker),
        }
    }

    /// Opens a table, unless it is open.
    fn try_open(&self, name: &str) -> io::Result<Arc<dyn Table>> {
        let directory = self.directory.join(name);
        let builder = Database::builder(&directory);
        let mut config = builder.worker_threads(1).max_cached_files(Some(OPEN_FILES)).into_config();
        config.cache = self.shared.cache.clone();
        fjall_files::check(&directory)?;
        let marker = self.mark_opening(name)?;
        let opened = in_background(|| {
            sound(|| {
                let database = Database::open(config)?;
                let keyspace = database.keyspace(KEYSPACE, keyspace_options)?;
                Ok((database, keyspace))
            })
        });
        match fs::remove_file(marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (database, keyspace) = opened?;
        let given_up = AtomicBool::new(false);
        Ok(Arc::new(FjallTable {
            directory,
            database: Some(database),
            keyspace: Some(keyspace),
            given_up,
        }))
    }
}

impl fmt::Debug for FjallEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallEngine").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Engine for FjallEngine {
    fn names(&self) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().into_string().ok());
        let names: io::Result<Vec<_>> = fs::read_dir(&self.directory)?.map(name).collect();
        let names = names?.into_iter().flatten();
        let mut names: Vec<String> = names.filter(|name| !name.starts_with(OPENING)).collect();
        names.sort();
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Table>> {
        for _ in 0..LOCKED_TRIES {
            match self.try_open(name) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => pause(LOCKED_PAUSE),
                opened => return opened,
            }
        }
        self.try_open(name)
    }

    fn give_way(&self) {
        give_way();
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        remove_folder(&self.directory.join(name))
    }
}

/// Does this on a thread whose threads, which merge, go after those that serve.
fn in_background<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let work = || {
        give_way();
        work()
    };
    let done = thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|_| Err(io::Error::other("a table could not be opened")))
}

/// Lets other threads go before this one. On Linux the system's call is about one thread.
#[cfg(target_os = "linux")]
fn give_way() {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the archive does not give way to other threads");
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() {}

fn keyspace_options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .index_block_pinning_policy(PinningPolicy::all(false))
        .filter_block_pinning_policy(PinningPolicy::all(false))
        .max_memtable_size(MEMTABLE_BYTES)
        .compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(UNMERGED_BULKS)))
}

#[expect(clippy::disallowed_methods, reason = "what fjall does here blocks the thread anyway")]
fn pause(time: Duration) {
    thread::sleep(time);
}

fn remove_folder(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => fs::remove_file(directory),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What fjall says as the errors of a disk; its panics, which damaged files may cause, too.
fn sound<T>(work: impl FnOnce() -> fjall::Result<T>) -> io::Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(fjall::Error::Io(error))) => Err(error),
        Ok(Err(fjall::Error::Storage(fjall::LsmError::Io(error)))) => Err(error),
        Ok(Err(fjall::Error::Locked)) => Err(io::ErrorKind::WouldBlock.into()),
        // An earlier write has failed; what was written before can be read.
        Ok(Err(fjall::Error::Poisoned)) => Err(io::Error::other("an earlier write has failed")),
        Ok(Err(error)) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "a file cannot be understood")),
    }
}

struct FjallTable {
    directory: PathBuf,
    /// Both are there until the table is dropped.
    database: Option<Database>,
    keyspace: Option<Keyspace>,
    given_up: AtomicBool,
}

impl FjallTable {
    fn keyspace(&self) -> &Keyspace {
        self.keyspace.as_ref().expect("it is there until the table is dropped")
    }
}

impl fmt::Debug for FjallTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallTable").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Drop for FjallTable {
    fn drop(&mut self) {
        drop((self.keyspace.take(), self.database.take()));
        if self.given_up.load(Ordering::Relaxed)
            && let Err(error) = remove_folder(&self.directory)
        {
            tracing::warn!(directory = %self.directory.display(), %error, "cannot remove a part of the archive");
        }
    }
}

fn pair(guard: Guard) -> io::Result<Record> {
    let (key, value) = sound(|| guard.into_inner())?;
    Ok((key.to_vec(), value.to_vec()))
}

/// An iterator whose panics are errors.
struct Sound<I>(I);

impl<I: Iterator<Item = Guard>> Iterator for Sound<I> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        match sound(|| Ok(self.0.next())) {
            Ok(next) => next.map(pair),
            Err(error) => Some(Err(error)),
        }
    }
}

impl Table for FjallTable {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        Ok(sound(|| self.keyspace().get(key))?.map(|value| value.to_vec()))
    }

    fn scan(&self, from: &[u8], to: &[u8]) -> Records {
        if from >= to {
            return Box::new(std::iter::empty());
        }
        Box::new(Sound(self.keyspace().range(from..to)))
    }

    fn scan_back(&self, from: &[u8], to: &[u8]) -> Records {
        if from >= to {
            return Box::new(std::iter::empty());
        }
        Box::new(Sound(self.keyspace().range(from..to).rev()))
    }

    fn ingest(&self, records: &mut dyn Iterator<Item = Record>) -> io::Result<()> {
        sound(|| {
            let mut ingestion = self.keyspace().start_ingestion()?;
            let mut burst = 0;
            for (key, value) in records {
                burst += key.len() + value.len();
                ingestion.write(key, value)?;
                if burst >= BURST_BYTES {
                    burst = 0;
                    pause(PAUSE);
                }
            }
            ingestion.finish()
        })
    }

    fn bytes(&self) -> u64 {
        self.keyspace().disk_space()
    }

    fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }
}
