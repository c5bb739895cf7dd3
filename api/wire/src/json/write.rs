//! The JSON writer: canonical text, compact or indented by two spaces.
//!
//! Numbers: integers in decimal; floats in the shortest form that reads back the same, integral
//! ones below 1e21 without a fraction, the very large and very small with an exponent.

use quorate_meta::{Map, Value};

use super::scan::plain_end;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends `value` in compact form.
pub fn write(value: &Value, target: &mut Vec<u8>) {
    match value {
        Value::Null => target.extend_from_slice(b"null"),
        Value::Bool(true) => target.extend_from_slice(b"true"),
        Value::Bool(false) => target.extend_from_slice(b"false"),
        Value::Int(value) => {
            target.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes())
        }
        Value::UInt(value) => {
            target.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes())
        }
        Value::Float(value) => write_float(*value, target),
        Value::String(text) => write_string(text, target),
        Value::List(items) => write_list(items, target),
        Value::Map(map) => write_map(map, target),
    }
}

/// `value` in compact form.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut target = Vec::new();
    write(value, &mut target);
    target
}

/// Appends `value` indented by two spaces, without a newline at the end.
pub fn pretty(value: &Value, target: &mut Vec<u8>) {
    write_pretty(value, 0, target);
}

/// Appends `text` in quotes with the required escapes only.
pub fn write_string(text: &str, target: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    target.push(b'"');
    let mut at = 0;
    loop {
        let end = plain_end(bytes, at);
        target.extend_from_slice(&bytes[at..end]);
        let Some(special) = bytes.get(end) else { break };
        write_escape(*special, target);
        at = end + 1;
    }
    target.push(b'"');
}

fn write_escape(byte: u8, target: &mut Vec<u8>) {
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            target.extend_from_slice(b"\\u00");
            target.push(HEX[usize::from(byte >> 4)]);
            target.push(HEX[usize::from(byte & 15)]);
            return;
        }
    };
    target.extend_from_slice(&[b'\\', short]);
}

fn write_list(items: &[Value], target: &mut Vec<u8>) {
    target.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            target.push(b',');
        }
        write(item, target);
    }
    target.push(b']');
}

fn write_map(map: &Map, target: &mut Vec<u8>) {
    target.push(b'{');
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 {
            target.push(b',');
        }
        write_string(key, target);
        target.push(b':');
        write(value, target);
    }
    target.push(b'}');
}

fn write_float(value: f64, target: &mut Vec<u8>) {
    let size = value.abs();
    if size == 0.0 {
        target.push(b'0');
    } else if (1e-6..1e21).contains(&size) {
        target.extend_from_slice(format!("{value}").as_bytes());
    } else {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').expect("the format has an exponent");
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        target.extend_from_slice(format!("{digits}e{sign}{exponent}").as_bytes());
    }
}

fn write_pretty(value: &Value, depth: usize, target: &mut Vec<u8>) {
    match value {
        Value::List(items) if !items.is_empty() => {
            target.push(b'[');
            for (index, item) in items.iter().enumerate() {
                separate(index, depth + 1, target);
                write_pretty(item, depth + 1, target);
            }
            new_line(depth, target);
            target.push(b']');
        }
        Value::Map(map) if !map.is_empty() => {
            target.push(b'{');
            for (index, (key, value)) in map.iter().enumerate() {
                separate(index, depth + 1, target);
                write_string(key, target);
                target.extend_from_slice(b": ");
                write_pretty(value, depth + 1, target);
            }
            new_line(depth, target);
            target.push(b'}');
        }
        other => write(other, target),
    }
}

fn separate(index: usize, depth: usize, target: &mut Vec<u8>) {
    if index > 0 {
        target.push(b',');
    }
    new_line(depth, target);
}

fn new_line(depth: usize, target: &mut Vec<u8>) {
    target.push(b'\n');
    target.resize(target.len() + 2 * depth, b' ');
}
