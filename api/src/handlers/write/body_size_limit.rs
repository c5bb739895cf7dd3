//! The limit on the values in a request's body, and in what it makes of an object.
//!
//! Counted are values: with all that checks and defaults say about each, more would take far more
//! time and memory than a body may. What the server itself adds (defaults, entries of owners) does
//! not count against the client.

use quorate_meta::{Status, Value};

use quorate_registry::error::Error;

/// The size of a body, or of an object that has been patched, at most.
const MAX_WEIGHT: usize = 240_000;
/// What a map or a list counts as; any other value counts as 1.
const STRUCTURE: usize = 4;
/// Where the entries of owners are.
const OWNERS: [&str; 2] = ["metadata", "managedFields"];

/// 413 for a body with too many values.
pub(in crate::handlers) fn check_body(body: &Value) -> Result<(), Error> {
    check(weight(body), 0)
}

/// 413 for what a patch makes of an object, when that is larger than a body may be and than the
/// object was: a small patch can copy.
pub(in crate::handlers) fn check_patched(before: &Value, after: &Value) -> Result<(), Error> {
    check(of_owners(after), of_owners(before))?;
    check_applied(Some(before), after)
}

/// As [`check_patched`], where the entries of owners are the server's own.
pub(in crate::handlers) fn check_applied(
    before: Option<&Value>,
    after: &Value,
) -> Result<(), Error> {
    let own = |object: &Value| weight(object) - of_owners(object);
    check(own(after), before.map_or(0, own))
}

fn check(now: usize, before: usize) -> Result<(), Error> {
    if now <= before.max(MAX_WEIGHT) {
        return Ok(());
    }
    let why = format!(
        "the limit is {MAX_WEIGHT} values, of which an object or a list counts as {STRUCTURE}"
    );
    Err(Status::request_entity_too_large(&why).into())
}

fn of_owners(object: &Value) -> usize {
    object.at(&OWNERS).map_or(0, weight)
}

fn weight(value: &Value) -> usize {
    match value {
        Value::List(items) => STRUCTURE + items.iter().map(weight).sum::<usize>(),
        Value::Map(map) => STRUCTURE + map.values().map(weight).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Map;

    #[test]
    fn parts_are_counted_on_every_level() {
        let check = |text: &[u8], expect: usize| {
            assert_eq!(weight(&quorate_wire::json::parse(text).unwrap().0), expect);
        };
        check(br#"{"a":[1,{"b":null}],"c":{}}"#, 18);
        check(b"[]", 4);
        check(b"0", 1);
    }

    #[test]
    fn objects_do_not_grow_beyond_what_a_body_may_weigh() {
        let object = |own: usize, owners: usize| {
            let list = |weight: usize| Value::List(vec![Value::Null; weight - STRUCTURE]);
            let metadata = Value::Map(Map::from([("managedFields", list(owners))]));
            Value::Map(Map::from([("spec", list(own - 2 * STRUCTURE)), ("metadata", metadata)]))
        };
        let check = |before: (usize, usize), after: (usize, usize), expect: [bool; 2]| {
            let (old, new) = (object(before.0, before.1), object(after.0, after.1));
            let found = [check_patched(&old, &new), check_applied(Some(&old), &new)]
                .map(|result| result.is_ok());
            assert_eq!(found, expect, "{before:?} {after:?}");
        };
        let (few, most) = (100, MAX_WEIGHT);
        check((few, few), (most, most), [true; 2]);
        check((few, few), (most + 1, few), [false; 2]);
        check((few, few), (few, most + 1), [false, true]);
        check((most + 1, most + 1), (most + 1, most + 1), [true; 2]);
        check((most + 1, few), (most + 2, few), [false; 2]);
    }
}
