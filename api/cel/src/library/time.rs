//! Timestamps and durations.

/// A point in time.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Offset in which it is printed, in seconds.
    pub offset: i32,
}

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub i64);
