//! JSON to values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quorate_meta as data;
use quorate_meta::Naming;

use super::MalformedRecord;
use crate::library::time::{Duration, Timestamp};
use crate::naming::from_profile;
use crate::value::{Table, Text, Value};

/// Reads a value; those of libraries' own types cannot be given. Types have the names of `naming`.
///
/// # Errors
/// When the JSON is no value.
pub fn decode(json: &data::Value, naming: Naming) -> Result<Value<'static>, MalformedRecord> {
    let malformed = || MalformedRecord("a value is an object with one known key".to_owned());
    let (tag, held) = json.as_map().and_then(|map| map.iter().next()).ok_or_else(malformed)?;
    Ok(match tag {
        "null" => Value::Null,
        "bool" => Value::Bool(held.as_bool().ok_or_else(malformed)?),
        "int64" => Value::Int(number(held)?),
        "uint64" => Value::Uint(number(held)?),
        "double" => Value::Double(number(held)?),
        "string" => Value::string(text(held)?),
        "bytes" => {
            let bytes =
                STANDARD.decode(text(held)?).map_err(|error| MalformedRecord(error.to_string()))?;
            Value::bytes(bytes)
        }
        "list" => Value::list(
            items(held)?.iter().map(|item| decode(item, naming)).collect::<Result<_, _>>()?,
        ),
        "map" => {
            let mut table = Table::new();
            for entry in items(held)? {
                let [key, value] = items(entry)? else {
                    return Err(malformed());
                };
                table.insert(decode(key, naming)?, decode(value, naming)?);
            }
            Value::map(table)
        }
        "timestamp" => {
            let (seconds, nanos) = parts(held)?;
            let nanos = u32::try_from(nanos).map_err(|_| malformed())?;
            let at = Timestamp::from_unix(seconds, nanos)
                .map_err(|error| MalformedRecord(error.to_owned()))?;
            Value::Timestamp(at)
        }
        "duration" => {
            let (seconds, nanos) = parts(held)?;
            let nanos = i32::try_from(nanos).map_err(|_| malformed())?;
            Value::Duration(Duration::from_parts(seconds, nanos).ok_or_else(malformed)?)
        }
        "type" => Value::Type(Text::Shared(from_profile(naming, text(held)?).into())),
        "optional" if held.is_null() => Value::NONE,
        "optional" => Value::some(decode(held, naming)?),
        _ => return Err(malformed()),
    })
}

fn text(json: &data::Value) -> Result<&str, MalformedRecord> {
    json.as_str().ok_or_else(|| MalformedRecord("a text was expected".to_owned()))
}

fn items(json: &data::Value) -> Result<&[data::Value], MalformedRecord> {
    json.as_list().ok_or_else(|| MalformedRecord("a list was expected".to_owned()))
}

fn number<T: std::str::FromStr>(json: &data::Value) -> Result<T, MalformedRecord> {
    text(json)?.parse().map_err(|_| MalformedRecord("a number in a text was expected".to_owned()))
}

fn parts(json: &data::Value) -> Result<(i64, i64), MalformedRecord> {
    let malformed = || MalformedRecord("seconds and nanos were expected".to_owned());
    let map = json.as_map().ok_or_else(malformed)?;
    let seconds = number(map.get("seconds").ok_or_else(malformed)?)?;
    let nanos = map.get("nanos").and_then(data::Value::as_i64).ok_or_else(malformed)?;
    Ok((seconds, nanos))
}
