//! Raft's hard state: the vote and the last committed position, in two files beside the segments.
//!
//! The vote is written to one slot and synced, then to the other and synced: it survives a crash at
//! any moment and the decay of either copy, and never silently goes back. The committed position is
//! a hint that may be a little old, never synced, and written only once the entry it names is
//! durable: a log that ends before it has lost something.

use std::io;
use std::path::Path;

use super::error::LogOpenError;
use super::options::LogOptions;
use super::slots::{SLOTS, Slot, SlotFile, newest};
use crate::types::{LogId, Vote};

/// Both files, and the newest generation in each.
#[derive(Debug)]
pub(super) struct HardState {
    vote: SlotFile,
    vote_generation: u64,
    committed: SlotFile,
    committed_generation: u64,
    /// The position last written.
    pub(super) saved: Option<LogId>,
}

/// The name of the vote's file.
pub(super) const VOTE: &str = "vote";
const COMMITTED: &str = "committed";

impl HardState {
    /// Opens or makes both files; the vote must be there if the log `exists`.
    pub(super) async fn open(
        options: &LogOptions,
        exists: bool,
    ) -> Result<(Self, Option<Vote>), LogOpenError> {
        let path = options.directory.join(VOTE);
        let (vote, slots) = open_or_create(options, &path, !exists).await?;
        let Some((at, found)) = newest(&slots) else {
            return Err(LogOpenError::corrupt(
                &path,
                0,
                "both copies of the vote fail their checksum",
            ));
        };
        let other = (at + 1) % SLOTS;
        if slots[other].as_ref() != Some(found) {
            tracing::warn!(path = %path.display(), "one copy of the vote was torn or damaged; repaired from the other");
            vote.write(other, found).map_err(LogOpenError::io(&path))?;
            vote.sync().await.map_err(LogOpenError::io(&path))?;
        }
        let value = decode(&path, found)?;
        let vote_generation = found.generation;

        let path = options.directory.join(COMMITTED);
        let (committed, slots) = open_or_create(options, &path, true).await?;
        let (committed_generation, saved) = match newest(&slots) {
            Some((_, slot)) => (slot.generation, decode(&path, slot)?),
            None => (0, None),
        };
        Ok((Self { vote, vote_generation, committed, committed_generation, saved }, value))
    }

    /// Makes the vote durable.
    pub(super) async fn save_vote(&mut self, vote: &Vote) -> io::Result<()> {
        self.vote_generation += 1;
        let slot = Slot { generation: self.vote_generation, value: encode(vote)? };
        for at in 0..SLOTS {
            self.vote.write(at, &slot)?;
            self.vote.sync().await?;
        }
        Ok(())
    }

    /// Writes the committed position, without a sync.
    pub(super) fn save_committed(&mut self, committed: LogId) -> io::Result<()> {
        self.committed_generation += 1;
        let slot = Slot { generation: self.committed_generation, value: encode(&committed)? };
        let at = usize::from(self.committed_generation % 2 == 1);
        self.committed.write(at, &slot)?;
        self.saved = Some(committed);
        Ok(())
    }
}

async fn open_or_create(
    options: &LogOptions,
    path: &Path,
    create: bool,
) -> Result<(SlotFile, [Option<Slot>; SLOTS]), LogOpenError> {
    let disk = options.disk.as_ref();
    match SlotFile::open(disk, path, options.identity) {
        Err(LogOpenError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            if !create {
                return Err(LogOpenError::Missing { path: path.to_owned() });
            }
            SlotFile::create(disk, path, options.identity).await.map_err(LogOpenError::io(path))?;
            SlotFile::open(disk, path, options.identity)
        }
        other => other,
    }
}

fn encode<T: serde::Serialize>(value: &T) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

/// The value of a slot; `None` where nothing has been saved yet.
fn decode<T: serde::de::DeserializeOwned>(
    path: &Path,
    slot: &Slot,
) -> Result<Option<T>, LogOpenError> {
    if slot.value.is_empty() {
        return Ok(None);
    }
    let value = postcard::from_bytes(&slot.value);
    value.map(Some).map_err(|error| {
        LogOpenError::corrupt(path, 0, format!("the value does not decode: {error}"))
    })
}
