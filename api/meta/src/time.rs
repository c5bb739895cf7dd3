//! Times in objects: seconds (`creationTimestamp`) and microseconds (leases, events), both RFC 3339 in UTC.
//!
//! The clock is the caller's: a time is made from milliseconds since 1970.

use std::fmt;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What a time with microseconds looks like.
const FORM: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
/// How much of it is date and time of day, up to the seconds.
const SECONDS: usize = 19;
const LAST_SECOND: i64 = 253_402_300_799;
/// The first second of the year 0.
const FIRST_SECOND: i64 = -62_167_219_200;

/// An instant between the years 0 and 9999, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    micros: i64,
}

/// A text that is no RFC 3339 time of the years 0 to 9999.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an RFC 3339 time")]
pub struct InvalidTime(pub String);

impl Time {
    /// The instant `ms` milliseconds after 1970 began; clamped to the end of the year 9999.
    pub fn from_ms(ms: u64) -> Self {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX).min(LAST_SECOND * 1000);
        Self { micros: ms * 1000 }
    }

    /// Milliseconds since 1970, rounded down; zero for earlier instants.
    pub fn ms(self) -> u64 {
        u64::try_from(self.micros.div_euclid(1000)).unwrap_or(0)
    }

    /// The instant `seconds` and `micros` (below a million) after 1970 began; `None` outside the years 0 to 9999.
    pub fn from_unix(seconds: i64, micros: u32) -> Option<Self> {
        let known = (FIRST_SECOND..=LAST_SECOND).contains(&seconds) && micros < 1_000_000;
        known.then(|| Self { micros: seconds * 1_000_000 + i64::from(micros) })
    }

    /// Whole seconds since 1970, rounded down, and the microseconds that follow.
    pub fn unix(self) -> (i64, u32) {
        let micros = u32::try_from(self.micros.rem_euclid(1_000_000)).expect("a remainder of a million fits");
        (self.micros.div_euclid(1_000_000), micros)
    }

    /// Reads an RFC 3339 text with any offset and fraction; digits beyond microseconds are cut.
    pub fn parse(text: &str) -> Result<Self, InvalidTime> {
        let invalid = || InvalidTime(text.to_owned());
        let parsed = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| invalid())?;
        let micros = i64::try_from(parsed.unix_timestamp_nanos().div_euclid(1000)).map_err(|_| invalid())?;
        Ok(Self { micros })
    }

    /// `2026-01-02T03:04:05Z`, the fraction cut off.
    pub fn seconds(self) -> String {
        let mut text: String = self.text()[..SECONDS].iter().map(|byte| char::from(*byte)).collect();
        text.push('Z');
        text
    }

    /// `2026-01-02T03:04:05.678901Z`.
    pub fn microseconds(self) -> String {
        self.text().iter().map(|byte| char::from(*byte)).collect()
    }

    /// Appends what [`Time::microseconds`] gives.
    pub fn write_microseconds(self, target: &mut Vec<u8>) {
        target.extend_from_slice(&self.text());
    }

    /// Digit by digit: every object and every audit event has such texts.
    fn text(self) -> [u8; FORM.len()] {
        let (seconds, micros) = self.unix();
        let at = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let mut text = *FORM;
        put_digits(&mut text[..4], u32::try_from(at.year()).unwrap_or_default());
        put_digits(&mut text[5..7], u32::from(u8::from(at.month())));
        put_digits(&mut text[8..10], u32::from(at.day()));
        put_digits(&mut text[11..13], u32::from(at.hour()));
        put_digits(&mut text[14..16], u32::from(at.minute()));
        put_digits(&mut text[17..SECONDS], u32::from(at.second()));
        put_digits(&mut text[20..26], micros);
        text
    }
}

/// Fills a place with the last digits of a number.
fn put_digits(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

impl fmt::Display for Time {
    /// The form with seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let check = |ms: u64, seconds: &str, micros: &str| {
            let time = Time::from_ms(ms);
            assert_eq!((time.seconds(), time.microseconds()), (seconds.to_owned(), micros.to_owned()));
        };
        check(0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z");
        check(1_767_323_045_678, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678000Z");
        check(u64::MAX, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z");
    }

    #[test]
    fn unix_seconds() {
        let check = |seconds, micros, text: Option<&str>| {
            let time = Time::from_unix(seconds, micros);
            assert_eq!(time.map(Time::microseconds).as_deref(), text, "{seconds} {micros}");
            if let Some(time) = time {
                assert_eq!(time.unix(), (seconds, micros));
            }
        };
        check(0, 1, Some("1970-01-01T00:00:00.000001Z"));
        check(-1, 999_999, Some("1969-12-31T23:59:59.999999Z"));
        check(LAST_SECOND, 999_999, Some("9999-12-31T23:59:59.999999Z"));
        check(FIRST_SECOND, 0, Some("0000-01-01T00:00:00.000000Z"));
        check(LAST_SECOND + 1, 0, None);
        check(FIRST_SECOND - 1, 0, None);
        check(i64::MIN, 0, None);
        check(0, 1_000_000, None);
    }

    #[test]
    fn parses() {
        let check = |text: &str, micros: Option<&str>| {
            assert_eq!(Time::parse(text).ok().map(Time::microseconds).as_deref(), micros, "{text}");
        };
        check("2026-01-02T03:04:05Z", Some("2026-01-02T03:04:05.000000Z"));
        check("2026-01-02T05:04:05.1234567+02:00", Some("2026-01-02T03:04:05.123456Z"));
        check("1969-12-31T23:59:59.5Z", Some("1969-12-31T23:59:59.500000Z"));
        check("2026-01-02", None);
        check("2026-13-02T03:04:05Z", None);
        check("", None);
        assert_eq!(Time::from_ms(1_767_323_045_678).ms(), 1_767_323_045_678);
    }
}
