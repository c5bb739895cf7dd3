//! Extensions of the API beyond the built-in kinds: API aggregation (API groups that APIServices delegate to other servers), and custom
//! resources.
//!
//! Invariant: what is built in is never looked up here.

pub mod aggregation;
pub mod crd;
pub mod services;
