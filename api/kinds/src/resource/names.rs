//! Names of DRA drivers and their device pools.

use quorate_meta::{Cause, name};

use crate::field::Field;
use crate::rules;

/// Bytes of a driver name, at most.
const MAX_DRIVER: usize = 63;
/// Conditions of a device that decide whether its pod is placed, at most.
const MAX_BINDING_CONDITIONS: usize = 4;
/// Bytes of a pool name, at most.
const MAX_POOL: usize = 253;

/// Checks an optional driver name: a domain, in which upper case is allowed.
pub(super) fn driver(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if !field.is_empty() {
        domain(field, field.text(), causes);
    }
}

/// Checks the domain of a driver, which is the field or a part of it.
pub(super) fn domain(field: &Field<'_>, text: &str, causes: &mut Vec<Cause>) {
    if text.len() > MAX_DRIVER {
        causes.push(Cause::too_long(field.path(), MAX_DRIVER));
    }
    let wrong = name::dns_subdomain(&text.to_lowercase());
    causes.extend(wrong.iter().map(|why| Cause::invalid(field.path(), text, why)));
}

/// Checks an optional pool name: domains separated by slashes.
pub(super) fn pool(field: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::at_most_bytes(field, MAX_POOL, causes);
    for part in field.text().split('/').filter(|_| !field.is_empty()) {
        let wrong = name::dns_subdomain(part);
        causes.extend(wrong.iter().map(|why| Cause::invalid(field.path(), part, why)));
    }
}

/// Checks the identity of a share of a device: a UUID in lower case.
pub(super) fn share(field: &Field<'_>, causes: &mut Vec<Cause>) {
    let text = field.text();
    let is_uuid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        });
    if field.is_set() && !is_uuid {
        causes.push(field.invalid("must be a lowercase UUID in 8-4-4-4-12 format"));
    }
}

/// Checks how many conditions a device has that decide whether its pod is placed.
pub(super) fn binding_conditions(device: &Field<'_>, causes: &mut Vec<Cause>) {
    for list in ["bindingConditions", "bindingFailureConditions"] {
        rules::at_most_items(&device.get(list), MAX_BINDING_CONDITIONS, causes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::field_causes;
    use serde_json::json;

    #[test]
    fn names() {
        for good in ["", "d.example.com", "D.Example.com"] {
            field_causes(driver, json!(good), &[]);
        }
        field_causes(driver, json!("A_"), &["Invalid s"]);
        field_causes(driver, json!("a".repeat(64)), &["TooLong s"]);
        for good in ["", "p", "p/q.r"] {
            field_causes(pool, json!(good), &[]);
        }
        for bad in ["P", "p/", "p//q"] {
            field_causes(pool, json!(bad), &["Invalid s"]);
        }
    }
}
