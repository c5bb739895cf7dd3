//! Values as the clauses print them.

use super::clause::Clause;
use super::number::{fixed, scientific};
use crate::library::quote::quoted;
use crate::library::standard::format_double;
use crate::value::{List, Map, Value};

/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 250;

/// A value as a clause prints it.
pub(super) fn print(clause: Clause, value: &Value<'_>) -> Result<String, String> {
    match clause {
        Clause::Text => text(value, 0),
        Clause::Decimal => decimal(value),
        Clause::Fixed(precision) => double(clause, value).map(|value| fixed(value, precision)),
        Clause::Scientific(width) => double(clause, value).map(|value| scientific(value, width)),
        Clause::Binary => match value {
            Value::Int(value) => Ok(signed(*value, |size| format!("{size:b}"))),
            Value::Uint(value) => Ok(format!("{value:b}")),
            Value::Bool(value) => Ok(if *value { "1" } else { "0" }.to_owned()),
            _ => Err(refused(clause, value.type_name())),
        },
        Clause::Hexadecimal { upper } => {
            let lower = hexadecimal(clause, value)?;
            Ok(if upper { lower.to_ascii_uppercase() } else { lower })
        }
        Clause::Octal => match value {
            Value::Int(value) => Ok(signed(*value, |size| format!("{size:o}"))),
            Value::Uint(value) => Ok(format!("{value:o}")),
            _ => Err(refused(clause, value.type_name())),
        },
    }
}

/// What is said when a clause does not take a type.
pub(super) fn refused(clause: Clause, type_name: &str) -> String {
    let taken = match clause {
        Clause::Text => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hexadecimal { .. } => {
            "only integers, byte buffers, and strings can be formatted as hex"
        }
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{taken}, was given {type_name}")
}

fn text(value: &Value<'_>, depth: usize) -> Result<String, String> {
    Ok(match value {
        Value::List(items) => return list(items, depth),
        Value::Map(entries) => return map(entries, depth),
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => format_double(*value),
        Value::String(text) | Value::Type(text) => text.to_string(),
        Value::Timestamp(value) => value.to_string(),
        Value::Duration(value) => value.to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                let error = "invalid UTF-8 in bytes, cannot convert to string";
                return Err(format!("could not convert argument \"{error}\" to string"));
            }
        },
        Value::Optional(_) | Value::Opaque(_) | Value::Error(_) => {
            return Err(refused(Clause::Text, value.type_name()));
        }
    })
}

fn decimal(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::Int(value) => Ok(value.to_string()),
        Value::Uint(value) => Ok(value.to_string()),
        _ => Err(refused(Clause::Decimal, value.type_name())),
    }
}

/// A double, or text that names one.
fn double(clause: Clause, value: &Value<'_>) -> Result<f64, String> {
    match (value, value.as_str()) {
        (Value::Double(value), _) => Ok(*value),
        (_, Some("NaN")) => Ok(f64::NAN),
        (_, Some("Infinity")) => Ok(f64::INFINITY),
        (_, Some("-Infinity")) => Ok(f64::NEG_INFINITY),
        _ => Err(refused(clause, value.type_name())),
    }
}

fn hexadecimal(clause: Clause, value: &Value<'_>) -> Result<String, String> {
    let bytes = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match value {
        Value::Int(value) => Ok(signed(*value, |size| format!("{size:x}"))),
        Value::Uint(value) => Ok(format!("{value:x}")),
        Value::String(text) => Ok(bytes(text.as_bytes())),
        Value::Bytes(blob) => Ok(bytes(blob)),
        _ => Err(refused(clause, value.type_name())),
    }
}

/// A sign where there is one, and the size.
fn signed(value: i64, size: fn(u64) -> String) -> String {
    let printed = size(value.unsigned_abs());
    if value < 0 { format!("-{printed}") } else { printed }
}

fn list(items: &List<'_>, depth: usize) -> Result<String, String> {
    let printed = items.iter().map(|item| member(&item, depth)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("[{}]", printed.join(", ")))
}

/// The entries in the order of their printed keys.
fn map(entries: &Map<'_>, depth: usize) -> Result<String, String> {
    let mut printed = Vec::with_capacity(entries.len());
    for (key, value) in entries.iter() {
        let key = match &key {
            Value::String(text) => quoted(text),
            Value::Bool(value) => value.to_string(),
            Value::Int(_) | Value::Uint(_) => decimal(&key)?,
            key => {
                return Err(format!(
                    "no formatting function for map key of type {}",
                    key.type_name()
                ));
            }
        };
        printed.push((key, member(&value, depth)?));
    }
    printed.sort_by(|left, right| left.0.cmp(&right.0));
    let entries: Vec<String> =
        printed.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}

/// An element or value, written so that an expression could hold it.
fn member(value: &Value<'_>, depth: usize) -> Result<String, String> {
    if depth >= MAX_DEPTH {
        return Err(format!("lists and maps are nested more than {MAX_DEPTH} deep"));
    }
    Ok(match value {
        Value::String(text) => quoted(text),
        Value::Bytes(_) => format!("b{}", quoted(&text(value, depth)?)),
        Value::Timestamp(value) => format!("timestamp({})", quoted(&value.to_string())),
        Value::Duration(value) => format!("duration({})", quoted(&value.to_string())),
        Value::Double(value) if value.is_finite() => format!("{value:.6}"),
        Value::Double(value) => quoted(&format_double(*value)),
        Value::List(_)
        | Value::Map(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Bool(_)
        | Value::Null => text(value, depth + 1)?,
        Value::Type(_) => text(value, depth)?,
        Value::Optional(_) | Value::Opaque(_) | Value::Error(_) => {
            return Err(format!("no formatting function for {}", value.type_name()));
        }
    })
}
