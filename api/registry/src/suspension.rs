//! Suspension: for a while admission leaves out a policy or a configuration of webhooks.
//!
//! It is an annotation of the object, an instant in RFC 3339, so that it is written, authorized and
//! audited like every other change of the object, at any node. Admission is never asked about these
//! objects, so nothing that it refuses stands in the way.
//!
//! Invariant: what cannot be read suspends nothing.

use quorate_meta::{Names, Time, Value};

/// The name of the annotation, in the domain of the naming profile.
const NAME: &str = "admission-suspended-until";

/// The key of the annotation.
#[must_use]
pub fn annotation(names: &Names) -> String {
    names.domain_key(NAME)
}

/// The text of the annotation of an object, if it has one.
#[must_use]
pub fn text<'o>(names: &Names, object: &'o Value) -> Option<&'o str> {
    object.str_at(&["metadata", "annotations", &annotation(names)])
}

/// Until when an object is suspended; a time that has passed counts no more.
#[must_use]
pub fn until(names: &Names, object: &Value) -> Option<Time> {
    text(names, object).and_then(|text| Time::parse(text).ok())
}
