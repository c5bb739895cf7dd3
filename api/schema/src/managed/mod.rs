//! `metadata.managedFields`: which writer owns which fields (001, field ownership).
//!
//! `update_managed_fields` is what create, update and non-apply patch do: fields that really change move to the writer, never
//! with a conflict; removed fields leave every writer; entries without fields disappear. Server-side apply (`apply`) shares
//! the rule about everybody else's entries (`settle`).
//! Invariants: entries are sorted as they are written (applies first, then by time and name); a writer has one entry per
//! operation, version and subresource; a time changes only when the writer took a field.

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
