//! Tests of reading: the examples of RFC 8949, appendix A, as JSON, and the tags of strings and
//! times.

use super::*;

#[track_caller]
fn check(hex: &str, json: &str) {
    let value = parse(&bytes(hex)).map(|value| String::from_utf8(json::to_vec(&value)).unwrap());
    assert_eq!(value.as_deref().map_err(ToString::to_string), Ok(json), "{hex}");
}

#[track_caller]
fn refused(hex: &str, why: &str) {
    assert_eq!(
        parse(&bytes(hex)).map_err(|error| error.problem.to_string()),
        Err(why.to_owned()),
        "{hex}"
    );
}

#[test]
fn numbers() {
    check("00", "0");
    check("17", "23");
    check("1818", "24");
    check("1903e8", "1000");
    check("1b000000e8d4a51000", "1000000000000");
    check("1bffffffffffffffff", "18446744073709551615");
    check("20", "-1");
    check("3903e7", "-1000");
    check("3b7fffffffffffffff", "-9223372036854775808");
    check("f93e00", "1.5");
    check("f93c00", "1");
    check("fa47c35000", "100000");
    check("fb3ff199999999999a", "1.1");
    check("fb7e37e43c8800759c", "1e+300");
    check("f90001", "5.960464477539063e-8");
    check("1800", "0");
    refused("3bffffffffffffffff", "integer is below the least one of 64 bits");
    refused("c249010000000000000000", "integer is longer than 64 bits");
    refused("c349010000000000000000", "integer is longer than 64 bits");
    for not_finite in ["f97c00", "f97e00", "f9fc00", "fa7f800000", "fb7ff8000000000000"] {
        refused(not_finite, "number is not finite");
    }
}

#[test]
fn strings() {
    check("60", "\"\"");
    check("6449455446", "\"IETF\"");
    check("62c3bc", "\"ü\"");
    check("64f0908591", "\"𐅑\"");
    check("4449455446", "\"IETF\"");
    check("7f657374726561646d696e67ff", "\"streaming\"");
    check("5f42686943206869ff", "\"hi hi\"");
    check("d64401020304", "\"AQIDBA==\"");
    check("d65f420102420304ff", "\"AQIDBA==\"");
    check("d543fbf0ff", "\"-_D_\"");
    check("d74401fa0304", "\"01FA0304\"");
    check("d66161", "\"a\"");
    check("d681420102", "[\"\\u0001\\u0002\"]");
    refused("41ff", "string is not valid UTF-8");
    refused("61c3", "string is not valid UTF-8");
    refused("7f61c361bcff", "string is not valid UTF-8");
    refused("5f6161ff", "malformed data item");
    refused("7f7f6161ffff", "malformed data item");
}

#[test]
fn times() {
    check("c074323031332d30332d32315432303a30343a30305a", "\"2013-03-21T20:04:00Z\"");
    check("c054323031332d30332d32315432303a30343a30305a", "\"2013-03-21T20:04:00Z\"");
    check("c11a514b67b0", "\"2013-03-21T20:04:00Z\"");
    check("c1fb41d452d9ec200000", "\"2013-03-21T20:04:00.500000Z\"");
    check("c120", "\"1969-12-31T23:59:59Z\"");
    refused("c06161", "tag 0 encloses no RFC 3339 time");
    refused("c000", "tag 0 encloses no RFC 3339 time");
    refused("c16161", "tag 1 encloses no time of the years 0 to 9999");
    refused("c11bffffffffffffffff", "tag 1 encloses no time of the years 0 to 9999");
    refused("c1fb7e37e43c8800759c", "tag 1 encloses no time of the years 0 to 9999");
}

#[test]
fn the_rest() {
    check("f4", "false");
    check("f5", "true");
    check("f6", "null");
    check("80", "[]");
    check("8301820203820405", "[1,[2,3],[4,5]]");
    check("9f018202039f0405ffff", "[1,[2,3],[4,5]]");
    check("a0", "{}");
    check("a26161016162820203", "{\"a\":1,\"b\":[2,3]}");
    check("bf61610161629f0203ffff", "{\"a\":1,\"b\":[2,3]}");
    check("a2416202416101", "{\"a\":1,\"b\":2}");
    check("d9d9f7a0", "{}");
    check("d9d9f7d9d9f700", "0");
    check("d82076687474703a2f2f7777772e6578616d706c652e636f6d", "\"http://www.example.com\"");
    check("d818456449455446", "\"dIETF\"");
    refused("f7", "simple value is none of true, false and null");
    refused("f0", "simple value is none of true, false and null");
    refused("f8ff", "simple value is none of true, false and null");
    refused("f814", "malformed data item");
    refused("a10102", "key of a map is no string");
    refused("a1d64161f6", "key of a map is no string");
    refused("a2616101616102", "duplicate key \"a\" in a map");
    refused("a2616101416102", "duplicate key \"a\" in a map");
    refused("0000", "unexpected data after the data item");
    refused("ff", "unexpected break");
    refused("81ff", "unexpected break");
    refused("bf6161ff", "unexpected break");
    for head in ["1c", "3d", "5e", "7c", "9d", "bc", "dd", "fc", "1f", "df"] {
        refused(head, "malformed data item");
    }
    for cut in
        ["", "18", "1a000000", "41", "6261", "81", "a1", "a16161", "9f", "bf", "5f", "d9d9f7", "c0"]
    {
        refused(cut, "unexpected end of data");
    }
}

#[test]
fn an_error_says_where() {
    let error = parse(&bytes("83 01 02 f7")).unwrap_err();
    assert_eq!(error.to_string(), "cbor: simple value is none of true, false and null (at byte 4)");
}
