//! Changes: what a mutation makes of an object.

use quorate_cel::library::mutation::PatchOperation;
use quorate_meta::{Map, Value};
use quorate_schema::apply::{Config, atomics, overlay};
use quorate_schema::{Graph, TypeId, unknown_fields};

/// What a mutation changes.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Fields to apply, without `apiVersion` and `kind`.
    Apply(Map),
    /// The operations of a JSON patch.
    Patch(Vec<PatchOperation>),
}

/// The object of a type with the applied fields, in canonical form, without new defaults.
///
/// # Errors
/// A text when the fields do not fit the type, or would replace something as a whole.
pub fn apply_configuration(
    graph: &Graph,
    ty: TypeId,
    object: &Value,
    mut fields: Map,
) -> Result<Value, String> {
    for field in ["apiVersion", "kind"] {
        match object.get(field) {
            Some(value) => drop(fields.insert(field, value.clone())),
            None => drop(fields.remove(field)),
        }
    }
    let applied = Config::new(graph, ty, Value::Map(fields)).map_err(|error| {
        format!("error applying patch: failed to convert patch object to typed object: {error}")
    })?;
    let atomics = atomics(graph, ty, &applied);
    if !atomics.is_empty() {
        return Err(format!(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}",
            atomics.join(", ")
        ));
    }
    Ok(overlay(graph, ty, object, &applied))
}

/// The paths of the fields of an object that its type does not have.
#[must_use]
pub fn undeclared_fields(graph: &Graph, ty: TypeId, object: &Value) -> Vec<String> {
    unknown_fields(graph, ty, &mut object.clone(), false).paths
}
