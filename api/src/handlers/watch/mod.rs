//! Watches: a stream of changes from a state on, with or without that state first.
//!
//! Five parts: where a stream starts, the stream itself, how often it writes, how one event is
//! written, and where the watched resource ends.

mod end;
mod event;
mod event_lines;
mod of_past;
mod pace;
mod parts;
mod start;
mod starting_hold;
mod stream;

pub(super) use start::handle;
