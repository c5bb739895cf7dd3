//! Tests of the codec: bytes made by hand, round trips of random objects of every kind, hostile
//! input.

use quorate_meta::{Naming, Value};
use quorate_schema::{Graph, TypeId};

mod envelope;
mod hostile;
mod round_trip;
mod transcode;
mod vectors;

/// One type with every form of field.
const IDL: &str = "group core/v1

type All
  1 flag bool
  2 int int32
  3 long int64?
  4 ratio double?
  5 text string
  6 blob bytes
  7 at time
  8 exactly microtime?
  9 amount quantity always
  10 port intorstring?
  11 free any?
  12 inner Inner?
  13 embedded Embedded inline
  14 texts []string
  15 numbers []int32
  16 inners []Inner
  17 labels {}string
  18 inner_by_name {}Inner
  19 verbs []string wrapped
  20 extra {}[]string wrapped
  - hidden string
  200 late string?

type Inner
  2 b string
  1 a int32
  3 next Inner?

type Embedded
  1 deep string
";

/// The graph of the test type, and the type.
fn all() -> (Graph, TypeId) {
    let graph = Graph::load(Naming::Svc.names(), &[("test", IDL)]).expect("the test IDL is valid");
    let id = graph.type_named("core/v1.All").expect("a type").id;
    (graph, id)
}

fn value(json: &str) -> Value {
    crate::json::parse(json.as_bytes()).expect("valid JSON").0
}

/// Bytes from hexadecimal digits; other characters are ignored.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter_map(|c| c.to_digit(16))
        .map(|d| u8::try_from(d).expect("a digit"))
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
