//! Test vectors: bytes and their values, made by hand from the rules of the wire format.

use super::*;
use crate::json;
use crate::protobuf::{decode_message, encode_message};

/// Fields that every message of the test type has, since it has no presence: flag, int, text, at,
/// amount, embedded.
const ZERO: [(u32, &str); 6] =
    [(1, "0800"), (2, "1000"), (5, "2a00"), (7, "3a00"), (9, "4a 03 0a0130"), (13, "6a 02 0a00")];

/// Reads `hex` as the JSON `expect` (the amount that is always there left out).
#[track_caller]
fn check_read(hex: &str, expect: &str) {
    let (graph, id) = all();
    let mut got = decode_message(&graph, id, &bytes(hex));
    if let Ok(value) = &mut got
        && value.str_at(&["amount"]) == Some("0")
    {
        value.remove_at(&["amount"]);
    }
    match got {
        Ok(got) => assert_eq!(String::from_utf8_lossy(&json::to_vec(&got)), expect, "{hex}"),
        Err(error) => assert_eq!(error.to_string(), expect, "{hex}"),
    }
}

/// Reads as `check_read` does; and the value is written as these bytes at their place between the
/// zero fields.
#[track_caller]
fn check(tag: u32, field: &str, json: &str) {
    check_read(field, json);
    let (graph, id) = all();
    let mut value = value(json);
    quorate_schema::canonicalize(&graph, id, &mut value);
    let others =
        ZERO.iter().filter(|(other, _)| *other != tag).map(|(other, field)| (*other, *field));
    let mut fields: Vec<_> = others.chain([(tag, field)]).collect();
    fields.sort_by_key(|(tag, _)| *tag);
    let expect: Vec<u8> = fields.iter().flat_map(|(_, field)| bytes(field)).collect();
    let got = encode_message(&graph, id, &value).expect("a canonical value is written");
    assert_eq!(hex(&got), hex(&expect), "{json}");
}

