//! Timestamps, durations and time zones: the accessors of their fields.
//!
//! Not here: conversions, arithmetic and comparison (the standard library).

mod civil;
mod duration;
mod timestamp;
mod zone;

#[cfg(test)]
mod tests;

pub use duration::Duration;
pub use timestamp::{CalendarField, Timestamp, TimestampError};
pub use zone::offset_at;

use super::arguments::text;
use crate::eval::EvalError;
use crate::overload::{Call, Overload};
use crate::types::Type;
use crate::value::Value;

/// What arithmetic that leaves 64 bits says.
pub(crate) const INTEGER_OVERFLOW: &str = "integer overflow";
/// What leaving the years 1 to 9999 says.
pub(crate) const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";

/// An accessor of a timestamp: its name, its overloads in UTC and with a zone, and what it does.
type Accessor = (&'static str, [&'static str; 2], Call);

const OF_TIMESTAMPS: [Accessor; 10] = [
    ("getFullYear", ["timestamp_to_year", "timestamp_to_year_with_tz"], |a| {
        field(a, CalendarField::FullYear)
    }),
    ("getMonth", ["timestamp_to_month", "timestamp_to_month_with_tz"], |a| {
        field(a, CalendarField::Month)
    }),
    ("getDayOfYear", ["timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz"], |a| {
        field(a, CalendarField::DayOfYear)
    }),
    ("getDayOfMonth", ["timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz"], |a| {
        field(a, CalendarField::DayOfMonth)
    }),
    (
        "getDate",
        ["timestamp_to_day_of_month_1_based", "timestamp_to_day_of_month_1_based_with_tz"],
        |a| field(a, CalendarField::Date),
    ),
    ("getDayOfWeek", ["timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz"], |a| {
        field(a, CalendarField::DayOfWeek)
    }),
    ("getHours", ["timestamp_to_hours", "timestamp_to_hours_with_tz"], |a| {
        field(a, CalendarField::Hours)
    }),
    ("getMinutes", ["timestamp_to_minutes", "timestamp_to_minutes_with_tz"], |a| {
        field(a, CalendarField::Minutes)
    }),
    ("getSeconds", ["timestamp_to_seconds", "timestamp_to_seconds_tz"], |a| {
        field(a, CalendarField::Seconds)
    }),
    ("getMilliseconds", ["timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz"], |a| {
        field(a, CalendarField::Milliseconds)
    }),
];

const OF_DURATIONS: [(&str, &str, Call); 4] = [
    ("getHours", "duration_to_hours", |a| amount(a, Duration::hours)),
    ("getMinutes", "duration_to_minutes", |a| amount(a, Duration::minutes)),
    ("getSeconds", "duration_to_seconds", |a| amount(a, Duration::seconds)),
    ("getMilliseconds", "duration_to_milliseconds", |a| amount(a, Duration::milliseconds)),
];

/// Every overload.
pub(super) fn overloads() -> Vec<Overload> {
    let mut overloads = Vec::new();
    for (function, [in_utc, in_zone], call) in OF_TIMESTAMPS {
        overloads.push(Overload::member(function, in_utc, [Type::Timestamp], Type::Int, call));
        overloads.push(Overload::member(
            function,
            in_zone,
            [Type::Timestamp, Type::String],
            Type::Int,
            call,
        ));
        for (_, id, call) in OF_DURATIONS.into_iter().filter(|(name, ..)| *name == function) {
            overloads.push(Overload::member(function, id, [Type::Duration], Type::Int, call));
        }
    }
    overloads
}

fn field<'a>(arguments: &[Value<'a>], field: CalendarField) -> Result<Value<'a>, EvalError> {
    let Some(Value::Timestamp(at)) = arguments.first() else {
        return Err(EvalError::no_such_overload());
    };
    let offset = match arguments.len() {
        1 => 0,
        _ => offset_at(text(arguments, 1)?, *at).map_err(EvalError::new)?,
    };
    Ok(Value::Int(at.field(field, offset)))
}

fn amount<'a>(arguments: &[Value<'a>], of: fn(Duration) -> i64) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::Duration(duration)] => Ok(Value::Int(of(*duration))),
        _ => Err(EvalError::no_such_overload()),
    }
}
