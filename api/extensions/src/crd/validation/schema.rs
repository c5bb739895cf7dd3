//! Schemas: structural, with defaults that they accept; unknown fields are pruned.

use std::sync::Arc;

use quorate_cel::declarations::pattern;
use quorate_meta::{Cause, Names, Value};
use quorate_schema::Graph;
use quorate_schema::structural::{self, Options, Structural};

use super::tolerance::Tolerance;
use crate::crd::field::Field;
use crate::crd::rules::written;
use crate::crd::warnings::each_below;

/// What is wrong with the form of a schema, in the order of release-1.35 servers.
pub(super) fn problems(base: &Arc<Graph>, schema: &Field<'_>, has_status: bool) -> Vec<Cause> {
    compile(base, schema, has_status).err().unwrap_or_default()
}

/// `None` for an absent schema.
fn compile(
    base: &Arc<Graph>,
    schema: &Field<'_>,
    has_status: bool,
) -> Result<Option<Structural>, Vec<Cause>> {
    let schema = schema.get("openAPIV3Schema");
    if !schema.is_set() {
        return Ok(None);
    }
    let options = Options { base, patterns: &pattern, has_status };
    structural::compile(schema.value(), schema.path(), options).map(Some)
}

/// Checks the `schema` of a version, or of all.
pub(super) fn check(
    base: &Arc<Graph>,
    schema: &Field<'_>,
    has_status: bool,
    is_unchanged: bool,
    tolerance: &Tolerance<'_>,
    causes: &mut Vec<Cause>,
) {
    match compile(base, schema, has_status) {
        Ok(None) => {}
        Ok(Some(compiled)) => {
            let schema = schema.get("openAPIV3Schema");
            let stored = tolerance.rules(is_unchanged);
            causes.extend(written::check(&compiled, schema.value(), schema.path(), stored));
        }
        Err(found) => causes.extend(found.into_iter().filter(|cause| !tolerance.allows(cause))),
    }
}

/// Defaults need pruning.
pub(super) fn defaults(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let preserves = spec.get("preserveUnknownFields");
    if !preserves.is_true() {
        return;
    }
    let versions = spec.get("versions");
    let mut open: Vec<&Value> = Vec::new();
    for version in versions.items() {
        open.extend(version.value().at(&["schema", "openAPIV3Schema"]));
    }
    while let Some(schema) = open.pop() {
        if schema.get("default").is_some_and(|default| !default.is_null()) {
            let why = "must be false in order to use defaults in the schema";
            causes.push(preserves.invalid(why));
            return;
        }
        each_below(schema, &mut open);
    }
}

/// Unknown fields are kept only where a schema says so, unless the definition is an old one.
pub(super) fn pruning(
    names: &Names,
    old: Option<&Value>,
    spec: &Field<'_>,
    causes: &mut Vec<Cause>,
) {
    let was_kept = old
        .and_then(|old| old.at(&["spec", "preserveUnknownFields"]))
        .and_then(Value::as_bool)
        .unwrap_or_default();
    let preserves = spec.get("preserveUnknownFields");
    if preserves.is_true() && !was_kept {
        let extension = names.extension("preserve-unknown-fields");
        causes.push(preserves.invalid(&format!(
            "cannot set to true, set {extension} to true in spec.versions[*].schema instead"
        )));
    }
}
