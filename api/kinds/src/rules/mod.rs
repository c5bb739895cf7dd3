//! Field checks that several kinds share: names, ports, addresses, selectors, quantities,
//! immutability.
//!
//! Each adds its field errors to a list. Checks of names and addresses themselves are in
//! `quorate_meta`.

#[cfg(test)]
pub(crate) mod tests;

use quorate_meta::{Cause, Quantity, Value, name};

use crate::field::Field;
use quorate_meta::net::{self, NOT_AN_ADDRESS};

pub(crate) const IMMUTABLE: &str = "field is immutable";
/// The protocols of ports.
pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const NOT_A_PORT: &str = "must be between 1 and 65535, inclusive";
/// Characters of a port name, at most (RFC 6335).
const MAX_PORT_NAME: usize = 15;
/// Bytes of the name of a CSI driver, at most.
const MAX_CSI_DRIVER_NAME: usize = 63;

/// Checks a required string against a rule for names.
pub(crate) fn name(field: &Field<'_>, rule: fn(&str) -> Vec<String>, causes: &mut Vec<Cause>) {
    if field.text().is_empty() {
        causes.push(field.required(""));
    } else {
        causes.extend(field.invalid_for(&rule(field.text())));
    }
}

/// Checks an optional string against a rule for names.
pub(crate) fn optional_name(
    field: &Field<'_>,
    rule: fn(&str) -> Vec<String>,
    causes: &mut Vec<Cause>,
) {
    if !field.text().is_empty() {
        name(field, rule, causes);
    }
}

/// Checks the name of a CSI driver.
pub(crate) fn csi_driver_name(driver: &Field<'_>, causes: &mut Vec<Cause>) {
    if driver.is_empty() {
        causes.push(driver.required(""));
        return;
    }
    if driver.text().len() > MAX_CSI_DRIVER_NAME {
        causes.push(Cause::too_long(driver.path(), MAX_CSI_DRIVER_NAME));
    }
    causes.extend(driver.invalid_for(&name::dns_subdomain(&driver.text().to_ascii_lowercase())));
}

/// Checks that the field is not empty.
pub(crate) fn required(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if field.is_empty() {
        causes.push(field.required(""));
    }
}

/// Checks a required value of an enumeration.
pub(crate) fn one_of(field: &Field<'_>, supported: &[&str], causes: &mut Vec<Cause>) {
    if field.text().is_empty() {
        causes.push(field.required(""));
    } else {
        optional_one_of(field, supported, causes);
    }
}

/// Checks an optional value of an enumeration.
pub(crate) fn optional_one_of(field: &Field<'_>, supported: &[&str], causes: &mut Vec<Cause>) {
    if field.is_set() && !supported.contains(&field.text()) {
        causes.push(field.not_supported(supported));
    }
}

/// Checks that the number is in a range, both ends included.
pub(crate) fn between(field: &Field<'_>, low: i64, high: i64, why: &str, causes: &mut Vec<Cause>) {
    if !field.int().is_some_and(|number| (low..=high).contains(&number)) {
        causes.push(Cause::invalid(field.path(), field.int().unwrap_or_default(), why));
    }
}

/// Checks that the number is not negative.
pub(crate) fn not_negative(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if field.int().is_some_and(|number| number < 0) {
        causes.push(field.invalid("must be greater than or equal to 0"));
    }
}

/// Checks a port number.
pub(crate) fn port(field: &Field<'_>, causes: &mut Vec<Cause>) {
    between(field, 1, 65535, NOT_A_PORT, causes);
}

/// Checks a port number or port name (`IntOrString`).
pub(crate) fn port_or_name(field: &Field<'_>, causes: &mut Vec<Cause>) {
    match field.value() {
        Value::String(text) => causes.extend(field.invalid_for(&port_name(text))),
        _ => port(field, causes),
    }
}

