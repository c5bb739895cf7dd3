//! May this user do that? This slice: `system:masters` may do everything, everybody may look at what the server says
//! about itself, and nothing else is allowed. Rules of roles and bindings join here.
//!
//! Invariant: decided from the request line and the user alone, before the resource is looked up, so that a refusal tells
//! nothing about what exists.

mod attributes;
mod decide;

pub(crate) use decide::authorize;
