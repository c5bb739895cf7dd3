//! Durations as people read them: two units at most, coarser with size.
//!
//! Invariant: exactly the rules that clients of such servers print ages with, so that columns look
//! alike.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration in seconds, for example `3m20s` or `5d`.
pub(super) fn duration(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => pair(s, MINUTE, "m", 1, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => pair(s, HOUR, "h", MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => pair(s, DAY, "d", HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => pair(s, YEAR, "y", DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

fn pair(seconds: i64, large: i64, large_name: &str, small: i64, small_name: &str) -> String {
    match seconds % large / small {
        0 => format!("{}{large_name}", seconds / large),
        rest => format!("{}{large_name}{rest}{small_name}", seconds / large),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarser_with_size() {
        let check = |seconds: i64, expect: &str| assert_eq!(duration(seconds), expect, "{seconds}");
        check(-2, "<invalid>");
        check(-1, "0s");
        check(0, "0s");
        check(119, "119s");
        check(120, "2m");
        check(125, "2m5s");
        check(600, "10m");
        check(179 * MINUTE, "179m");
        check(3 * HOUR, "3h");
        check(3 * HOUR + 5 * MINUTE, "3h5m");
        check(8 * HOUR, "8h");
        check(47 * HOUR, "47h");
        check(2 * DAY, "2d");
        check(2 * DAY + HOUR, "2d1h");
        check(8 * DAY, "8d");
        check(729 * DAY, "729d");
        check(2 * YEAR, "2y");
        check(2 * YEAR + DAY, "2y1d");
        check(8 * YEAR, "8y");
    }
}
