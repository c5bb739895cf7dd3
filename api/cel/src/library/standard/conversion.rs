//! Conversions between types, `dyn` and `type`.
//!
//! Invariant: a conversion that loses more than a fraction is an error.

use super::double::{format_double, parse_double};
use crate::eval::EvalError;
use crate::library::kinds::param;
use crate::library::time::{Duration, Timestamp, TimestampError};
use crate::overload::{ArgumentEstimate, Call, CallEstimate, Cost, Estimate, Overload, Range};
use crate::types::Type;
use crate::value::{Text, Value};

/// Every conversion.
pub(super) fn overloads() -> Vec<Overload> {
    use Type::{Bool, Bytes, Double, Duration, Dyn, Int, String, Timestamp, Uint};
    let to = |function, id, from: Type, result: Type, call: Call| {
        Overload::global(function, id, [from], result, call)
    };
    let copied = |overload: Overload, estimate| {
        overload.costs(Cost::Static(cost_of_copying), Estimate::Of(estimate))
    };
    let a = || param("A");
    vec![
        to("type", "type", a(), Type::Type(a().into()), type_of).singleton(),
        to("bool", "bool_to_bool", Bool, Bool, to_bool),
        to("bool", "string_to_bool", String, Bool, to_bool),
        to("bytes", "bytes_to_bytes", Bytes, Bytes, to_bytes),
        copied(to("bytes", "string_to_bytes", String, Bytes, to_bytes), estimate_of_encoding),
        to("double", "double_to_double", Double, Double, to_double),
        to("double", "int64_to_double", Int, Double, to_double),
        to("double", "string_to_double", String, Double, to_double),
        to("double", "uint64_to_double", Uint, Double, to_double),
        to("duration", "duration_to_duration", Duration, Duration, to_duration),
        to("duration", "int64_to_duration", Int, Duration, to_duration),
        to("duration", "string_to_duration", String, Duration, to_duration),
        to("dyn", "to_dyn", a(), Dyn, same).singleton(),
        to("int", "int64_to_int64", Int, Int, to_int),
        to("int", "double_to_int64", Double, Int, to_int),
        to("int", "duration_to_int64", Duration, Int, to_int),
        to("int", "string_to_int64", String, Int, to_int),
        to("int", "timestamp_to_int64", Timestamp, Int, to_int),
        to("int", "uint64_to_int64", Uint, Int, to_int),
        to("string", "string_to_string", String, String, to_string),
        to("string", "bool_to_string", Bool, String, to_string),
        copied(to("string", "bytes_to_string", Bytes, String, to_string), estimate_of_decoding),
        to("string", "double_to_string", Double, String, to_string),
        to("string", "duration_to_string", Duration, String, to_string),
        to("string", "int64_to_string", Int, String, to_string),
        to("string", "timestamp_to_string", Timestamp, String, to_string),
        to("string", "uint64_to_string", Uint, String, to_string),
        to("timestamp", "timestamp_to_timestamp", Timestamp, Timestamp, to_timestamp),
        to("timestamp", "int64_to_timestamp", Int, Timestamp, to_timestamp),
        to("timestamp", "string_to_timestamp", String, Timestamp, to_timestamp),
        to("uint", "uint64_to_uint64", Uint, Uint, to_uint),
        to("uint", "double_to_uint64", Double, Uint, to_uint),
        to("uint", "int64_to_uint64", Int, Uint, to_uint),
        to("uint", "string_to_uint64", String, Uint, to_uint),
    ]
}

fn cost_of_copying(arguments: &[Value<'_>], _result: Option<&Value<'_>>) -> u64 {
    arguments.first().map_or(1, Value::cost_size).div_ceil(10)
}

/// A code point has one to four bytes; the reference engine's product wraps.
fn estimate_of_encoding(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimate_of_copying(arguments, |size| Range {
        min: size.min,
        max: size.max.wrapping_mul(BYTES_PER_CODE_POINT_MAX),
    })
}

/// One to four bytes make a code point.
fn estimate_of_decoding(arguments: &[ArgumentEstimate<'_>]) -> CallEstimate {
    estimate_of_copying(arguments, |size| Range {
        min: size.min / BYTES_PER_CODE_POINT_MAX,
        max: size.max,
    })
}

const BYTES_PER_CODE_POINT_MAX: u64 = 4;

fn estimate_of_copying(
    arguments: &[ArgumentEstimate<'_>],
    result: fn(Range) -> Range,
) -> CallEstimate {
    let size = arguments.first().map_or(Range { min: 0, max: 0 }, |argument| argument.size);
    CallEstimate { cost: size.scaled(0.1), size: Some(result(size)) }
}

fn argument<'v, 'a>(arguments: &'v [Value<'a>]) -> Result<&'v Value<'a>, EvalError> {
    arguments.first().ok_or(EvalError::no_such_overload())
}

fn failed(value: &Value<'_>, to: &str) -> EvalError {
    EvalError::new(format!("type conversion error from '{}' to '{to}'", value.type_name()))
}

fn same<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    argument(arguments).cloned()
}

fn type_of<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let name = match argument(arguments)? {
        Value::Opaque(value) => Text::Shared(value.type_name().into()),
        Value::Map(map) if let Some(name) = map.type_name() => Text::Shared(name.into()),
        value => Text::Borrowed(value.known_type_name()),
    };
    Ok(Value::Type(name))
}

