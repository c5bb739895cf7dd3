//! A moment of the past as users write it: a time, a revision or an age.

use std::str::FromStr;
use std::time::Duration;

use quorate_meta::Time;

/// The moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// An instant.
    Time(Time),
    /// A resourceVersion: the state right after the write of that revision.
    Revision(u64),
    /// So long ago.
    Age(Duration),
}

impl Moment {
    /// The moment in a request that is made now, milliseconds since 1970.
    pub(crate) fn query(self, now_ms: u64) -> String {
        match self {
            Self::Time(time) => time.microseconds(),
            Self::Revision(revision) => revision.to_string(),
            Self::Age(age) => {
                let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
                Time::from_ms(now_ms.saturating_sub(age_ms)).microseconds()
            }
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            let revision = text.parse().ok().filter(|revision| *revision > 0);
            return revision.map(Self::Revision).ok_or_else(wrong);
        }
        if let Ok(time) = Time::parse(text) {
            return Ok(Self::Time(time));
        }
        let age = text.strip_suffix("ago").unwrap_or(text).trim_end();
        humantime::parse_duration(age).map(Self::Age).map_err(|_| wrong())
    }
}

fn wrong() -> String {
    "must be a time (2026-11-28T11:05:50Z), a resourceVersion (1234) or an age (10m, 2h, 3d)"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let now = 1_800_000_000_000;
        let check = |text: &str, expect: Option<&str>| {
            let found = text.parse::<Moment>().ok().map(|moment| moment.query(now));
            assert_eq!(found.as_deref(), expect, "{text}");
        };
        check("1234", Some("1234"));
        check("0", None);
        check("99999999999999999999", None);
        check("2026-11-28T11:05:50Z", Some("2026-11-28T11:05:50.000000Z"));
        check("2026-11-28T12:05:50.25+01:00", Some("2026-11-28T11:05:50.250000Z"));
        check("10m", Some("2027-01-15T07:50:00.000000Z"));
        check("2h", Some("2027-01-15T06:00:00.000000Z"));
        check("3d", Some("2027-01-12T08:00:00.000000Z"));
        check("1h 30m ago", Some("2027-01-15T06:30:00.000000Z"));
        check("500ms", Some("2027-01-15T07:59:59.500000Z"));
        check("2026-11-28", None);
        check("yesterday", None);
        check("-5m", None);
        check("", None);
    }
}
