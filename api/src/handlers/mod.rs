//! One verb per file: a handler takes a [`crate::handlers::Request`] that the filters have let through and gives the answer.
//!
//! Every handler is `async fn handle(api: &Api, request: &Request) -> Result<Response<Body>, Error>`; streams that outlive
//! the call hold shared parts of the [`crate::Api`], never the call's borrow.

mod answer;
mod apply;
mod author;
mod binding;
pub mod continuation;
mod create;
mod decode;
mod delete;
mod delete_options;
mod deletecollection;
pub(crate) mod discovery;
mod eviction;
mod findings;
mod freshness;
mod get;
mod gzip;
pub mod health;
mod identity;
mod index;
mod list;
mod list_cbor;
mod list_order;
mod list_protobuf;
mod list_writer;
mod observed;
pub(crate) mod openapi;
mod openapi_documents;
mod openid;
mod options;
mod page;
mod patch;
mod permit;
mod pieces;
mod producer;
mod render;
mod request;
mod review;
mod route;
mod scale;
mod snapshot;
mod token_audience;
mod token_request;
mod unsafe_delete;
mod update;
mod version;
mod warnings;
mod watch;
mod weight;
mod write_options;
mod written;

pub use request::Request;
pub(crate) use route::{Route, find, run};
