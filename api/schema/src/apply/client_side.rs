//! The migration from client-side apply: the `last-applied-configuration` annotation of kubectl.
//!
//! Fields that still have the value from the annotation belong to kubectl. After a server-side
//! apply by kubectl the annotation follows the applied configuration, so that both ways can be
//! mixed.

use quorate_meta::{Value, well_known};

use super::Config;
use crate::decode::canonicalize;
use crate::fieldset::{FieldSet, compare, members};
use crate::graph::{Graph, TypeId};

/// The default field manager of `kubectl apply --server-side`.
pub(super) const MANAGER: &str = "kubectl";

/// Bytes of all annotations of an object; an annotation that would exceed them is removed.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

const ANNOTATION: [&str; 3] = ["metadata", "annotations", well_known::ANNOTATION_LAST_APPLIED];

/// The fields of the live object that have their value from the last client-side apply; `None`
/// without a readable annotation.
pub(super) fn settled_fields(graph: &Graph, ty: TypeId, live: &Value) -> Option<FieldSet> {
    let mut applied: Value = serde_json::from_str(live.str_at(&ANNOTATION)?).ok()?;
    crate::decode::check_types(graph, ty, &applied).ok()?;
    let mut fields = members(graph, ty, &applied);
    canonicalize(graph, ty, &mut applied);
    let changes = compare(graph, ty, &applied, live);
    fields.subtract(&changes.added);
    fields.subtract(&changes.modified);
    fields.subtract(&changes.removed);
    Some(fields)
}

/// Writes the applied configuration into the annotation, if the object has it.
pub(super) fn keep_in_step(object: &mut Value, config: &Config) {
    if object.str_at(&ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = config.value().clone();
    applied.remove_at(&ANNOTATION);
    let text = serde_json::to_string(&applied).map(|text| text + "\n").unwrap_or_default();
    let Some(annotations) = object.at_mut(&ANNOTATION[..2]).and_then(Value::as_map_mut) else {
        return;
    };
    annotations.insert(well_known::ANNOTATION_LAST_APPLIED, text);
    let bytes: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > MAX_ANNOTATION_BYTES {
        annotations.remove(well_known::ANNOTATION_LAST_APPLIED);
    }
}
