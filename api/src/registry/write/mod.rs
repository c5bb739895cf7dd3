//! Writing objects: everything between a decoded body and the store's transaction, for every kind alike.
//!
//! Handlers and controllers use [`Writer`] the same way, so a controller's write is checked like a client's. Invariants:
//! a write is one transaction whose conditions make it correct however old the state was that it was made from, and a
//! refusal is only given on the ground of a state that is known to be current.

mod batch;
mod check;
mod create;
mod delete;
#[cfg(test)]
mod failures;
mod holdings;
mod metadata;
mod options;
mod owners;
mod propagation;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unreadable;
mod update;
mod writer;

pub use batch::Put;
pub(crate) use check::{MAX_MANAGER_BYTES, check_manager};
pub use delete::{DeleteOptions, Preconditions};
pub use options::{Target, UpdateOptions, WriteOptions};
pub use propagation::{FOREGROUND, ORPHAN, Propagation};
pub use update::Permit;
pub use writer::{Answer, Outcome, Writer};
