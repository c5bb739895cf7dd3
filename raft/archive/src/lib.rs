//! The archive: every version of every key and every transaction, for days, on disk.
//!
//! The store's journal keeps what happened for minutes; the archive takes it from there and answers
//! [`quorate_store::Past`]. It is derived: nothing waits for it, and it may be dropped at any time.
//! What was acknowledged is in the past at once, for an answer is made of both: what is archived,
//! and what the store still serves (`recent`).
//!
//! The archive is a row of *eras*, each a table ([`Engine`]) that is dropped at a time, and an era is
//! a row of *slices*, each of which knows all about the keys that changed in it and needs no other
//! slice. So expiry removes a folder, damage is where it is, and a list of an old revision is one
//! merged scan.
//!
//! Reading order: `layout` and `record` (what is in a table), `slice`, `era`, `contents`; `bulk` and
//! `writer` (how it gets there); `recent`, `listing` and `past` (how it is read). Not here: who may
//! read what, and where the journal is.

mod archive;
mod bulk;
mod contents;
mod engine;
mod era;
mod fjall_engine;
mod layout;
mod listing;
mod memory_engine;
mod options;
mod past;
mod recent;
mod record;
mod shared;
mod slice;
mod writer;

pub use archive::Archive;
pub use engine::{Engine, Record, Records, Table};
pub use fjall_engine::FjallEngine;
pub use memory_engine::MemoryEngine;
pub use options::{
    ArchiveOptions, ArchiveStatus, BULK_BYTES, BULK_WAIT, DEFAULT_ARCHIVE_BYTES,
    DEFAULT_ARCHIVE_RETENTION, SLICE_BYTES, SLICE_VERSIONS,
};
pub use record::FORMAT;
