//! The migration from client-side apply: the `last-applied-configuration` annotation of kubectl.
//!
//! Fields that still have the value from the annotation, in the same text, belong to kubectl; an
//! annotation that is no object of the same version and kind says nothing. After a server-side apply
//! by kubectl the annotation follows the applied configuration, so that both ways can be mixed.

use quorate_meta::{Value, well_known};

use super::Config;
use crate::fieldset::{FieldSet, compare};
use crate::graph::{Graph, TypeId};

/// The default field manager of `kubectl apply --server-side`.
pub(super) const MANAGER: &str = "kubectl";

/// Bytes of all annotations of an object; an annotation that would exceed them is removed.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

const ANNOTATION: [&str; 3] = ["metadata", "annotations", well_known::ANNOTATION_LAST_APPLIED];

/// The fields of the live object that have their value from the last client-side apply; `None`
/// without an annotation that is a partial object as `config` is one.
pub(super) fn settled_fields(
    graph: &Graph,
    ty: TypeId,
    live: &Value,
    config: &Config,
) -> Option<FieldSet> {
    let applied: Value = serde_json::from_str(live.str_at(&ANNOTATION)?).ok()?;
    if ["apiVersion", "kind"].iter().any(|field| applied.get(field) != config.value().get(field)) {
        return None;
    }
    let applied = Config::new(graph, ty, applied).ok()?;
    let mut fields = applied.fields().clone();
    let changes = compare(graph, ty, applied.value(), live);
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
