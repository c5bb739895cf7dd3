//! The commands that read the past of a cluster and bring it back, by kubeconfig.
//!
//! Invariant: what was is asked of the server and never guessed; what the server does not know is said.

pub(super) mod blame;
pub(super) mod changes;
mod columns;
pub(super) mod diff;
pub(super) mod get;
pub(super) mod history;
mod object_text;
pub(super) mod purge;
mod session;
pub(super) mod undelete;
