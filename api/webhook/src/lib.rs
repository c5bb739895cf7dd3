//! The HTTPS client of webhooks: servers that objects of the cluster or options of the operator
//! name, asked by POST for one answer in JSON.
//!
//! Invariants: TLS always; the server's name and an authority that the configuration names are
//! verified; a call ends within its timeout and reads no more than its limit; connections are kept
//! per configuration, and one that has changed begins with none. Network and time come through the
//! seams of `quorate-env`.
//!
//! Not here: what a webhook is asked and what its answers mean.

mod client;
mod clients;
mod connection;
mod error;
mod metrics;
mod place;
mod pool;
mod server_verifier;
mod status;
#[cfg(any(test, feature = "testing"))]
#[expect(clippy::unwrap_used, reason = "a test says what it needs by failing")]
pub mod testing;
#[cfg(test)]
mod tests;
mod tls;
mod trust_anchor;
mod validation;

pub use client::{Answer, AnswerRoom, Call, Client, ClientOptions, ServiceResolver};
pub use clients::{ClientConfig, Clients, Outside};
pub use connection::{Connection, HTTP_1, HTTP_2};
pub use error::{CallError, Failure};
pub use metrics::{CallEnd, CallMetrics};
pub use place::Place;
pub use server_verifier::ServerVerifier;
pub use tls::{certificates, client_tls};
pub use trust_anchor::{Purpose, is_trust_anchor};
pub use validation::check_client_config;