#[test]
fn numbers_and_texts() {
    check(0, "", "{}");
    check(1, "0801", r#"{"flag":true}"#);
    check(2, "10 96 01", r#"{"int":150}"#);
    check(2, "10 ffffffffffffffffff01", r#"{"int":-1}"#);
    check(2, "10 ffffffff07", r#"{"int":2147483647}"#);
    check(3, "1800", r#"{"long":0}"#);
    check(3, "18 80808080808080808001", r#"{"long":-9223372036854775808}"#);
    check(4, "21 000000000000f83f", r#"{"ratio":1.5}"#);
    check(4, "21 0000000000000840", r#"{"ratio":3}"#);
    check(5, "2a 03 e282ac", "{\"text\":\"\u{20ac}\"}");
    check(6, "32 03 fffe00", r#"{"blob":"//4A"}"#);
    check(200, "c20c 01 78", r#"{"late":"x"}"#);
    check(200, "c20c 00", r#"{"late":""}"#);
}

#[test]
fn small_messages() {
    check(7, "3a 04 0801 1000", r#"{"at":"1970-01-01T00:00:01Z"}"#);
    check(7, "3a 04 0800 1000", r#"{"at":"1970-01-01T00:00:00Z"}"#);
    check(8, "42 05 0802 108827", r#"{"exactly":"1970-01-01T00:00:02.000005Z"}"#);
    check(8, "42 0d 08ffffffffffffffffff01 1000", r#"{"exactly":"1969-12-31T23:59:59.000000Z"}"#);
    check(9, "4a 06 0a04 3130306d", r#"{"amount":"100m"}"#);
    check(10, "52 07 0800 10d00f 1a00", r#"{"port":2000}"#);
    check(10, "52 0a 0801 1000 1a04 68747470", r#"{"port":"http"}"#);
    check(11, r"5a 0b 0a09 7b2261223a5b315d7d", r#"{"free":{"a":[1]}}"#);
    check_read("3a00 4200 5a00 4a00", "{}");
    check_read("5200", r#"{"port":0}"#);
    check_read("3a 08 0801 10ff93ebdc03", r#"{"at":"1970-01-01T00:00:01Z"}"#);
}

#[test]
fn messages_lists_and_maps() {
    check(12, "62 04 0801 1200", r#"{"inner":{"a":1}}"#);
    check(12, "62 0a 0800 1200 1a 04 0801 1200", r#"{"inner":{"next":{"a":1}}}"#);
    check(12, "62 04 0800 1200", r#"{"inner":{}}"#);
    check(13, "6a 03 0a 01 78", r#"{"deep":"x"}"#);
    check(14, "72 01 61 72 00 72 01 62", r#"{"texts":["a","","b"]}"#);
    check(15, "7801 7800 78ffffffffffffffffff01", r#"{"numbers":[1,0,-1]}"#);
    check(16, "8201 04 0801 1200 8201 05 0800 1201 78", r#"{"inners":[{"a":1},{"b":"x"}]}"#);
    check(17, "8a01 06 0a0161 120162 8a01 05 0a0163 1200", r#"{"labels":{"a":"b","c":""}}"#);
    check(18, "9201 09 0a0161 1204 0801 1200", r#"{"inner_by_name":{"a":{"a":1}}}"#);
    check(19, "9a01 06 0a0161 0a0162", r#"{"verbs":["a","b"]}"#);
    check(20, "a201 0a 0a0161 1205 0a0178 0a00", r#"{"extra":{"a":["x",""]}}"#);
    check(20, "a201 05 0a0161 1200", r#"{"extra":{"a":[]}}"#);
}

#[test]
fn what_senders_may_do() {
    // A message in two parts, fields in any order, the last scalar wins.
    check_read("62 03 120178 1007 1008 62 02 0801", r#"{"inner":{"a":1,"b":"x"},"int":8}"#);
    // A packed list and its continuation.
    check_read("7a 03 01ac02 7805", r#"{"numbers":[1,300,5]}"#);
    // Entries out of order, one key twice, one without key, one without value.
    check_read(
        "8a01 06 0a0162 120131 8a01 03 120132 8a01 06 0a0162 120133",
        r#"{"labels":{"":"2","b":"3"}}"#,
    );
    check_read("8a01 03 0a0161 a201 03 0a0162", r#"{"extra":{"b":[]},"labels":{"a":""}}"#);
    // Unknown fields of every wire type, and groups within groups.
    check_read("f803 01 f903 0000000000000000 fa03 01 ff fd03 00000000 1001", r#"{"int":1}"#);
    check_read("fb03 0801 f303 f403 fc03 1001", r#"{"int":1}"#);
    // More than 32 bits are cut, a boolean is anything but zero.
    check_read("10 8180808010 0802", r#"{"flag":true,"int":1}"#);
}

#[test]
fn what_is_refused() {
    check_read("0a00", "protobuf: All.flag: wrong wire type");
    check_read("2801", "protobuf: All.text: wrong wire type");
    check_read("2a 02 fffe", "protobuf: All.text: text is not valid UTF-8");
    check_read("62 02 1205", "protobuf: All.inner: unexpected end of message");
    check_read("62 02 0a00", "protobuf: Inner.a: wrong wire type");
    check_read("2a 05 61", "protobuf: unexpected end of message");
    check_read("2a ffffffffffffffffff01", "protobuf: unexpected end of message");
    check_read("10 ffffffffffffffffff02", "protobuf: number is longer than 64 bits");
    check_read("10 ffffffffffffffffffff01", "protobuf: number is longer than 64 bits");
    check_read("00 00", "protobuf: illegal field key 0");
    check_read("0e", "protobuf: illegal field key 14");
    check_read("0c", "protobuf: illegal field key 12");
    check_read("0b", "protobuf: unexpected end of message");
    check_read("0b 14", "protobuf: illegal field key 20");
    check_read("f8ffffff1f 00", "protobuf: illegal field key 8589934584");
    check_read("52 02 0802", "protobuf: All.port: 2 is neither an integer's nor a text's type");
    check_read("21 000000000000f07f", "protobuf: All.ratio: inf cannot be written as JSON");
    check_read("21 000000000000f87f", "protobuf: All.ratio: NaN cannot be written as JSON");
    check_read("3a 07 08ffffffffff7f", "protobuf: All.at: time is outside of the years 0 to 9999");
    check_read("3a 0b 10ffffffffffffffffff01", "{\"at\":\"1970-01-01T00:00:00Z\"}");
    check_read("3a 0b 1080f8ffffffffffffff01", "protobuf: All.at: nanoseconds are negative");
    check_read("5a 03 0a01 7b", "protobuf: All.free: unexpected end of JSON input");
}

#[test]
fn what_cannot_be_written() {
    let check = |json: &str, expect: &str| {
        let (graph, id) = all();
        let error = encode_message(&graph, id, &value(json)).expect_err("not of the type");
        assert_eq!(error.to_string(), expect, "{json}");
    };
    check("[]", "protobuf: array instead of a map");
    check(r#"{"flag":1}"#, "protobuf: All.flag: number is not of type Bool");
    check(r#"{"inner":{"a":"x"}}"#, "protobuf: Inner.a: string is not of type Int32");
    check(r#"{"texts":"x"}"#, "protobuf: All.texts: string instead of a list");
    check(r#"{"labels":["x"]}"#, "protobuf: All.labels: array instead of a map");
    check(r#"{"blob":"%"}"#, "protobuf: All.blob: Invalid symbol 37, offset 0.");
    check(r#"{"at":"now"}"#, "protobuf: All.at: \"now\" is not an RFC 3339 time");
}
