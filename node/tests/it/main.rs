//! The integration tests of the binary: the tidiness of the source, and real processes with real
//! clients.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test says what it needs by failing"
)]

mod admission;
mod apply;
mod audit;
mod backup;
mod bench;
mod cel;
mod certificates;
mod chart;
mod compatibility;
mod configuration;
mod crash;
mod csr;
mod custom_resources;
mod deploy;
mod every_kind;
mod failover;
mod full_disk;
mod guide;
mod informers;
mod kubectl;
mod kubectl_reads;
mod kubectl_writes;
mod load;
mod membership;
mod monitoring;
mod overload;
mod pains;
mod past;
mod peers;
mod private;
mod python;
mod rbac;
mod recovery;
mod rights;
mod stopping;
mod support;
mod tidy;
mod tokens;
mod traces;
mod unit;
mod versions;
mod watchers;
mod workloads;
