//! Writes: everything between a decoded body and the store's transaction, for every kind alike.
//!
//! Handlers and controllers use [`Writer`] the same way, and every write passes the phases of
//! [`PHASES`].
//!
//! Invariants: a write is one transaction whose conditions make it correct however old the state
//! was that it was made from; a refusal is decided by a state that is known to be current.
//!
//! Not here: HTTP, and the rules of a single kind.

mod allocation;
mod answer;
mod batch;
mod check;
mod commit;
mod create;
mod declarative;
mod delete;
mod metadata;
mod owners;
mod phase;
mod pipeline;
mod prepare;
mod refusal;
mod request;
mod state;
mod unreadable;
mod update;
mod validate;

use std::sync::Arc;

use quorate_env::Env;
use quorate_meta::Names;
use quorate_store::Store;

use crate::allocation::AllocationMetrics;
use crate::features::Gates;
use crate::{Admission, Author, OriginHead};

pub use crate::options::{
    DeleteOptions, GivenOptions, Preconditions, Target, UpdateOptions, WriteOptions,
};
pub use answer::{Answer, Outcome};
pub use batch::Put;
pub use check::{MAX_MANAGER_BYTES, check_manager, embedded_metadata};
pub use declarative::DeclarativeCounts;
pub use phase::{PHASES, Phase, PhaseTimes, SideEffects};
pub use request::SubresourceRequest;
pub use update::{Beside, Permit};

/// Writes objects of every kind. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    names: &'static Names,
    store: Arc<dyn Store>,
    env: Env,
    gates: Gates,
    author: Option<Arc<dyn Author>>,
    admission: Option<Arc<dyn Admission>>,
    declarative: Arc<DeclarativeCounts>,
    origin: OriginHead,
    allocations: Option<Arc<dyn AllocationMetrics>>,
}

impl Writer {
    /// A writer of the server itself, with every feature as it is by default and without admission.
    #[must_use]
    pub fn new(names: &'static Names, store: Arc<dyn Store>, env: Env) -> Self {
        Self::with_gates(names, store, env, Gates::default())
    }

    /// The same with these feature gates.
    #[must_use]
    pub fn with_gates(
        names: &'static Names,
        store: Arc<dyn Store>,
        env: Env,
        gates: Gates,
    ) -> Self {
        Self {
            names,
            store,
            env,
            gates,
            author: None,
            admission: None,
            declarative: Arc::default(),
            origin: OriginHead::UNKNOWN,
            allocations: None,
        }
    }

    /// The same writer, whose declarative validation is counted here.
    #[must_use]
    pub fn counted_in(self, declarative: Arc<DeclarativeCounts>) -> Self {
        Self { declarative, ..self }
    }

    /// The same writer, whose allocations are counted.
    #[must_use]
    pub fn allocations_counted_by(self, metrics: Arc<dyn AllocationMetrics>) -> Self {
        Self { allocations: Some(metrics), ..self }
    }

    /// What declarative validation has come to in the writes of this writer and its copies.
    #[must_use]
    pub fn declarative_counts(&self) -> &DeclarativeCounts {
        &self.declarative
    }

    /// The same writer with these feature gates.
    #[must_use]
    pub fn gated_by(self, gates: Gates) -> Self {
        Self { gates, ..self }
    }

    /// The same writer, whose writes are a user's and need the user's permissions.
    #[must_use]
    pub fn on_behalf_of(self, author: Arc<dyn Author>) -> Self {
        Self { author: Some(author), ..self }
    }

    /// The same writer, whose writes are told to come from there.
    #[must_use]
    pub fn from_origin(self, origin: OriginHead) -> Self {
        Self { origin, ..self }
    }

    /// The same writer, whose writes no policy, webhook or plugin is asked about.
    #[must_use]
    pub fn without_admission(self) -> Self {
        Self { admission: None, ..self }
    }

    /// The same writer, whose writes pass admission.
    #[must_use]
    pub fn admitted_by(self, admission: Arc<dyn Admission>) -> Self {
        Self { admission: Some(admission), ..self }
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("naming", &self.names.naming).finish_non_exhaustive()
    }
}
