//! Fields that field selectors may name: at most eight, each a text, a flag or a whole number of
//! the schema outside of lists.

use std::collections::HashSet;

use quorate_meta::{Cause, Value};
use quorate_schema::structural::field_path;

use crate::crd::field::Field;

/// Selectable fields of a version, at most.
const MAX_SELECTABLE: usize = 8;
const WRONG_TYPE: &str = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";

/// Checks the selectable fields of a version, or of all; `schema` is that of the same versions.
pub(super) fn check(fields: &Field<'_>, schema: &Value, causes: &mut Vec<Cause>) {
    if fields.is_empty() {
        return;
    }
    let Some(schema) = schema.get("openAPIV3Schema").and_then(Value::as_map) else {
        let why =
            "selectableFields may only be set when version.schema.openAPIV3Schema is not included";
        causes.push(Cause::invalid(fields.path(), "", why));
        return;
    };
    let mut seen = HashSet::new();
    for field in fields.items() {
        let path = field.get("jsonPath");
        if path.text().is_empty() {
            causes.push(path.required(""));
            continue;
        }
        let found = match field_path::find(schema, path.text(), false) {
            Ok(found) => found,
            Err(why) => {
                causes.push(path.invalid(&format!("is an invalid path: {why}")));
                continue;
            }
        };
        if found.first == "metadata" {
            causes.push(path.invalid("must not point to fields in metadata"));
        }
        let ty = found.schema.get_str("type").unwrap_or_default();
        if !["string", "boolean", "integer"].contains(&ty) {
            causes.push(path.invalid(WRONG_TYPE));
        }
        if !seen.insert(found.path.into_text()) {
            causes.push(Cause::duplicate(path.path(), path.text()));
        }
    }
    if seen.len() > MAX_SELECTABLE {
        causes.push(Cause::too_many(fields.path(), seen.len(), MAX_SELECTABLE));
    }
}
