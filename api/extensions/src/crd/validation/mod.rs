//! The rules of valid definitions, in the order in which release-1.35 servers tell of them.
//!
//! What all versions have in common (schema, subresources, columns, selectable fields) is checked
//! once, and field errors name the place below `spec` where `v1beta1` had it; what differs is
//! checked below `spec.versions`.
//!
//! Invariant: nothing here changes a definition.
//! Not here: expressions in CEL, their costs, and conflicts of names between definitions.

mod columns;
mod conversion;
mod names;
mod scale;
mod schema;
mod selectable;
mod status;
mod tolerance;
mod update;
mod versions;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use quorate_meta::{Cause, Names, Value};
use quorate_schema::Graph;

pub(super) use self::conversion::bundle_problem;
use self::tolerance::Tolerance;
use self::versions::Common;
use super::approval;
use super::field::Field;

/// What is wrong with a new definition.
pub(super) fn create(base: &Arc<Graph>, definition: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let root = Field::root(definition);
    names::own(&root, &mut causes);
    spec(base, &root.get("spec"), &Tolerance::default(), &mut causes);
    rest(base.names(), None, definition, &mut causes);
    causes
}

/// What is wrong with a definition that replaces `old`.
pub(super) fn update(base: &Arc<Graph>, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let root = Field::root(new);
    spec(base, &root.get("spec"), &Tolerance::of(base, old), &mut causes);
    update::immutable(&Field::root(old), &root, &mut causes);
    rest(base.names(), Some(old), new, &mut causes);
    causes
}

/// What is wrong with the status of a definition.
pub(super) fn status(definition: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    status::accepted_names(&Field::root(definition), &mut causes);
    causes
}

fn spec(base: &Arc<Graph>, spec: &Field<'_>, tolerance: &Tolerance<'_>, causes: &mut Vec<Cause>) {
    names::group(&spec.get("group"), causes);
    spec.get("scope").one_of(&["Cluster", "Namespaced"], causes);
    versions::schemas(spec, tolerance, causes);
    schema::defaults(spec, causes);
    let common = Common::of(spec);
    versions::check(base, spec, &common, tolerance, causes);
    versions::together(spec, &common, causes);
    names::required(&spec.get("names"), causes);
    names::check(&spec.get("names"), causes);
    versions::common(base, spec, &common, tolerance, causes);
    conversion::check(spec, tolerance, causes);
}

fn rest(names: &Names, old: Option<&Value>, new: &Value, causes: &mut Vec<Cause>) {
    let root = Field::root(new);
    status::accepted_names(&root, causes);
    status::stored_versions(&root, causes);
    approval::check(names, old, new, causes);
    schema::pruning(names, old, &root.get("spec"), causes);
}
