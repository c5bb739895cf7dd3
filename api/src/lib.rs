//! The cluster API server: HTTP in front of a [`quorate_store::Store`].
//!
//! A request passes the filters (limits, authentication, authorization), reaches one verb's
//! handler, and for writes admission and the registry, which knows each kind's semantics. This
//! crate never touches Raft or disks, only the store trait.

pub mod audit;
pub mod authentication;
pub mod authorization;
pub mod body;
pub mod continue_token;
pub mod controllers;
pub mod encoding;
pub mod error;
pub mod features;
pub mod filters;
pub mod freshness;
pub mod health;
pub mod lifecycle;
pub mod negotiation;
pub mod patch;
pub mod registry;
pub mod request;
pub mod request_record;
pub mod respond;
pub mod server;

mod admission;
mod api;
mod fanout;
mod flow_control;
mod handlers;
mod in_flight;
mod openapi;
mod tables;

pub use api::{Api, ApiOptions, Version};
pub use error::Error;
pub use in_flight::InFlightLimits;
