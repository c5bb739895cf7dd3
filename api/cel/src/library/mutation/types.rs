//! The types `Object`, `Object.spec`, ... and `JSONPatch`, which only expressions of mutating policies can build.
//!
//! Invariants: an object takes any field; a patch operation takes those of RFC 6902.

use std::sync::Arc;

use crate::eval::EvalError;
use crate::library::names;
use crate::types::Type;
use crate::value::{Table, Value};

/// Type of an operation of a JSON patch.
pub const JSON_PATCH: &str = "JSONPatch";
/// Type of an object; fields that are objects have types named by their path from here.
pub const OBJECT: &str = "Object";

/// The type that a name stands for.
pub(crate) fn object_type(name: &str) -> Option<Type> {
    (name == JSON_PATCH || is_object(name)).then(|| names::object(name))
}

/// The type of a field; none when the type is not known, `Some(None)` when it has no such field.
pub(crate) fn field(of: &str, field: &str) -> Option<Option<Type>> {
    match (of, field) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Some(Type::String)),
        (JSON_PATCH, "value") => Some(Some(Type::Dyn)),
        (JSON_PATCH, _) => Some(None),
        _ => is_object(of).then_some(Some(Type::Dyn)),
    }
}

/// The value that is built of fields; none when the type is not one of these.
pub(crate) fn construct<'a>(
    type_name: &str,
    fields: &[(&str, Value<'a>)],
) -> Option<Result<Value<'a>, EvalError>> {
    object_type(type_name)?;
    let mut table = Table::of_type(Arc::from(type_name));
    for (name, value) in fields {
        if type_name == JSON_PATCH && *name != "value" && value.as_str().is_none() {
            let found = value.type_name();
            return Some(Err(EvalError::new(format!(
                "unexpected type {found} for JSONPatchType '{name}' field"
            ))));
        }
        table.insert(Value::string(*name), value.clone());
    }
    Some(Ok(Value::map(table)))
}

fn is_object(name: &str) -> bool {
    name.strip_prefix(OBJECT).is_some_and(|path| path.is_empty() || path.starts_with('.'))
}
