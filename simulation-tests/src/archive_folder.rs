//! The simulated folder of a member's archive: tables in memory that vanish, decay, or take nothing
//! more.
//!
//! Invariants: what is written is there after a power cut, for a bulk is durable at once; what has
//! decayed is an error when it is read, as the checksums of the real tables see to, but in the
//! broken variant.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use quorate_archive::{Engine, MemoryEngine, Record, Records, Table};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Behind every key of a table.
const END: [u8; 9] = [0xff; 9];
/// The section of a table that has the versions of keys.
const VERSIONS: u8 = 2;
/// Most neighbouring records that decay at once.
const MAX_DECAYED: usize = 40;

/// A folder, which a member has as long as it is on its host.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArchiveFolder {
    tables: Arc<MemoryEngine>,
    faults: Arc<Mutex<FolderFaults>>,
    /// Written bytes change, and reading does not notice.
    pub(crate) is_forging: bool,
}

/// What is wrong with it.
#[derive(Debug, Default)]
struct FolderFaults {
    is_full: bool,
    /// By table.
    decayed: BTreeMap<String, Decay>,
}

/// What cannot be read of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Decay {
    /// It cannot be opened.
    Whole,
    /// These keys, both included.
    Keys(Vec<u8>, Vec<u8>),
}

impl ArchiveFolder {
    /// The disk takes nothing more, or does again.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.faults.lock().is_full = is_full;
    }

    /// Whether something in it has decayed.
    pub(crate) fn is_decayed(&self) -> bool {
        let names = self.tables.names().unwrap_or_default();
        names.iter().any(|name| self.faults.lock().decayed.contains_key(name))
    }

    /// Damages a table, as the seed says: it cannot be opened, is empty, or some of its records or
    /// all behind one cannot be read. False when there is none.
    pub(crate) fn decay(&self, seed: u64) -> io::Result<bool> {
        let mut rng = StdRng::seed_from_u64(seed);
        let names = self.tables.names()?;
        let Some(name) = names.choose(&mut rng) else { return Ok(false) };
        let table = self.tables.open(name)?;
        let keys: Vec<Vec<u8>> =
            table.scan(&[], &END).map(|record| Ok(record?.0)).collect::<io::Result<_>>()?;
        let first = if keys.is_empty() { 0 } else { rng.random_range(0..keys.len()) };
        let last = (first + rng.random_range(0..MAX_DECAYED)).min(keys.len().saturating_sub(1));
        let decay = match rng.random_range(0..4) {
            0 => Decay::Whole,
            1 => {
                self.tables.remove(name)?;
                self.tables.open(name)?;
                return Ok(true);
            }
            2 if !keys.is_empty() => Decay::Keys(keys[first].clone(), END.to_vec()),
            _ if !keys.is_empty() => Decay::Keys(keys[first].clone(), keys[last].clone()),
            _ => Decay::Whole,
        };
        self.faults.lock().decayed.insert(name.clone(), decay);
        Ok(true)
    }

    fn check_room(&self) -> io::Result<()> {
        if self.faults.lock().is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Engine for ArchiveFolder {
    fn names(&self) -> io::Result<Vec<String>> {
        self.tables.names()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Table>> {
        if !self.names()?.iter().any(|other| other == name) {
            self.check_room()?;
        }
        if self.faults.lock().decayed.get(name) == Some(&Decay::Whole) {
            return Err(decayed());
        }
        let table = self.tables.open(name)?;
        Ok(Arc::new(FolderTable { name: name.to_owned(), table, folder: self.clone() }))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.faults.lock().decayed.remove(name);
        self.tables.remove(name)
    }
}

#[derive(Debug)]
struct FolderTable {
    name: String,
    table: Arc<dyn Table>,
    folder: ArchiveFolder,
}

impl FolderTable {
    fn is_readable(&self, key: &[u8]) -> io::Result<()> {
        match self.folder.faults.lock().decayed.get(&self.name) {
            Some(Decay::Whole) => Err(decayed()),
            Some(Decay::Keys(first, last)) if **first <= *key && *key <= **last => Err(decayed()),
            _ => Ok(()),
        }
    }

    fn checked(&self, records: Records) -> Records {
        let table = Self {
            name: self.name.clone(),
            table: Arc::clone(&self.table),
            folder: self.folder.clone(),
        };
        Box::new(records.map(move |record| {
            let record = record?;
            table.is_readable(&record.0).map(|()| record)
        }))
    }
}

impl Table for FolderTable {
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.is_readable(key)?;
        self.table.get(key)
    }

    fn scan(&self, from: &[u8], to: &[u8]) -> Records {
        self.checked(self.table.scan(from, to))
    }

    fn scan_back(&self, from: &[u8], to: &[u8]) -> Records {
        self.checked(self.table.scan_back(from, to))
    }

    fn ingest(&self, records: &mut dyn Iterator<Item = Record>) -> io::Result<()> {
        self.folder.check_room()?;
        if self.folder.is_forging {
            return self.table.ingest(&mut records.map(forged));
        }
        self.table.ingest(records)
    }

    fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    fn give_up(&self) {
        self.folder.faults.lock().decayed.remove(&self.name);
        self.table.give_up();
    }
}

fn decayed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "simulated decay")
}

/// The last bit of a version turned.
fn forged((key, mut value): Record) -> Record {
    if key.get(4) == Some(&VERSIONS)
        && let Some(last) = value.last_mut()
    {
        *last ^= 1;
    }
    (key, value)
}
