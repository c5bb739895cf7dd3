//! What only expressions of mutating policies have: `JSONPatch{...}`, `jsonpatch.escapeKey` and `Object{...}`.
//!
//! Not here: applying patches and objects, and checking the operations of patches.

mod answer;
mod types;

#[cfg(test)]
mod tests;

pub use answer::{AnswerError, PatchOperation, applied_object, patch_operations};
pub use types::{JSON_PATCH, OBJECT};
pub(crate) use types::{construct, field, object_type};

use super::arguments::text;
use crate::eval::EvalError;
use crate::overload::Overload;
use crate::types::Type;
use crate::value::Value;

/// Every overload.
pub(crate) fn overloads() -> Vec<Overload> {
    vec![Overload::global(
        "jsonpatch.escapeKey",
        "string_jsonpatch_escapeKey_string",
        [Type::String],
        Type::String,
        escape_key,
    )]
}

/// A key as a part of a JSON pointer.
fn escape_key<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::string(text(arguments, 0)?.replace('~', "~0").replace('/', "~1")))
}
