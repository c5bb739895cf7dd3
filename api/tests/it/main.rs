//! The API as a client sees it: requests through the whole handler stack over a store in memory, and once over real TLS.

#![expect(clippy::unwrap_used, reason = "a test that unwraps nothing has failed")]

mod controllers;
mod discovery;
mod get;
mod harness;
mod health;
mod list;
mod negotiation;
mod protobuf;
mod tls;
mod watch;
mod write;
