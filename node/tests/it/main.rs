//! The integration tests of the binary: the tidiness of the source, and real processes with real clients.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test says what it needs by failing"
)]

mod certificates;
mod configuration;
mod crash;
mod deploy;
mod failover;
mod kubectl;
mod load;
mod membership;
mod stopping;
mod support;
mod tidy;
