//! Values to JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quorate_meta as data;
use quorate_meta::Naming;

use crate::library::standard::format_double;
use crate::naming::in_profile;
use crate::value::Value;

/// A value as JSON, its type beside it; types have the names of `naming`.
pub fn encode(value: &Value<'_>, naming: Naming) -> data::Value {
    let text = |text: &str| data::Value::String(text.to_owned());
    match value {
        Value::Null => tagged("null", data::Value::Null),
        Value::Bool(value) => tagged("bool", data::Value::Bool(*value)),
        Value::Int(value) => tagged("int64", text(&value.to_string())),
        Value::Uint(value) => tagged("uint64", text(&value.to_string())),
        Value::Double(value) => tagged("double", text(&double(*value))),
        Value::String(value) => tagged("string", text(value)),
        Value::Bytes(bytes) => tagged("bytes", text(&STANDARD.encode(&**bytes))),
        Value::Timestamp(at) => {
            tagged("timestamp", parts(at.unix_seconds(), i64::from(at.subsecond_nanos())))
        }
        Value::Duration(span) => {
            tagged("duration", parts(span.whole_seconds(), i64::from(span.subsecond_nanos())))
        }
        Value::Type(name) => tagged("type", text(&in_profile(naming, name))),
        Value::List(list) => tagged(
            "list",
            data::Value::List(list.iter().map(|item| encode(&item, naming)).collect()),
        ),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| {
                data::Value::List(vec![encode(&key, naming), encode(&value, naming)])
            });
            tagged("map", data::Value::List(entries.collect()))
        }
        Value::Optional(held) => {
            tagged("optional", held.as_ref().map_or(data::Value::Null, |held| encode(held, naming)))
        }
        Value::Opaque(value) => opaque(&in_profile(naming, value.type_name()), &value.text()),
        Value::Error(error) => opaque("error", &in_profile(naming, &error.to_string())),
    }
}

fn tagged(tag: &str, value: data::Value) -> data::Value {
    let mut map = data::Map::with_capacity(1);
    map.insert(tag, value);
    data::Value::Map(map)
}

fn opaque(type_name: &str, text: &str) -> data::Value {
    let words = [type_name, text].map(|word| data::Value::String(word.to_owned()));
    tagged("opaque", data::Value::List(words.into()))
}

fn parts(seconds: i64, nanos: i64) -> data::Value {
    let mut map = data::Map::with_capacity(2);
    map.insert("nanos", data::Value::Int(nanos));
    map.insert("seconds", data::Value::String(seconds.to_string()));
    data::Value::Map(map)
}

fn double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    format_double(value)
}
