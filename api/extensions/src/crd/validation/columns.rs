//! Printer columns, and the simple JSONPaths that they and `scale` use.

use quorate_meta::Cause;

use crate::crd::field::Field;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// Checks the columns of a version, or of all.
pub(super) fn check(columns: &Field<'_>, causes: &mut Vec<Cause>) {
    columns.items().for_each(|column| one(&column, causes));
}

fn one(column: &Field<'_>, causes: &mut Vec<Cause>) {
    let name = column.get("name");
    if name.text().is_empty() {
        causes.push(name.required(""));
    }
    let (ty, types) = (column.get("type"), format!("must be one of {}", TYPES.join(",")));
    if ty.text().is_empty() {
        causes.push(ty.required(&types));
    } else if !TYPES.contains(&ty.text()) {
        causes.push(ty.invalid(&types));
    }
    let format = column.get("format");
    if !format.text().is_empty() && !FORMATS.contains(&format.text()) {
        causes.push(format.invalid(&format!("must be one of {}", FORMATS.join(","))));
    }
    let path = column.named("jsonPath", "JSONPath");
    if path.text().is_empty() {
        causes.push(path.required(""));
    } else {
        causes.extend(not_simple(&path));
    }
}

/// Why a path that is given is no simple one.
pub(super) fn not_simple(path: &Field<'_>) -> Option<Cause> {
    let is_simple = path.text().starts_with('.');
    (!is_simple).then(|| path.invalid("must be a simple json path starting with ."))
}
