//! What a histogram says of its values.

use std::fmt;

/// How many values there were, and at most how large each part of them was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PercentileStats {
    /// How many there were.
    pub samples: u64,
    /// A thousandth of them was this at most.
    pub p0_1: u64,
    /// A hundredth of them.
    pub p1: u64,
    /// 5 % of them.
    pub p5: u64,
    /// A tenth of them.
    pub p10: u64,
    /// Half of them.
    pub p50: u64,
    /// 90 % of them.
    pub p90: u64,
    /// 99 % of them.
    pub p99: u64,
    /// 99.9 % of them.
    pub p99_9: u64,
}

impl fmt::Display for PercentileStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { samples, p1, p50, p99, .. } = self;
        write!(f, "{samples} samples, p1 {p1}, p50 {p50}, p99 {p99}")
    }
}
