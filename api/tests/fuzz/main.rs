//! Fuzz tests of every parser that meets outside bytes: no panic, memory in proportion to the
//! input.
//!
//! A binary of its own, because it counts what is allocated. How to run it for longer: see
//! [`engine`].

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failing unwrap is a failing test, and a long run says what it did"
)]

mod allocations;
mod encodings;
mod engine;
#[expect(dead_code, reason = "the other binary uses the rest")]
#[path = "../it/harness.rs"]
mod harness;
mod large;
mod lists;
mod objects;
mod parts;
mod patches;
mod paths;
mod requests;
mod words;
