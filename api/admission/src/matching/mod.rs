//! What a write is to the policies and webhooks of the cluster: what matches it, and what they see of
//! it.
//!
//! `match_resources` decides by rules and selectors about the `subject`; `versioned` are its objects
//! as what matches, and `seen` is what expressions read of it, with `request` as the fields of an
//! AdmissionRequest and `questions` for the authorizer.
//!
//! Not here: which policies and webhooks there are.

pub(crate) mod by_plural;
pub(crate) mod match_resources;
pub(crate) mod questions;
pub(crate) mod request;
pub(crate) mod seen;
pub(crate) mod subject;
pub(crate) mod versioned;
