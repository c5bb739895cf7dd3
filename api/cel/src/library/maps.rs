//! Insertion into maps, which the macros `transformMap` and `transformMapEntry` expand to.

use super::kinds::{map, param};
use super::standard::show;
use crate::environment::Release;
use crate::eval::EvalError;
use crate::overload::Overload;
use crate::value::{Map, Value};

/// The release in which macros of two variables appeared.
const SINCE: Release = Release(32);

/// `cel.@mapInsert`, of one entry or of all those of another map.
pub(super) fn overloads() -> Vec<Overload> {
    let (k, v) = (|| param("K"), || param("V"));
    let maps = || map(k(), v());
    let all = vec![
        Overload::global(
            "cel.@mapInsert",
            "@mapInsert_map_map",
            [maps(), maps()],
            maps(),
            insert_call,
        ),
        Overload::global(
            "cel.@mapInsert",
            "@mapInsert_map_key_value",
            [maps(), k(), v()],
            maps(),
            insert_call,
        ),
    ];
    all.into_iter().map(|overload| overload.since(SINCE)).collect()
}

fn insert_call<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match arguments {
        [Value::Map(target), Value::Map(added)] => insert_all(target.clone(), added),
        [Value::Map(target), key, value] => {
            insert_entry(target.clone(), key.clone(), value.clone())
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

/// `target` with the entries of `added`; a map that nothing else holds grows in place.
pub(crate) fn insert_all<'a>(mut target: Map<'a>, added: &Map<'a>) -> Result<Value<'a>, EvalError> {
    for (key, value) in added.iter() {
        insert(&mut target, key, value)?;
    }
    Ok(Value::Map(target))
}

/// `target` with one more entry; a map that nothing else holds grows in place.
pub(crate) fn insert_entry<'a>(
    mut target: Map<'a>,
    key: Value<'a>,
    value: Value<'a>,
) -> Result<Value<'a>, EvalError> {
    insert(&mut target, key, value)?;
    Ok(Value::Map(target))
}

fn insert<'a>(target: &mut Map<'a>, key: Value<'a>, value: Value<'a>) -> Result<(), EvalError> {
    if target.get(&key).is_some() {
        return Err(EvalError::new(format!("insert failed: key {} already exists", show(&key))));
    }
    target.insert(key, value);
    Ok(())
}
