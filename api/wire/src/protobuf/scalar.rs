//! Scalars of the schema as protobuf has them; half of them are small messages of their own.
//!
//! | Scalar | Protobuf |
//! |---|---|
//! | bool, int32, int64 | varint |
//! | double | 64 bits |
//! | string, bytes | length and bytes; bytes are base64 in JSON |
//! | time, microtime | message: 1 seconds since 1970, 2 nanoseconds; an empty message is no time |
//! | quantity | message: 1 text |
//! | intorstring | message: 1 which (0 integer, 1 text), 2 integer, 3 text |
//! | any | message: 1 JSON text; empty is `null` |

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use quorate_meta::{Time, Value};
use quorate_schema::Scalar;

use super::reader::{Payload, ProtobufReader};
use super::{Error, Problem, writer};
use crate::json;

/// Padded base64; as in JSON bodies, unused bits at the end may be set.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Of a microsecond.
pub(super) const NANOS_PER_MICRO: i64 = 1000;

/// Integers up to here are the same in a double.
const EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Reads a scalar in its JSON form; no time is `null`.
pub(super) fn read(kind: Scalar, payload: Payload<'_>) -> Result<Value, Problem> {
    Ok(match kind {
        Scalar::Bool => Value::Bool(payload.varint()? != 0),
        Scalar::Int32 => Value::from(int32(payload.varint()?)),
        Scalar::Int64 => Value::from(payload.varint()?.cast_signed()),
        Scalar::Double => read_double(payload)?,
        Scalar::String => Value::from(payload.text()?),
        Scalar::Bytes => Value::from(BASE64.encode(payload.bytes()?)),
        Scalar::Time | Scalar::MicroTime => read_time(kind, payload)?,
        Scalar::Quantity => match parts(payload)?[1] {
            Some(text) => Value::from(text.text()?),
            None => Value::from("0"),
        },
        Scalar::IntOrString => {
            let [_, which, number, text] = parts(payload)?;
            match integer(which)? {
                0 => Value::from(int32(integer(number)?.cast_unsigned())),
                1 => Value::from(text.map_or(Ok(""), Payload::text)?),
                other => {
                    return Err(Problem::Value(format!(
                        "{other} is neither an integer's nor a text's type"
                    )));
                }
            }
        }
        Scalar::Any => match parts(payload)?[1].map_or(Ok(&[][..]), Payload::bytes)? {
            [] => Value::Null,
            text => json::parse(text).map_err(|error| Problem::Value(error.to_string()))?.0,
        },
    })
}

/// Appends a field with a scalar in its JSON form.
pub(super) fn write(kind: Scalar, tag: u32, value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    match (kind, value) {
        (Scalar::Bool, Value::Bool(value)) => writer::number(tag, i64::from(*value), out),
        (Scalar::Int32 | Scalar::Int64, Value::Int(value)) => writer::number(tag, *value, out),
        (Scalar::Double, Value::Int(_) | Value::UInt(_) | Value::Float(_)) => {
            writer::double(tag, value.as_f64().unwrap_or_default(), out);
        }
        (Scalar::String, Value::String(text)) => writer::bytes(tag, text.as_bytes(), out),
        (Scalar::Bytes, Value::String(text)) => {
            let bytes = BASE64.decode(text).map_err(|error| Problem::Value(error.to_string()))?;
            writer::bytes(tag, &bytes, out);
        }
        (Scalar::Time | Scalar::MicroTime, Value::String(text)) => {
            let time = Time::parse(text).map_err(|error| Problem::Value(error.to_string()))?;
            let (seconds, micros) = time.unix();
            let micros = if kind == Scalar::MicroTime { i64::from(micros) } else { 0 };
            writer::message(tag, out, |out| {
                writer::number(1, seconds, out);
                writer::number(2, micros * NANOS_PER_MICRO, out);
                Ok(())
            })?;
        }
        (Scalar::Quantity, Value::String(text)) => write_text_message(tag, text.as_bytes(), out)?,
        (Scalar::IntOrString, Value::Int(number)) => write_int_or_string(tag, 0, *number, "", out)?,
        (Scalar::IntOrString, Value::String(text)) => write_int_or_string(tag, 1, 0, text, out)?,
        (Scalar::Any, value) => write_text_message(tag, &json::to_vec(value), out)?,
        (Scalar::Time | Scalar::MicroTime, Value::Null) => writer::bytes(tag, b"", out),
        (kind, value) => {
            return Err(
                Problem::Value(format!("{} is not of type {kind:?}", value.type_name())).into()
            );
        }
    }
    Ok(())
}

