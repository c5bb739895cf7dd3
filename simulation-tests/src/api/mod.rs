//! The production API server on every simulated node, and clients that reach it over HTTP.
//!
//! Declarations only: `plan` is what all nodes share, `serve` is one node's server with its
//! controllers, `request` has the requests and `client` sends them over the simulated
//! network; `broken` has deliberately broken variants.

mod broken;
mod client;
mod plan;
mod request;
mod serve;

pub(crate) use broken::BrokenApi;
pub(crate) use client::Client;
pub(crate) use plan::ApiPlan;
pub(crate) use request::{ApiReply, ApiRequest, At, HOLD, ResourceKind, STAMP, Verb, version};
pub(crate) use serve::serve;
