//! `metadata.managedFields`: which manager owns which fields of an object.
//!
//! Create, update and patch (except apply) call `update_managed_fields`: changed fields move to the
//! manager of the request without a conflict, removed fields leave every entry, and entries without
//! fields are dropped. Server-side apply (`apply`) shares the rule about entries of other managers
//! (`settle`).
//!
//! Invariants: entries are sorted (`Apply` first, then by time and name); a manager has one entry
//! per operation, version and subresource; its time changes only when it takes a field.

mod cap;
mod entry;
mod fit;
mod reset;
mod same;
mod settle;
mod update;
mod versions;

#[cfg(test)]
mod tests;

pub use entry::{Entry, Managed, Operation};
pub(crate) use fit::fit;
pub use reset::take_named;
pub use same::{same_but_for_owners, same_owners};
pub(crate) use settle::{Loss, losses, settle};
pub use update::{Writer, update_managed_fields};
pub(crate) use update::{strip, take_over};
pub(crate) use versions::Views;
pub use versions::{OneVersion, Seen, Versions};
