//! Times in objects: seconds (`creationTimestamp`) and microseconds (leases, events), both RFC 3339
//! in UTC.
//!
//! There is no clock here: a time is made from milliseconds since 1970.

use std::fmt;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The layout of a time with microseconds.
const FORM: &[u8; 27] = b"0000-00-00T00:00:00.000000Z";
/// How much of it is date and time of day, up to the seconds.
const SECONDS: usize = 19;
const LAST_SECOND: i64 = 253_402_300_799;
const DAY_SECONDS: u64 = 86_400;
/// Days of 400 years.
const ERA_DAYS: u32 = 146_097;
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

    /// The instant `seconds` and `micros` (below a million) after 1970 began; `None` outside the
    /// years 0 to 9999.
    pub fn from_unix(seconds: i64, micros: u32) -> Option<Self> {
        let known = (FIRST_SECOND..=LAST_SECOND).contains(&seconds) && micros < 1_000_000;
        known.then(|| Self { micros: seconds * 1_000_000 + i64::from(micros) })
    }

    /// Whole seconds since 1970, rounded down, and the microseconds that follow.
    pub fn unix(self) -> (i64, u32) {
        let micros = u32::try_from(self.micros.rem_euclid(1_000_000))
            .expect("a remainder of a million fits");
        (self.micros.div_euclid(1_000_000), micros)
    }

    /// Reads an RFC 3339 text with any offset and fraction; digits beyond microseconds are cut.
    pub fn parse(text: &str) -> Result<Self, InvalidTime> {
        let invalid = || InvalidTime(text.to_owned());
        let parsed = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| invalid())?;
        // With its offset, a time of these years may be one of the years around them.
        Self::from_unix(parsed.unix_timestamp(), parsed.microsecond()).ok_or_else(invalid)
    }

    /// `2026-01-02T03:04:05Z`, the fraction cut off.
    pub fn seconds(self) -> String {
        let mut text: String =
            self.text()[..SECONDS].iter().map(|byte| char::from(*byte)).collect();
        text.push('Z');
        text
    }

    /// `2026-01-02T03:04:05.678901Z`.
    pub fn microseconds(self) -> String {
        self.text().iter().map(|byte| char::from(*byte)).collect()
    }

    /// Appends what [`Time::microseconds`] gives.
    pub fn write_microseconds(self, target: &mut Vec<u8>) {
        target.extend_from_slice(FORM);
        if let Some(text) = target.last_chunk_mut() {
            self.fill(text);
        }
    }

    fn text(self) -> [u8; FORM.len()] {
        let mut text = *FORM;
        self.fill(&mut text);
        text
    }

    /// Writes the digits into the layout without a formatter, because every object and audit event
    /// has such texts.
    fn fill(self, text: &mut [u8; FORM.len()]) {
        let (seconds, micros) = self.unix();
        let since = u64::try_from(seconds - FIRST_SECOND).unwrap_or_default();
        let (days, second) = (since / DAY_SECONDS, since % DAY_SECONDS);
        let [days, second] = [days, second].map(|number| u32::try_from(number).unwrap_or_default());
        let (year, month, day) = date(days);
        [text[0], text[1]] = digits(year / 100);
        [text[2], text[3]] = digits(year % 100);
        [text[5], text[6]] = digits(month);
        [text[8], text[9]] = digits(day);
        [text[11], text[12]] = digits(second / 3600);
        [text[14], text[15]] = digits(second / 60 % 60);
        [text[17], text[18]] = digits(second % 60);
        [text[20], text[21]] = digits(micros / 10_000);
        [text[22], text[23]] = digits(micros / 100 % 100);
        [text[24], text[25]] = digits(micros % 100);
    }
}

/// Year, month and day of a number of days after the year 0 began. Years begin in March here, so
/// that a leap day is the last one and the lengths of months follow a line; 400 years always have
/// the same length.
fn date(days: u32) -> (u32, u32, u32) {
    // From the first of March of the year -400 on.
    let days = days + ERA_DAYS - 60;
    let (era, day) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / (ERA_DAYS - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + later - 400, month, day)
}

/// A number below a hundred.
fn digits(number: u32) -> [u8; 2] {
    [number / 10, number % 10].map(|digit| b'0' + u8::try_from(digit).unwrap_or_default())
}

impl fmt::Display for Time {
    /// The form with seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use time::{Date, Month};

    use super::*;

    #[test]
    fn formats() {
        let check = |ms: u64, seconds: &str, micros: &str| {
            let time = Time::from_ms(ms);
            assert_eq!(
                (time.seconds(), time.microseconds()),
                (seconds.to_owned(), micros.to_owned())
            );
        };
        check(0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z");
        check(1_767_323_045_678, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678000Z");
        check(u64::MAX, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z");
    }

    #[test]
    fn every_day_has_its_date() {
        let mut day = Date::from_calendar_date(0, Month::January, 1).unwrap();
        for days in 0.. {
            let (year, month, number) = day.to_calendar_date();
            let expect =
                (u32::try_from(year).unwrap(), u32::from(u8::from(month)), u32::from(number));
            assert_eq!(date(days), expect, "{days}");
            match day.next_day() {
                Some(next) => day = next,
                None => break,
            }
        }
        assert_eq!(day.year(), 9999);
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
        check("9999-12-31T23:59:59.999999Z", Some("9999-12-31T23:59:59.999999Z"));
        check("9999-12-31T23:59:59-01:00", None);
        check("0000-01-01T00:00:00+01:00", None);
        check("2026-13-02T03:04:05Z", None);
        check("", None);
        assert_eq!(Time::from_ms(1_767_323_045_678).ms(), 1_767_323_045_678);
    }
}
