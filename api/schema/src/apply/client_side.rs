//! The way from client-side apply (001, server-side apply 10): kubectl keeps what it applied on the client side in an
//! annotation. Fields that still have the value from there are kubectl's to change, and once it applies on the server
//! side the annotation follows, so that both ways can be mixed.

use quorate_meta::{Value, well_known};

use super::Config;
use crate::decode::canonicalize;
use crate::fieldset::{FieldSet, compare, members};
use crate::graph::{Graph, TypeId};

/// The name under which kubectl applies on the server side, when nothing else is asked for.
pub(super) const MANAGER: &str = "kubectl";

/// Bytes of all annotations together; one more and the annotation is given up.
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

const ANNOTATION: [&str; 3] = ["metadata", "annotations", well_known::ANNOTATION_LAST_APPLIED];

/// The fields that the live object has as they were last applied on the client side; `None` when nothing was, or it cannot
/// be read.
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

/// Writes what is applied into the annotation, when there is one.
pub(super) fn keep_in_step(object: &mut Value, config: &Config) {
    if object.str_at(&ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = config.value().clone();
    applied.remove_at(&ANNOTATION);
    let text = serde_json::to_string(&applied).map(|text| text + "\n").unwrap_or_default();
    let Some(annotations) = object.at_mut(&ANNOTATION[..2]).and_then(Value::as_map_mut) else { return };
    annotations.insert(well_known::ANNOTATION_LAST_APPLIED, text);
    let bytes: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > MAX_ANNOTATION_BYTES {
        annotations.remove(well_known::ANNOTATION_LAST_APPLIED);
    }
}