/// Why a text is no port name (a service name of RFC 6335).
pub(crate) fn port_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut check = |holds: bool, why: String| {
        if !holds {
            wrong.push(why);
        }
    };
    check(text.len() <= MAX_PORT_NAME, format!("must be no more than {MAX_PORT_NAME} characters"));
    let plain = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    check(plain, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    let letter = text.bytes().any(|b| b.is_ascii_lowercase());
    check(letter, "must contain at least one letter (a-z)".into());
    check(!text.contains("--"), "must not contain consecutive hyphens".into());
    check(
        !text.starts_with('-') && !text.ends_with('-'),
        "must not begin or end with a hyphen".into(),
    );
    wrong
}

/// Checks an IP address.
pub(crate) fn address(field: &Field<'_>, causes: &mut Vec<Cause>) {
    if net::address(field.text()).is_none() {
        causes.push(Cause::invalid(field.path(), field.text(), NOT_AN_ADDRESS));
    }
}

/// Checks a map of labels.
pub(crate) fn labels(field: &Field<'_>, causes: &mut Vec<Cause>) {
    let texts = field.entries().map(|(key, value)| (key, value.text()));
    causes.extend(name::labels(field.path(), texts));
}

/// Checks a map of annotations.
pub(crate) fn annotations(field: &Field<'_>, causes: &mut Vec<Cause>) {
    let texts = field.entries().map(|(key, value)| (key, value.text()));
    causes.extend(name::annotations(field.path(), texts));
}

/// Checks the metadata of a template: labels and annotations, and no field of a single object.
pub(crate) fn template_metadata(metadata: &Field<'_>, causes: &mut Vec<Cause>) {
    annotations(&metadata.get("annotations"), causes);
    labels(&metadata.get("labels"), causes);
    for (key, _) in metadata.value().as_map().into_iter().flat_map(|map| map.iter()) {
        let field = metadata.get(key);
        if !matches!(key, "annotations" | "labels") && !field.is_empty() {
            let path = metadata.path().child(if key == "uid" { "uID" } else { key });
            causes.push(Cause::forbidden(path, "cannot be set"));
        }
    }
}

/// Checks the length of a string in bytes.
pub(crate) fn at_most_bytes(field: &Field<'_>, max: usize, causes: &mut Vec<Cause>) {
    if field.text().len() > max {
        causes.push(Cause::too_long(field.path(), max));
    }
}

/// Checks the length of a list; whether it is not too long.
pub(crate) fn at_most_items(list: &Field<'_>, max: usize, causes: &mut Vec<Cause>) -> bool {
    let is_short = list.items().len() <= max;
    if !is_short {
        causes.push(Cause::too_many(list.path(), list.items().len(), max));
    }
    is_short
}

/// Checks an optional label selector.
pub(crate) fn selector(field: &Field<'_>, causes: &mut Vec<Cause>) {
    labels(&field.get("matchLabels"), causes);
    for term in field.get("matchExpressions").items() {
        let (operator, values) = (term.get("operator"), term.get("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                causes
                    .push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                causes.push(values.forbidden(
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                ));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => causes.push(Cause::invalid(
                operator.path(),
                operator.text(),
                "not a valid selector operator",
            )),
        }
        let key = term.get("key");
        let wrong = name::qualified_name(key.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(key.path(), key.text(), why)));
        for value in values.items() {
            causes.extend(value.invalid_for(&name::label_value(value.text())));
        }
    }
}

/// Checks that the value has not changed.
pub(crate) fn immutable(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<Cause>) {
    let same = old.value() == new.value() || (old.is_empty() && new.is_empty());
    if !same {
        causes.push(new.invalid(IMMUTABLE));
    }
}

/// Replaces an empty list by `null`, as the API writes a list without `omitempty`.
pub(crate) fn null_when_empty(object: &mut Value, path: &[&str]) {
    if let Some(list) = object.at_mut(path).filter(|list| list.is_empty()) {
        *list = Value::Null;
    }
}

/// The quantity in a field.
pub(crate) fn quantity(field: &Field<'_>) -> Quantity {
    Quantity::parse(field.text()).unwrap_or(Quantity::ZERO)
}

/// Whether the field holds a quantity above zero.
pub(crate) fn is_positive(field: &Field<'_>) -> bool {
    quantity(field) > Quantity::ZERO
}
