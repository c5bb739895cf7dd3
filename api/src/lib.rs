//! The cluster API server: HTTP in front of a [`quorate_store::Store`].
//!
//! A request passes the filters (limits, authentication, authorization), reaches one verb's
//! handler, and for writes admission and the registry, which knows each kind's semantics. This
//! crate never touches Raft or disks, only the store trait.

pub mod audit;
pub mod backup_pages;
pub mod body;
pub mod breaker_events;
pub mod continue_token;
pub mod encoding;
pub mod filters;
pub mod health;
pub mod identity_lease;
pub mod kubelet;
pub mod lifecycle;
pub mod metrics;
pub mod negotiation;
pub mod request_record;
pub mod respond;
pub mod server;

mod api;
mod discovery;
mod fanout;
mod handlers;
mod openapi;
mod refused_writes;
mod selector_index;
mod tables;

pub use api::{Api, ApiOptions, Version};
pub use selector_index::SelectorIndexOptions;