/// Appends a field with the zero of a scalar without presence. Bytes have presence: nothing is
/// appended.
pub(super) fn write_zero(kind: Scalar, tag: u32, out: &mut Vec<u8>) -> Result<(), Error> {
    match kind {
        Scalar::Bool | Scalar::Int32 | Scalar::Int64 => writer::number(tag, 0, out),
        Scalar::Double => writer::double(tag, 0.0, out),
        Scalar::String | Scalar::Time | Scalar::MicroTime | Scalar::Any => {
            writer::bytes(tag, b"", out)
        }
        Scalar::Quantity => write_text_message(tag, b"0", out)?,
        Scalar::IntOrString => write_int_or_string(tag, 0, 0, "", out)?,
        Scalar::Bytes => {}
    }
    Ok(())
}

fn write_text_message(tag: u32, text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    writer::message(tag, out, |out| {
        writer::bytes(1, text, out);
        Ok(())
    })
}

fn write_int_or_string(
    tag: u32,
    which: i64,
    number: i64,
    text: &str,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    writer::message(tag, out, |out| {
        writer::number(1, which, out);
        writer::number(2, number, out);
        writer::bytes(3, text.as_bytes(), out);
        Ok(())
    })
}

/// The fields 1 to 3 of an opaque message by number; of several the last one.
fn parts(payload: Payload<'_>) -> Result<[Option<Payload<'_>>; 4], Problem> {
    let mut parts = [None; 4];
    let mut reader = ProtobufReader::new(payload.bytes()?);
    while let Some((tag, payload)) = reader.field()? {
        if let Some(part) = usize::try_from(tag).ok().and_then(|tag| parts.get_mut(tag)) {
            *part = Some(payload);
        }
    }
    Ok(parts)
}

fn integer(part: Option<Payload<'_>>) -> Result<i64, Problem> {
    part.map_or(Ok(0), |payload| payload.varint().map(u64::cast_signed))
}

/// An integral double is an integer in JSON.
#[expect(clippy::cast_possible_truncation, reason = "integral and within the exact range")]
fn read_double(payload: Payload<'_>) -> Result<Value, Problem> {
    let Payload::Fixed64(bits) = payload else {
        return Err(Problem::WireType);
    };
    let number = f64::from_bits(bits);
    let negative_zero = number == 0.0 && number.is_sign_negative();
    if !number.is_finite() {
        return Err(Problem::Value(format!("{number} cannot be written as JSON")));
    }
    let exact = number.fract() == 0.0 && number.abs() <= EXACT_INTEGER && !negative_zero;
    Ok(if exact { Value::Int(number as i64) } else { Value::Float(number) })
}

fn read_time(kind: Scalar, payload: Payload<'_>) -> Result<Value, Problem> {
    if payload.bytes()?.is_empty() {
        return Ok(Value::Null);
    }
    let [_, seconds, nanos, _] = parts(payload)?;
    let micros = i64::from(int32(integer(nanos)?.cast_unsigned())) / NANOS_PER_MICRO;
    let micros =
        u32::try_from(micros).map_err(|_| Problem::Value("nanoseconds are negative".to_owned()))?;
    let time = Time::from_unix(integer(seconds)?, micros);
    let time =
        time.ok_or_else(|| Problem::Value("time is outside of the years 0 to 9999".to_owned()))?;
    Ok(Value::from(if kind == Scalar::Time { time.seconds() } else { time.microseconds() }))
}

/// The low 32 bits, as protobuf reads longer numbers.
#[expect(
    clippy::cast_possible_truncation,
    reason = "protobuf drops the high bits of a longer number"
)]
fn int32(number: u64) -> i32 {
    number.cast_signed() as i32
}
