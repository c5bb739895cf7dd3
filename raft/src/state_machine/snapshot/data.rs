//! openraft's snapshot data: a snapshot to be sent, or one that was received.
//!
//! Invariant: a received snapshot that is never installed removes its generation when it is
//! dropped.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use quorate_store::State;

use super::Outgoing;
use crate::state_machine::folder::Folder;
use crate::state_machine::group::Live;
use crate::state_machine::journal::Journal;
use crate::state_machine::progress::Position;
use crate::state_machine::retention::RetentionWindow;
use crate::types::TypeConfig;

/// A snapshot with the position and membership that it stands for.
pub type Snapshot = openraft::alias::SnapshotOf<TypeConfig, SnapshotData>;

/// openraft's `SnapshotData`.
pub struct SnapshotData {
    pub(in crate::state_machine) contents: Contents,
}

/// Which side it is on.
pub(in crate::state_machine) enum Contents {
    /// Built here.
    Outgoing(Box<Outgoing>),
    /// Received here, complete and checked, waiting to be installed.
    Received(Box<Received>),
}

impl SnapshotData {
    /// The snapshot for sending; `None` for one that was received and is to be installed here.
    #[must_use]
    pub fn outgoing(self) -> Option<Outgoing> {
        match self.contents {
            Contents::Outgoing(outgoing) => Some(*outgoing),
            Contents::Received(_) => None,
        }
    }
}

impl fmt::Debug for SnapshotData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (side, position) = match &self.contents {
            Contents::Outgoing(outgoing) => ("outgoing", &outgoing.header.position),
            Contents::Received(received) => ("received", &received.position),
        };
        f.debug_struct("SnapshotData")
            .field("side", &side)
            .field("revision", &position.progress.revision)
            .finish()
    }
}

/// A complete snapshot in a generation of its own.
pub(in crate::state_machine) struct Received {
    pub(super) staged: Staged,
    pub(super) state: State,
    pub(super) window: RetentionWindow,
    pub(in crate::state_machine) position: Position,
}

impl Received {
    /// Makes it current on disk and gives what to go on with. On an error a start finds out which
    /// one is.
    pub(in crate::state_machine) fn install(self) -> std::io::Result<(Arc<Journal>, Live)> {
        let Self { mut staged, state, window, position } = self;
        let journal = staged.journal.take().expect("a journal is only taken here");
        staged.folder.switch(journal.generation(), None)?;
        journal.persist()?;
        Ok((journal, Live { state, position, window }))
    }
}

/// A generation that is not current yet.
pub(super) struct Staged {
    folder: Arc<Folder>,
    journal: Option<Arc<Journal>>,
}

impl Staged {
    /// A new, empty one.
    pub(super) fn create(folder: &Arc<Folder>, segment_bytes: u64) -> Self {
        let generation = folder.new_generation();
        let journal =
            Journal::new(Arc::clone(folder), generation, segment_bytes, VecDeque::new(), 0, None);
        Self { folder: Arc::clone(folder), journal: Some(Arc::new(journal)) }
    }

    /// Its journal.
    pub(super) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("a journal is only taken when it is installed")
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.folder.remove_generation(journal.generation());
        }
    }
}
