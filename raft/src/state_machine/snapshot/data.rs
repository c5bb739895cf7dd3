//! The snapshot as openraft hands it around: one to be sent, or one that was received.
//!
//! Invariant: a received snapshot that is never installed removes its generation when it is dropped.

use std::fmt;
use std::sync::Arc;

use quorate_store::State;

use super::Outgoing;
use crate::state_machine::database::{Database, Generation};
use crate::state_machine::group::Live;
use crate::state_machine::progress::Position;
use crate::state_machine::window::Window;
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
        f.debug_struct("SnapshotData").field("side", &side).field("revision", &position.progress.revision).finish()
    }
}

/// A complete snapshot in a generation of its own.
pub(in crate::state_machine) struct Received {
    pub(super) staged: Staged,
    pub(super) state: State,
    pub(super) window: Window,
    pub(in crate::state_machine) position: Position,
}

impl Received {
    /// Makes it current on disk and gives what to go on with. On an error it is removed.
    pub(in crate::state_machine) fn install(self) -> std::io::Result<(Generation, Live)> {
        let Self { mut staged, state, window, position } = self;
        staged.database.switch(staged.generation(), &position)?;
        let generation = staged.generation.take().expect("a generation is only taken here");
        Ok((generation, Live { state, position, window }))
    }
}

/// A generation that is not current yet.
pub(super) struct Staged {
    database: Arc<Database>,
    generation: Option<Generation>,
}

impl Staged {
    /// A new, empty one.
    pub(super) fn create(database: &Arc<Database>) -> std::io::Result<Self> {
        Ok(Self { database: Arc::clone(database), generation: Some(database.create_generation()?) })
    }

    /// The generation.
    pub(super) fn generation(&self) -> &Generation {
        self.generation.as_ref().expect("a generation is only taken when it is installed")
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(generation) = self.generation.take() {
            self.database.remove(generation);
        }
    }
}
