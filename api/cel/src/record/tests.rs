//! Values through JSON and back.

use quorate_meta::Naming::Svc;

use super::{decode, encode};
use crate::library::time::{Duration, Timestamp};
use crate::value::{Table, Value};

#[test]
fn what_is_encoded_reads_back() {
    let check = |value: Value<'static>| {
        let json = encode(&value, Svc);
        let back = decode(&json, Svc).unwrap();
        assert_eq!(encode(&back, Svc), json, "{value:?}");
    };
    check(Value::Null);
    check(Value::Bool(true));
    check(Value::Int(i64::MIN));
    check(Value::Uint(u64::MAX));
    check(Value::Double(-0.0));
    check(Value::Double(f64::NAN));
    check(Value::Double(f64::NEG_INFINITY));
    check(Value::Double(1.2e7));
    check(Value::string("ä"));
    check(Value::bytes(vec![0xff]));
    check(Value::Timestamp(Timestamp::from_unix(-1, 5).unwrap()));
    check(Value::Duration(Duration::from_nanos(-1_500_000_000)));
    check(Value::NONE);
    check(Value::some(Value::NONE));
    let mut table = Table::new();
    table.insert(Value::Int(1), Value::list(vec![Value::Null]));
    check(Value::map(table));
}

#[test]
fn what_is_no_value() {
    let check = |json: quorate_meta::Value| assert!(decode(&json, Svc).is_err(), "{json:?}");
    check(quorate_meta::Value::Null);
    check(quorate_meta::Value::Map(quorate_meta::Map::new()));
    check(encode(&Value::Error(std::sync::Arc::new(crate::eval::EvalError::CostLimit)), Svc));
}
