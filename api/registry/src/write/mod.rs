//! Writing objects: everything between a decoded body and the store's transaction, for every kind alike.
//!
//! Handlers and controllers use [`Writer`] the same way, so a controller's write is checked like a client's. Invariants:
//! a write is one transaction whose conditions make it correct however old the state was that it was made from, and a
//! refusal is only given on the ground of a state that is known to be current.

mod allocation;
mod batch;
mod check;
mod create;
mod delete;
mod metadata;
mod options;
mod owners;
mod unreadable;
mod update;
mod writer;

pub use batch::Put;
pub use check::{MAX_MANAGER_BYTES, check_manager};
pub use delete::{DeleteOptions, Preconditions};
pub use options::{Target, UpdateOptions, WriteOptions};
pub use update::Permit;
pub use writer::{Answer, Outcome, Writer};
