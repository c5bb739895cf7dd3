//! The log against a disk that fails: openraft's own suite, crashes at every call, damage, and
//! limits.

#![expect(clippy::unwrap_used, reason = "a failing unwrap is a failing test")]

mod crash;
mod damage;
mod failing;
mod real;
mod streaming;
mod suite;
mod support;
