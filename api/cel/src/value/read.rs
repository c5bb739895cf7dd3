//! Data read as its shape declares it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quorate_meta as data;

use super::{List, Map, Shape, Text, Value};
use crate::eval::EvalError;
use crate::library::quantity;
use crate::library::time::{Duration, Timestamp};

impl Shape {
    /// `value`, read in this way; a [`Value::Error`] when it is not as declared.
    pub fn read<'a>(&'a self, value: &'a data::Value) -> Value<'a> {
        match (self, value) {
            (_, data::Value::Null) => Value::Null,
            (Self::Dyn | Self::Bool, data::Value::Bool(value)) => Value::Bool(*value),
            (Self::Double, value) => {
                value.as_f64().map_or_else(|| not_declared("float"), Value::Double)
            }
            (Self::Dyn | Self::Int | Self::IntOrString, data::Value::Int(value)) => {
                Value::Int(*value)
            }
            (Self::Dyn, data::Value::UInt(value)) => Value::Uint(*value),
            (Self::Dyn, data::Value::Float(value)) => Value::Double(*value),
            (Self::Dyn | Self::String | Self::IntOrString, data::Value::String(text)) => {
                Value::String(Text::Borrowed(text))
            }
            (
                Self::Bytes | Self::Date | Self::Timestamp | Self::Duration | Self::Quantity,
                data::Value::String(text),
            ) => self
                .read_text(text)
                .unwrap_or_else(|text| Value::Error(Arc::new(EvalError::new(text)))),
            (Self::Dyn | Self::List(_), data::Value::List(items)) => {
                Value::List(List::tree(items, self))
            }
            (Self::Dyn | Self::Map(_) | Self::Object(_), data::Value::Map(map)) => {
                Value::Map(Map::tree(map, self))
            }
            _ => not_declared(self.expected()),
        }
    }

    fn read_text<'a>(&self, text: &str) -> Result<Value<'a>, String> {
        Ok(match self {
            Self::Bytes => {
                let bytes = STANDARD
                    .decode(text)
                    .map_err(|error| invalid("byte formatted string", text, &error))?;
                Value::bytes(bytes)
            }
            Self::Date => Value::Timestamp(timestamp(
                &format!("{text}T00:00:00Z"),
                "date formatted string",
                text,
            )?),
            Self::Quantity => quantity::value(text).map_err(str::to_owned)?,
            Self::Timestamp => {
                Value::Timestamp(timestamp(text, "date-time formatted string", text)?)
            }
            _ => Value::Duration(
                Duration::parse(text)
                    .ok_or_else(|| format!("Invalid duration {text}: unable to parse it"))?,
            ),
        })
    }

    /// What messages call data of this shape.
    fn expected(&self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Double => "float",
            Self::Bool => "bool",
            Self::IntOrString => "XIntOrString value to be either a string or integer",
            Self::List(_) => "an array for the provided schema with type=array",
            Self::Map(_) | Self::Object(_) => "a map for the provided schema with type=object",
            _ => "string",
        }
    }
}

fn timestamp(text: &str, what: &str, written: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).map_err(|_| invalid(what, written, &"unable to parse it"))
}

fn invalid(what: &str, text: &str, error: &dyn std::fmt::Display) -> String {
    format!("Invalid {what} {text}: {error}")
}

fn not_declared<'a>(expected: &str) -> Value<'a> {
    Value::Error(Arc::new(EvalError::new(format!("invalid data, expected {expected}"))))
}
