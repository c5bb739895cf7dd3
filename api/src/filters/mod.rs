//! The filters of requests: what each request passes before its handler, and each response after
//! it.
//!
//! [`handle`] is the list of them, in order; each is a file of this folder with one function that
//! takes the `Exchange` first. Not here: connections. The server calls [`handle`] with what TLS
//! proved, tests call it with an identity.

mod audit;
mod authentication;
mod authorization;
mod cache_control;
mod chain;
mod deadline;
mod error_response;
mod exchange;
mod flow_control;
mod handler;
mod head_request;
mod impersonation;
mod in_flight;
mod metrics;
mod negotiation;
mod panic_guard;
mod request_body;
mod request_id;
mod routing;
mod server_timing;
mod startup;
mod trace;

pub use chain::handle;
use exchange::Exchange;
pub use request_body::BODY_LIMIT;
