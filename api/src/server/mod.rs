//! HTTP/1.1 and HTTP/2 over TLS in front of the filters: listening, connections, limits,
//! certificates, draining.
//!
//! [`Options`] and an [`crate::Api`] make an [`ApiServer`], whose `run` serves until its [`Handle`]
//! says stop. Nothing here knows what a request means.

mod authentication_timeout;
mod connection;
mod io;
mod limits;
mod service;
mod tls;

pub use limits::Limits;
pub use service::{ApiServer, Handle, Options};
pub use tls::{ServerTls, TlsError, TlsFiles};
