//! Tests of CBOR: the examples of RFC 8949, refusals, the deterministic form, round trips.

mod hostile;
mod read;
mod write;

use quorate_meta::{Naming, Value};
use quorate_schema::Graph;

use super::*;
use crate::json;

fn graph() -> Graph {
    Graph::builtin(Naming::Svc.names())
}

/// Bytes from hexadecimal digits; spaces are ignored.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tree(json: &str) -> Value {
    json::parse(json.as_bytes()).expect(json).0
}
