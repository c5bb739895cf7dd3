//! Strategies: the semantics of a kind beyond its schema, one implementation per kind, in a file of
//! its own.
//!
//! Invariants: strategies are stateless and do no I/O; every method has a default that suits a
//! plain kind, so that a new kind overrides only where it differs. Objects passed in have the
//! structure that the schema requires, with its defaults.
//!
//! Not here: the strategies themselves (`quorate-kinds`), and the order of their calls (`write`).

mod part;
pub(crate) mod propagation;
mod scale;
pub mod status;

use std::fmt::Debug;

use bytes::Bytes;
use quorate_meta::{Cause, Map, Names, Time, Value};
use quorate_store::Operation;

use crate::permission::{Grant, Permission, UserInfo};
pub use part::Part;
pub use propagation::{FOREGROUND, ORPHAN, Propagation};
pub use scale::ScalePaths;

use crate::allocation::Allocator;
use crate::gated_fields::GatedFields;
use crate::keys::Key;

/// What is wrong with an object, and what its client is warned of.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Why it is refused; empty when it is not.
    pub causes: Vec<Cause>,
    /// Warnings, in order.
    pub warnings: Vec<String>,
}

/// A step in the life of an object that other keys may have to follow, in the same transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The object is created.
    Created,
    /// Its deletion begins, but a finalizer or grace period still holds it.
    Terminating,
    /// It is removed.
    Removed,
}

/// The rule for `metadata.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Lower case letters, digits, `-` and `.`; at most 253 bytes.
    Subdomain,
    /// Lower case letters, digits and `-`; at most 63 bytes.
    Label,
    /// A label as above that begins with a letter.
    HostName,
    /// Any text that is a valid path segment.
    PathSegment,
    /// The rule of the kind's own validation, for names that are valid path segments.
    Own,
}

/// A column of the tables of a custom resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// The heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub ty: String,
    /// The OpenAPI format; empty for none.
    pub format: String,
    /// What it shows; may be empty.
    pub description: String,
    /// 0 for columns that are always shown.
    pub priority: i64,
    /// The JSONPath of the value.
    pub json_path: String,
}

