//! `/api`, `/apis` and what lies directly below: which groups, versions and resources are served.
//!
//! Two forms of the same facts: the plain lists, and the aggregated one that tells everything in
//! one answer. What they show is read off the catalogue once per epoch, and what they write of all
//! groups is kept. The aggregated one has an ETag, by which clients that keep it ask again; the
//! plain lists have none, as in the interface that clients know.

mod aggregated;
mod page;
mod plain;

pub(crate) use page::{DiscoveryPage, handle};
