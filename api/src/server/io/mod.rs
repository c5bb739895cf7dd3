//! The layers of byte streams between a socket and HTTP: timeouts of reads and writes, and writes
//! that go out together.
//!
//! Invariant: each layer is a byte stream around another and knows nothing of requests.

mod coalesce;
mod cork;
mod preface_timeout;
mod write_timeout;

pub(super) use coalesce::Coalesce;
pub(super) use cork::Cork;
pub(super) use preface_timeout::PrefaceTimeout;
pub(super) use write_timeout::{WriteLimit, WriteTimeout};