/// The semantics of one kind.
pub trait Strategy: Send + Sync + Debug + 'static {
    /// The rule for the names of its objects.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Whether an update of an absent object creates it.
    fn create_on_update(&self) -> bool {
        false
    }

    /// Whether an update may leave `metadata.resourceVersion` empty and so replace whatever is
    /// stored.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// Whether the schema's required fields and closed sets of values are checked; a strategy whose
    /// [`Strategy::validate`] reports those itself turns that off.
    fn checks_structure(&self) -> bool {
        true
    }

    /// Whether each finalizer is qualified by a domain or a standard one.
    fn checks_finalizers(&self) -> bool {
        true
    }

    /// Whether `metadata.generation` counts the changes of the object's intent.
    fn counts_generations(&self) -> bool {
        false
    }

    /// Whether a change of the object is one that `metadata.generation` counts.
    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        self.counts_generations() && intent_differs(old, new)
    }

    /// Sets the defaults that the schema cannot express; runs on every object that a client sends.
    fn default(&self, names: &Names, object: &mut Value) {
        let _ = (names, object);
    }

    /// Whether the kind has a `spec` for its owner and a `status` for its controller, and no write
    /// reaches both: the following three methods then have the defaults for such a kind.
    fn has_status(&self) -> bool {
        false
    }

    /// Whether a write of the status leaves the object's labels, annotations, finalizers and owners
    /// as they are.
    fn status_keeps_metadata(&self) -> bool {
        false
    }

    /// Paths of fields that a write of this part does not change, so that its writer manages none
    /// of them.
    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            Part::Status if self.status_keeps_metadata() => &["spec", "metadata"],
            part if self.has_status() => status::ignored(part),
            _ => &[],
        }
    }

    /// Paths of the only fields that a write of this part changes, of which `a[].b` is the field `b`
    /// of each element of the list `a`; `None` when that is all but [`Strategy::ignored`].
    fn only(&self, part: Part) -> Option<&'static [&'static str]> {
        let _ = part;
        None
    }

    /// Fields of features that may be disabled.
    fn gated_fields(&self) -> &'static [GatedFields] {
        &[]
    }

    /// Sets or clears the fields that a client does not decide in a new object.
    fn prepare_create(&self, names: &Names, object: &mut Value) {
        let _ = names;
        if self.has_status() {
            object.set_at(&["status"], Map::new());
        }
    }

    /// Restores in `new` the fields that a writer of this part does not decide.
    fn prepare_update(&self, names: &Names, part: Part, old: &Value, new: &mut Value) {
        let _ = names;
        if self.has_status() {
            status::restore(part, old, new);
        }
        if part == Part::Status && self.status_keeps_metadata() {
            status::restore_metadata(old, new);
        }
    }

    /// Sets the times of events in the object that this write records, which is now; `old` is the
    /// object that it replaces. Runs after [`Strategy::prepare_create`] and
    /// [`Strategy::prepare_update`].
    fn stamp(&self, names: &Names, old: Option<&Value>, new: &mut Value, now: Time) {
        let _ = (names, old, new, now);
    }

    /// Records the user that creates an object, for kinds that have such a field; `None` is the
    /// server itself.
    fn created_by(&self, who: Option<UserInfo<'_>>, object: &mut Value) {
        let _ = (who, object);
    }

    /// The further permission that the user of this write needs; `Err` is the reason why no user
    /// may write it.
    fn permission(
        &self,
        names: &Names,
        part: Part,
        old: Option<&Value>,
        new: &Value,
    ) -> Result<Option<Permission>, String> {
        let _ = (names, part, old, new);
        Ok(None)
    }

    /// Rights that a write of this object grants; `None` when it grants none, or none that `old`
    /// did not.
    fn grant(&self, old: Option<&Value>, new: &Value) -> Option<Grant> {
        let _ = (old, new);
        None
    }

    /// Required fields whose absence the kind reports in its own words.
    fn judges(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether the rules that the schema declares are run for the kind.
    fn has_declared_rules(&self) -> bool {
        false
    }

    /// What is wrong with an object, whether a user or the server writes it.
    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let _ = (names, object);
        Vec::new()
    }

    /// What is wrong with a new object, besides [`Strategy::validate`].
    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let _ = (names, object);
        Vec::new()
    }

    /// What is wrong with the change from `old` to `new`, besides [`Strategy::validate`].
    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let _ = (names, part, old, new);
        Vec::new()
    }

    /// What the rules of a definition say of an object, or of the change from `old` to `new`; asked
    /// last, and told `found`: what else is wrong with the object.
    fn evaluate_rules(&self, old: Option<&Value>, new: &Value, found: &[Cause]) -> Findings {
        let _ = (old, new, found);
        Findings::default()
    }

    /// Warnings about a new object that depend on what its client has sent: asked before
    /// [`Strategy::prepare_create`].
    fn warnings_as_sent(&self, names: &Names, object: &Value) -> Vec<String> {
        let _ = (names, object);
        Vec::new()
    }

    /// Warnings for the client that writes the status of `new`.
    fn status_warnings(&self, new: &Value) -> Vec<String> {
        let _ = new;
        Vec::new()
    }

    /// Warnings for the client that writes `new`; `old` is the object that it replaces. Writes of
    /// other subresources than the scale get none: most come from controllers.
    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let _ = (names, old, new);
        Vec::new()
    }

    /// Marks an object whose deletion begins, besides its `deletionTimestamp`.
    fn begin_deletion(&self, object: &mut Value) {
        let _ = object;
    }

    /// The propagation policy when neither the deletion nor the object itself sets it.
    fn propagation(&self) -> Propagation {
        Propagation::Background
    }

    /// The warning for a client that deletes without a propagation policy.
    fn warning_of_deletion(&self) -> Option<&'static str> {
        None
    }

    /// Whether an object whose deletion is held back gets a grace period of zero in its metadata.
    fn shows_grace_period(&self) -> bool {
        true
    }

    /// The grace period in seconds between the beginning of a deletion and its end, of which the
    /// client may have requested a number; `None` for kinds whose objects are removed at once.
    fn grace_seconds(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let _ = (object, asked);
        None
    }

    /// Whether the object has another hold on its removal than `metadata.finalizers`.
    fn is_held(&self, object: &Value) -> bool {
        let _ = object;
        false
    }

    /// Why an object with this name is never deleted; `None` for all others.
    fn undeletable(&self, names: &Names, name: &str) -> Option<&'static str> {
        let _ = (names, name);
        None
    }

    /// Changes of other keys in the object's transaction.
    fn companions(&self, step: Step, name: &str) -> Vec<Operation> {
        let _ = (step, name);
        Vec::new()
    }

    /// Whether objects of this kind decide about other writes, as policies do and configurations of
    /// webhooks: every write is bound to the newest change of one.
    fn is_admission_rule(&self) -> bool {
        false
    }

    /// The allocator of the values that only one object may have; `None` for kinds without such
    /// values.
    fn allocator(&self) -> Option<&dyn Allocator> {
        None
    }

    /// The OpenAPI v3 schema that is published for its objects, in JSON; `None` for built-in kinds,
    /// whose schema is in the graph.
    fn published_schema(&self) -> Option<Bytes> {
        None
    }

    /// The columns of its tables besides the name, for kinds that the graph has no columns for.
    fn printer_columns(&self) -> &[PrinterColumn] {
        &[]
    }

    /// The places of the values of a Scale, for kinds that say them in their definition.
    fn scale_paths(&self) -> Option<&ScalePaths> {
        None
    }

    /// The value of a selectable field; empty when it has none.
    fn selectable(&self, object: &Value, field: &str) -> String {
        plain_field(object, field)
    }
}

/// Whether a field other than `metadata` and `status` differs.
pub fn intent_differs(old: &Value, new: &Value) -> bool {
    fn intent(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
        let entries = object.as_map().into_iter().flat_map(|map| map.iter());
        entries.filter(|(key, _)| !matches!(*key, "metadata" | "status"))
    }
    !intent(old).eq(intent(new))
}

/// The value at a dotted path as a field selector compares it.
pub fn plain_field(object: &Value, field: &str) -> String {
    let found = field.split('.').try_fold(object, |value, key| value.get(key));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(value)) => value.to_string(),
        Some(Value::Int(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The operation that lets a custom resource take new objects, or stops it; `name` and `uid` are
/// those of its definition.
pub fn live_definition_marker(step: Step, name: &str, uid: &str) -> Operation {
    let key = Key::LiveDefinition { name }.encode();
    match step {
        Step::Created => Operation::Put { key, value: Bytes::copy_from_slice(uid.as_bytes()) },
        Step::Terminating | Step::Removed => Operation::Delete { key },
    }
}

/// The operation that lets a namespace take new objects, or stops it.
pub fn live_marker(step: Step, namespace: &str) -> Operation {
    let key = Key::Live { namespace }.encode();
    match step {
        Step::Created => Operation::Put { key, value: Bytes::new() },
        Step::Terminating | Step::Removed => Operation::Delete { key },
    }
}
