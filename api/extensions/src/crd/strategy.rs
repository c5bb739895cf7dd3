//! The semantics of CustomResourceDefinition as the write pipeline asks for them.
//!
//! Invariants: `status.storedVersions` always has the storage version; a definition is removed only
//! after the controller has deleted its objects, for which a finalizer holds it.
//! Not here: the rules of valid definitions (`validation`), and the controllers.

use std::sync::Arc;

use quorate_env::blocking;
use quorate_meta::{Cause, Map, Names, Value};
use quorate_registry::strategy::{intent_differs, live_definition_marker, status};
use quorate_registry::{Part, Step, Strategy};
use quorate_schema::Graph;
use quorate_store::Operation;

use super::{validation, warnings};

/// The strategy of CustomResourceDefinition.
#[derive(Debug)]
pub struct DefinitionStrategy {
    base: Arc<Graph>,
}

impl DefinitionStrategy {
    /// `base` is the built-in graph, over which schemas are compiled.
    #[must_use]
    pub fn new(base: Arc<Graph>) -> Self {
        Self { base }
    }
}

impl Strategy for DefinitionStrategy {
    fn checks_structure(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    /// Writers of the status manage none of the metadata, but the cleanup removes the finalizer
    /// through it.
    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            Part::Status => &["spec", "metadata"],
            part => status::ignored(part),
        }
    }

    /// The beginning of a deletion is no change of intent, so generations are counted here.
    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        intent_differs(old, new)
    }

    fn default(&self, _: &Names, object: &mut Value) {
        let text = |name: &str| object.str_at(&["spec", "names", name]).unwrap_or_default();
        let kind = text("kind").to_owned();
        let (singular, list) = (text("singular").is_empty(), text("listKind").is_empty());
        if kind.is_empty() {
            return;
        }
        if singular {
            object.set_at(&["spec", "names", "singular"], kind.to_lowercase());
        }
        if list {
            object.set_at(&["spec", "names", "listKind"], format!("{kind}List"));
        }
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["metadata", "generation"], 1);
        object.set_at(&["status"], Map::new());
        add_storage_version(object);
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        if part != Part::Status {
            add_storage_version(new);
        }
    }

    fn validate_create(&self, _: &Names, object: &Value) -> Vec<Cause> {
        blocking(|| validation::create(&self.base, object))
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        match part {
            Part::Status => validation::status(new),
            _ => blocking(|| validation::update(&self.base, old, new)),
        }
    }

    fn warnings(&self, _: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::formats(old, new)
    }

    fn shows_grace_period(&self) -> bool {
        false
    }

    /// The first deletion always only begins: the objects of the resource are deleted before.
    fn is_held(&self, object: &Value) -> bool {
        object.at(&["metadata", "deletionTimestamp"]).is_none_or(Value::is_empty)
    }

    fn begin_deletion(&self, object: &mut Value) {
        let own = self.base.names().finalizer_custom_resources;
        let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_list);
        let mut finalizers = finalizers.unwrap_or_default().to_vec();
        if !finalizers.iter().any(|finalizer| finalizer.as_str() == Some(own)) {
            finalizers.push(own.into());
            object.set_at(&["metadata", "finalizers"], Value::List(finalizers));
        }
        let since = object.at(&["metadata", "deletionTimestamp"]).cloned().unwrap_or_default();
        set_terminating(object, since);
    }

    /// The controller puts the marker when it establishes the definition.
    fn companions(&self, step: Step, name: &str) -> Vec<Operation> {
        match step {
            Step::Created => Vec::new(),
            Step::Terminating | Step::Removed => vec![live_definition_marker(step, name, "")],
        }
    }
}

/// Adds the storage version to the versions that objects may be stored in.
fn add_storage_version(object: &mut Value) {
    let versions = object.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default();
    let is_storage =
        |version: &&Value| version.get("storage").and_then(Value::as_bool) == Some(true);
    let Some(name) = versions.iter().find(is_storage).and_then(|version| version.get("name"))
    else {
        return;
    };
    let name = name.clone();
    let stored = object.at(&["status", "storedVersions"]).and_then(Value::as_list);
    let mut stored = stored.unwrap_or_default().to_vec();
    if !stored.contains(&name) {
        stored.push(name);
        object.set_at(&["status", "storedVersions"], Value::List(stored));
    }
}

fn set_terminating(object: &mut Value, since: Value) {
    let condition = Map::from([
        ("type", Value::from("Terminating")),
        ("status", "True".into()),
        ("lastTransitionTime", since),
        ("reason", "InstanceDeletionPending".into()),
        (
            "message",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will be initiated soon".into(),
        ),
    ]);
    let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list);
    let mut conditions = conditions.unwrap_or_default().to_vec();
    conditions
        .retain(|condition| condition.get("type").and_then(Value::as_str) != Some("Terminating"));
    conditions.push(condition.into());
    object.set_at(&["status", "conditions"], Value::List(conditions));
}

#[cfg(test)]
mod tests;
