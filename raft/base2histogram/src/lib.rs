//! The histograms in which Raft's core counts the sizes of its batches, in place of the crate of this
//! name (see `[patch]` in the workspace's `Cargo.toml`): that one computes tables for all its scales
//! at the first use, 26 MB that stay for as long as the process runs. Here they are those of
//! [`hdrhistogram`].
//!
//! It has the calls that openraft makes without its feature `runtime-stats`, which draws charts.

mod chart;
mod histogram;
mod percentile_stats;

pub use chart::AsciiChart;
pub use histogram::Histogram;
pub use percentile_stats::PercentileStats;
