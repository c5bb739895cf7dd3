//! Timestamps: instants of the years 1 to 9999 with nanoseconds, and the offset from UTC that they are printed with.
//!
//! Invariants: equality, order and hashes look at the instant alone; arithmetic keeps the offset and never leaves the
//! years 1 to 9999. Not here: named time zones.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::civil::{Civil, days_before, days_in};
use super::{Duration, INTEGER_OVERFLOW, TIMESTAMP_OVERFLOW};

/// 0001-01-01T00:00:00Z.
const MIN_SECONDS: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
const MAX_SECONDS: i64 = 253_402_300_799;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// Digits of a fraction that count.
const FRACTION_DIGITS: usize = 9;

/// An instant.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
}

/// Why a text or number is no timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampError {
    /// It has not the form of one.
    Malformed,
    /// It lies outside the years 1 to 9999.
    Overflow,
}

impl TimestampError {
    /// Whether the text has not the form of a timestamp.
    #[must_use]
    pub fn is_malformed(self) -> bool {
        self == Self::Malformed
    }
}

impl Timestamp {
    /// `seconds` and `nanos` after 1970 began, in UTC; an error outside the years 1 to 9999.
    pub fn from_unix(seconds: i64, nanos: u32) -> Result<Self, &'static str> {
        let known =
            (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) && i64::from(nanos) < NANOS_PER_SECOND;
        if known { Ok(Self { seconds, nanos, offset: 0 }) } else { Err(TIMESTAMP_OVERFLOW) }
    }

    /// Reads an RFC 3339 text, as leniently as the reference engine: the hour may have one digit, the fraction may follow
    /// a comma, the offset may be up to 24:60.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let (local, nanos, offset) = read(text.as_bytes()).ok_or(TimestampError::Malformed)?;
        let seconds = local - i64::from(offset);
        let parsed = Self::from_unix(seconds, nanos).map_err(|_| TimestampError::Overflow)?;
        Ok(Self { offset, ..parsed })
    }

    /// Whole seconds since 1970, rounded down.
    #[must_use]
    pub const fn unix_seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after the whole second.
    #[must_use]
    pub const fn subsecond_nanos(self) -> u32 {
        self.nanos
    }

    /// The instant that much later.
    pub fn checked_add(self, duration: Duration) -> Result<Self, &'static str> {
        self.shifted(i128::from(duration.nanos()))
    }

    /// The instant that much earlier.
    pub fn checked_sub(self, duration: Duration) -> Result<Self, &'static str> {
        self.shifted(-i128::from(duration.nanos()))
    }

    /// The time since `earlier`.
    pub fn since(self, earlier: Self) -> Result<Duration, &'static str> {
        let nanos = self.total_nanos() - earlier.total_nanos();
        i64::try_from(nanos).map(Duration::from_nanos).map_err(|_| INTEGER_OVERFLOW)
    }

    /// The field of this instant where clocks are `offset` seconds ahead of UTC.
    #[must_use]
    pub fn field(self, field: CalendarField, offset: i64) -> i64 {
        let civil = Civil::of(self.seconds.wrapping_add(offset));
        match field {
            CalendarField::FullYear => civil.year,
            CalendarField::Month => civil.month - 1,
            CalendarField::Date => civil.day,
            CalendarField::DayOfMonth => civil.day - 1,
            CalendarField::DayOfWeek => civil.day_of_week(),
            CalendarField::DayOfYear => civil.day_of_year(),
            CalendarField::Hours => civil.hour,
            CalendarField::Minutes => civil.minute,
            CalendarField::Seconds => civil.second,
            CalendarField::Milliseconds => i64::from(self.nanos / 1_000_000),
        }
    }

    fn total_nanos(self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS_PER_SECOND) + i128::from(self.nanos)
    }

    fn shifted(self, nanos: i128) -> Result<Self, &'static str> {
        let total = self.total_nanos() + nanos;
        let seconds = total.div_euclid(i128::from(NANOS_PER_SECOND));
        let rest = total.rem_euclid(i128::from(NANOS_PER_SECOND));
        let seconds = i64::try_from(seconds).map_err(|_| TIMESTAMP_OVERFLOW)?;
        let rest = u32::try_from(rest).map_err(|_| TIMESTAMP_OVERFLOW)?;
        Ok(Self { offset: self.offset, ..Self::from_unix(seconds, rest)? })
    }
}

/// A calendar field that an expression can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarField {
    /// The year.
    FullYear,
    /// The month, from 0.
    Month,
    /// The day of the month, from 1.
    Date,
    /// The day of the month, from 0.
    DayOfMonth,
    /// The day of the week, 0 for Sunday.
    DayOfWeek,
    /// The day of the year, from 0.
    DayOfYear,
    /// The hour.
    Hours,
    /// The minute.
    Minutes,
    /// The second.
    Seconds,
    /// The thousandths of the second.
    Milliseconds,
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

impl Hash for Timestamp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.seconds, self.nanos).hash(state);
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 with the offset it was read with and the fraction's digits that are needed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = Civil::of(self.seconds + i64::from(self.offset));
        let Civil { year, month, day, hour, minute, second, .. } = civil;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanos != 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let (sign, minutes) = (if self.offset < 0 { '-' } else { '+' }, self.offset.abs() / 60);
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Local seconds since 1970, nanoseconds and offset of a text.
fn read(text: &[u8]) -> Option<(i64, u32, i32)> {
    let mut rest = text;
    let year = digits(&mut rest, 4)?;
    literal(&mut rest, b'-')?;
    let month = digits(&mut rest, 2).filter(|month| (1..=12).contains(month))?;
    literal(&mut rest, b'-')?;
    let day = digits(&mut rest, 2)?;
    literal(&mut rest, b'T')?;
    let width = if rest.get(1).is_some_and(u8::is_ascii_digit) { 2 } else { 1 };
    let hour = digits(&mut rest, width).filter(|hour| *hour < 24)?;
    literal(&mut rest, b':')?;
    let minute = digits(&mut rest, 2).filter(|minute| *minute < 60)?;
    literal(&mut rest, b':')?;
    let second = digits(&mut rest, 2).filter(|second| *second < 60)?;
    let nanos = fraction(&mut rest);
    let offset = zone(&mut rest)?;
    if !rest.is_empty() || day < 1 || day > days_in(year, month) {
        return None;
    }
    let seconds = days_before(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some((seconds, nanos, offset))
}

fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    head.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0'))
    })
}

fn literal(rest: &mut &[u8], expected: u8) -> Option<()> {
    let (head, tail) = rest.split_first()?;
    *rest = tail;
    (*head == expected).then_some(())
}

/// Nanoseconds of a fraction, of which there may be none; digits beyond the ninth are cut.
fn fraction(rest: &mut &[u8]) -> u32 {
    let [b'.' | b',', tail @ ..] = *rest else {
        return 0;
    };
    let count = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return 0;
    }
    *rest = &tail[count..];
    let digit = |at: usize| {
        if at < count { u32::from(tail[at] - b'0') } else { 0 }
    };
    (0..FRACTION_DIGITS).fold(0, |value, at| value * 10 + digit(at))
}

/// Seconds east of UTC of `Z` or `+01:00`.
fn zone(rest: &mut &[u8]) -> Option<i32> {
    let (head, tail) = rest.split_first()?;
    *rest = tail;
    let sign = match head {
        b'Z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = digits(rest, 2).filter(|hours| *hours <= 24)?;
    literal(rest, b':')?;
    let minutes = digits(rest, 2).filter(|minutes| *minutes <= 60)?;
    i32::try_from(sign * (hours * 60 + minutes) * 60).ok()
}
