//! What every request passes before a handler and every answer after it. The order is one function, [`handle`].
//!
//! Nothing here depends on a connection: the server calls it with what TLS proved, tests call it with an identity.

mod chain;
mod load;
mod payload;
mod request_id;

pub use chain::handle;
pub use payload::BODY_LIMIT;
