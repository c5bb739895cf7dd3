//! `metadata.managedFields`: which writer owns which fields (001, field ownership).
//!
//! `update_managed_fields` is what create, update and non-apply patch do: fields that really change move to the writer, never
//! with a conflict; removed fields leave every writer; entries without fields disappear. Server-side apply builds on the
//! same `Managed` entries, `FieldSet`s and comparison.
//! Invariants: entries are sorted as they are written (applies first, then by time and name); a writer has one entry per
//! operation, version and subresource; a time changes only when the writer took a field.

mod cap;
mod entry;
mod update;

#[cfg(test)]
mod tests;

pub use entry::{Entry, Managed, Operation};
pub use update::{Writer, update_managed_fields};
