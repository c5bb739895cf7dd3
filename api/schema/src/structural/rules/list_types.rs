//! The rules of list types: sets of things that are compared as a whole, maps with keys that every element has.

use std::collections::HashSet;

use quorate_meta::{Cause, Value};

use super::words::wrong_type;
use crate::structural::limits::Told;
use crate::structural::place::Place;
use crate::structural::source::Source;

const LIST_TYPES: [&str; 3] = ["atomic", "set", "map"];

/// Checks one schema.
pub(super) fn check(schema: Source<'_>, place: &Place<'_>, told: &mut Told) {
    let words = schema.words;
    let list_type = schema.list_type();
    if let Some(list_type) = list_type {
        if schema.ty() != "array" {
            let why = format!("must be array if {} is specified", words.list_type);
            told.push(|| wrong_type(place, schema.ty(), &why));
        } else if list_type == "set" {
            set_elements(schema, place, told);
        }
        if !LIST_TYPES.contains(&list_type) {
            let place = place.child(&words.list_type);
            told.push(|| Cause::not_supported(place.text(), list_type, &LIST_TYPES));
        }
    }
    if schema.list_map_keys().next().is_some() && list_type != Some("map") {
        let field = place.child(&words.list_type);
        let why = format!("must be map if {} is non-empty", words.list_map_keys);
        told.push(|| match list_type {
            None => Cause::required(field.text(), &why),
            Some(other) => Cause::invalid(field.text(), other, &why),
        });
    }
    if list_type == Some("map") {
        keyed(schema, place, told);
    }
    if let Some("map" | "set") = list_type {
        nulls(schema, place, told);
    }
}

/// Elements of a set are compared as a whole, so they must be owned as a whole.
fn set_elements(schema: Source<'_>, place: &Place<'_>, told: &mut Told) {
    let Some(items) = schema.items() else { return };
    let (word, given, is_whole) = match items.ty() {
        "array" => (
            &items.words.list_type,
            items.list_type(),
            matches!(items.list_type(), None | Some("atomic")),
        ),
        "object" => (&items.words.map_type, items.map_type(), items.map_type() == Some("atomic")),
        _ => return,
    };
    if !is_whole {
        let why = format!("must be atomic as item of a list with {}=set", schema.words.list_type);
        let given = given.map_or(Value::Null, Value::from);
        told.push(|| Cause::invalid(place.child("items").child(word).text(), given, &why));
    }
}

fn keyed(schema: Source<'_>, place: &Place<'_>, told: &mut Told) {
    let words = schema.words;
    let condition = format!("if {} is map", words.list_type);
    let keys_place = place.child(&words.list_map_keys);
    if schema.list_map_keys().next().is_none() {
        told.push(|| Cause::required(keys_place.text(), &format!("must not be empty {condition}")));
    }
    let items_place = place.child("items");
    let Some(items) = schema.items() else {
        match schema.get("items") {
            None => told.push(|| {
                Cause::required(items_place.text(), &format!("must have a schema {condition}"))
            }),
            Some(items) => {
                let why = format!("must only have a single schema {condition}");
                told.push(|| Cause::invalid(items_place.text(), items.clone(), &why));
            }
        }
        return;
    };
    if items.ty() != "object" {
        let why = format!("must be object if parent array's {} is map", words.list_type);
        told.push(|| Cause::invalid(items_place.child("type").text(), items.ty(), &why));
        return;
    }
    let all = || Value::List(schema.list_map_keys().map(Value::from).collect());
    let mut seen = HashSet::new();
    for key in schema.list_map_keys() {
        match items.property(key) {
            Some(property) if ["array", "object"].contains(&property.ty()) => {
                let why =
                    format!("must be a scalar type if parent array's {} is map", words.list_type);
                let properties = items_place.child("properties");
                told.push(|| {
                    Cause::invalid(properties.key(key).child("type").text(), items.ty(), &why)
                });
            }
            Some(_) => {}
            None => {
                let why = "entries must all be names of item properties";
                told.push(|| Cause::invalid(keys_place.text(), all(), why));
            }
        }
        if !seen.insert(key) {
            told.push(|| {
                Cause::invalid(keys_place.text(), all(), "must not contain duplicate entries")
            });
        }
    }
}

/// Elements and keys are never `null`, and every element has all keys.
fn nulls(schema: Source<'_>, place: &Place<'_>, told: &mut Told) {
    let Some(items) = schema.items() else { return };
    let list_type = schema.list_type().unwrap_or_default();
    let place = place.child("items");
    let word = &schema.words.list_type;
    if items.flag("nullable") {
        let why = format!("cannot be nullable when {word} is {list_type}");
        told.push(|| Cause::forbidden(place.child("nullable").text(), &why));
    }
    if list_type != "map" {
        return;
    }
    let required: HashSet<&str> = items.texts("required").collect();
    let properties = place.child("properties");
    for key in schema.list_map_keys() {
        let Some(property) = items.property(key) else {
            continue;
        };
        let place = properties.key(key);
        let beginning = format!("this property is in {}, so it", schema.words.list_map_keys);
        if !required.contains(key) && property.get("default").is_none() {
            let why = format!("{beginning} must have a default or be a required property");
            told.push(|| Cause::required(place.child("default").text(), &why));
        }
        if property.flag("nullable") {
            let why = format!("{beginning} cannot be nullable");
            told.push(|| Cause::forbidden(place.child("nullable").text(), &why));
        }
    }
}
