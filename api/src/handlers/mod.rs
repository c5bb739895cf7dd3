//! The handlers, one verb a file: each takes a [`Request`] that the filters have let through and
//! answers it.
//!
//! Every handler is `async fn handle(api: &Api, request: &Request<'_>) -> Result<Response<Body>,
//! Error>`; streams that outlive the call hold shared parts of the [`crate::Api`], never the call's
//! borrow.

mod admission;
mod answer;
mod apply;
mod backup;
mod binding;
mod component_status;
mod compression;
pub(crate) mod connect;
mod converted;
mod create;
mod delete;
mod delete_options;
mod deletecollection;
pub(crate) mod discovery;
mod eviction;
mod flow_control;
mod freshness;
mod get;
mod health;
mod index;
mod list;
mod metrics;
mod narrowing;
mod object_messages;
mod openapi;
mod openid;
mod options;
mod past;
mod patch;
mod render;
mod request;
mod review;
mod route;
mod scale;
mod selected;
mod snapshot;
mod token_audience;
mod token_request;
mod unsafe_delete;
mod update;
mod version;
mod watch;
mod write;
mod wrong_shape;

pub(crate) use past::gone_catalogue;
pub(crate) use request::Request;
pub(crate) use route::{Route, find, run};
