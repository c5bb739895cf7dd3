//! Timestamps, durations and time zones.

mod civil;
mod duration;
mod timestamp;
mod zone;

#[cfg(test)]
mod tests;

pub use duration::Duration;
pub use timestamp::{Field, Timestamp, TimestampError};
pub use zone::offset_at;

/// What arithmetic that leaves 64 bits says.
pub(crate) const INTEGER_OVERFLOW: &str = "integer overflow";
/// What leaving the years 1 to 9999 says.
pub(crate) const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";
