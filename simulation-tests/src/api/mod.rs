//! The production API server on every simulated node, and clients that reach it over HTTP.
//!
//! Declarations only: `plan` is what all nodes share, `serve` is one node's server with its
//! controllers, `request` has the requests, about the kinds of `kind`, and `client` sends them over
//! the simulated network; `broken` has deliberately broken variants.

mod broken;
mod client;
mod kind;
mod plan;
mod request;
mod serve;

pub(crate) use broken::BrokenApi;
pub(crate) use client::Client;
pub(crate) use kind::ResourceKind;
pub(crate) use plan::ApiPlan;
pub(crate) use request::{ApiReply, ApiRequest, At, HOLD, STAMP, Verb, version};
pub(crate) use serve::serve;
