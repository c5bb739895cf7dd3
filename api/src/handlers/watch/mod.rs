//! Watches: a stream of changes from a state on, with or without that state first.
//!
//! Four parts: where a stream starts, the stream itself, how often it writes, and how one event is
//! written.

mod event;
mod event_lines;
mod pace;
mod start;
mod stream;

pub(super) use start::handle;
