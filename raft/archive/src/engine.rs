//! The engine: where the tables of the archive are kept.
//!
//! Invariants that callers build on: a table takes sorted records in bulk, a bulk is there whole or
//! not at all, and a later record of a key hides an earlier one; what is read is what was written,
//! or an error. A table that is given up stays readable to those who hold it.

use std::fmt;
use std::io;
use std::sync::Arc;

/// A key and what is under it.
pub type Record = (Vec<u8>, Vec<u8>);

/// Records in the order of their keys.
pub type Records = Box<dyn Iterator<Item = io::Result<Record>> + Send>;

/// A place for tables.
pub trait Engine: Send + Sync + fmt::Debug {
    /// The names of the tables that there are, ascending.
    ///
    /// # Errors
    /// What the disk says.
    fn names(&self) -> io::Result<Vec<String>>;

    /// Opens a table, or makes an empty one.
    ///
    /// # Errors
    /// What the disk says, or that it is damaged.
    fn open(&self, name: &str) -> io::Result<Arc<dyn Table>>;

    /// From now on the thread that calls this works in the background: others go first.
    fn give_way(&self) {}

    /// Removes a table that is not open.
    ///
    /// # Errors
    /// What the disk says.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A sorted table of records.
pub trait Table: Send + Sync + fmt::Debug {
    /// What is under this key.
    ///
    /// # Errors
    /// What the disk says, or that it is damaged.
    fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>>;

    /// The records from one key up to and without another, ascending.
    fn scan(&self, from: &[u8], to: &[u8]) -> Records;

    /// The same records, descending.
    fn scan_back(&self, from: &[u8], to: &[u8]) -> Records;

    /// Adds records, whose keys ascend, durably and at once.
    ///
    /// # Errors
    /// What the disk says; nothing was added then.
    fn ingest(&self, records: &mut dyn Iterator<Item = Record>) -> io::Result<()>;

    /// Bytes that it takes.
    fn bytes(&self) -> u64;

    /// Has it removed once its last holder lets go of it.
    fn give_up(&self);
}