fn to_bool<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match argument(arguments)? {
        Value::Bool(value) => Ok(Value::Bool(*value)),
        value @ Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(failed(value, "bool")),
        },
        value => Err(failed(value, "bool")),
    }
}

fn to_bytes<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match argument(arguments)? {
        Value::String(text) => Ok(Value::bytes(text.as_bytes())),
        value @ Value::Bytes(_) => Ok(value.clone()),
        value => Err(failed(value, "bytes")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest double is the answer")]
fn to_double<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match argument(arguments)? {
        Value::Double(value) => Ok(Value::Double(*value)),
        Value::Int(value) => Ok(Value::Double(*value as f64)),
        Value::Uint(value) => Ok(Value::Double(*value as f64)),
        value @ Value::String(text) => {
            parse_double(text).map(Value::Double).ok_or_else(|| failed(value, "double"))
        }
        value => Err(failed(value, "double")),
    }
}

fn to_duration<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match argument(arguments)? {
        Value::Duration(value) => Ok(Value::Duration(*value)),
        value @ Value::String(text) => Duration::parse(text)
            .map(Value::Duration)
            .ok_or_else(|| failed(value, "google.protobuf.Duration")),
        value => Err(failed(value, "google.protobuf.Duration")),
    }
}

fn to_int<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let overflow = || EvalError::new("integer overflow");
    match argument(arguments)? {
        Value::Int(value) => Ok(Value::Int(*value)),
        Value::Uint(value) => i64::try_from(*value).map(Value::Int).map_err(|_| overflow()),
        Value::Double(value) => truncated_int(*value).map(Value::Int).ok_or_else(overflow),
        Value::Duration(value) => Ok(Value::Int(value.nanos())),
        Value::Timestamp(value) => Ok(Value::Int(value.unix_seconds())),
        value @ Value::String(text) => {
            text.parse().map(Value::Int).map_err(|_| failed(value, "int"))
        }
        value => Err(failed(value, "int")),
    }
}

fn to_uint<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let overflow = || EvalError::new("unsigned integer overflow");
    match argument(arguments)? {
        Value::Uint(value) => Ok(Value::Uint(*value)),
        Value::Int(value) => u64::try_from(*value).map(Value::Uint).map_err(|_| overflow()),
        Value::Double(value) => truncated_uint(*value).map(Value::Uint).ok_or_else(overflow),
        value @ Value::String(text) if text.starts_with('+') => Err(failed(value, "uint")),
        value @ Value::String(text) => {
            text.parse().map(Value::Uint).map_err(|_| failed(value, "uint"))
        }
        value => Err(failed(value, "uint")),
    }
}

fn to_string<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(match argument(arguments)? {
        value @ Value::String(_) => value.clone(),
        Value::Bool(value) => Value::String(Text::Borrowed(if *value { "true" } else { "false" })),
        Value::Int(value) => Value::string(value.to_string()),
        Value::Uint(value) => Value::string(value.to_string()),
        Value::Double(value) => Value::string(format_double(*value)),
        Value::Timestamp(value) => Value::string(value.to_string()),
        Value::Duration(value) => Value::string(value.to_string()),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::string(text),
            Err(_) => {
                return Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string"));
            }
        },
        value => return Err(failed(value, "string")),
    })
}

fn to_timestamp<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match argument(arguments)? {
        Value::Timestamp(value) => Ok(Value::Timestamp(*value)),
        Value::Int(seconds) => {
            Timestamp::from_unix(*seconds, 0).map(Value::Timestamp).map_err(EvalError::new)
        }
        value @ Value::String(text) => {
            Timestamp::parse(text).map(Value::Timestamp).map_err(|error| match error {
                TimestampError::Malformed => failed(value, "google.protobuf.Timestamp"),
                TimestampError::Overflow => EvalError::new("timestamp overflow"),
            })
        }
        value => Err(failed(value, "google.protobuf.Timestamp")),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "checked to fit")]
fn truncated_int(value: f64) -> Option<i64> {
    (value > i64::MIN as f64 && value < i64::MAX as f64).then_some(value as i64)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "checked to fit"
)]
fn truncated_uint(value: f64) -> Option<u64> {
    (value >= 0.0 && value < u64::MAX as f64).then_some(value as u64)
}
