//! The cluster API server: HTTP in front of a [`quorate_store::Store`].
//!
//! A request passes the filters (limits, authentication, authorization), reaches one verb's handler, and for writes the
//! registry, which knows each kind's semantics. This crate never touches Raft or disks, only the store trait.

pub mod registry;
