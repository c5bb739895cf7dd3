//! What no schema can say about a kind: one implementation per kind, in a file of its own.
//!
//! Invariants: strategies are stateless and do no I/O; every method has a default that suits a plain kind, so that a new
//! kind only says where it differs. Objects handed in have the structure that the schema asks for, with its defaults.

pub(crate) mod propagation;
pub mod status;

use std::fmt::Debug;

use bytes::Bytes;
use quorate_meta::{Cause, Map, Names, Time, Value};
use quorate_store::Operation;

use super::author::{Grant, Permission, UserInfo};
pub use propagation::{FOREGROUND, ORPHAN, Propagation};

use crate::allocation::Allocator;
use crate::gated_fields::GatedFields;
use crate::keys::Key;

/// Which part of an object a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The resource itself: everything but what belongs to subresources.
    Main,
    /// The `status` subresource.
    Status,
    /// The `finalize` subresource.
    Finalize,
    /// The `approval` subresource.
    Approval,
    /// The number of replicas, through the `scale` subresource.
    Scale,
    /// The node that a pod runs on, through the `binding` subresource.
    Binding,
    /// The guests of a running pod, through the `ephemeralcontainers` subresource.
    EphemeralContainers,
}

impl Part {
    /// The part that a subresource writes; `None` for a subresource that is no part of the object.
    #[must_use]
    pub fn of(subresource: Option<&str>) -> Option<Self> {
        match subresource {
            None => Some(Self::Main),
            Some("status") => Some(Self::Status),
            Some("finalize") => Some(Self::Finalize),
            Some("approval") => Some(Self::Approval),
            Some("ephemeralcontainers") => Some(Self::EphemeralContainers),
            Some(_) => None,
        }
    }

    /// The subresource that writes this part; empty for the resource itself.
    #[must_use]
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::EphemeralContainers => "ephemeralcontainers",
        }
    }
}

/// A step in the life of an object that other keys may have to follow, in the same transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It comes into being.
    Created,
    /// Its deletion begins, but something still holds it.
    Terminating,
    /// It goes.
    Removed,
}

/// The rule for `metadata.name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Lower case letters, digits, `-` and `.`; at most 253 bytes.
    Subdomain,
    /// Lower case letters, digits and `-`; at most 63 bytes.
    Label,
    /// The same, beginning with a letter.
    HostName,
    /// Any text that fits in a path.
    PathSegment,
    /// What the kind's own validation says; it must fit in a path.
    Own,
}

/// The semantics of one kind.
pub trait Strategy: Send + Sync + Debug + 'static {
    /// Which names its objects may have.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Whether an update of an absent object creates it.
    fn create_on_update(&self) -> bool {
        false
    }

    /// Whether an update may leave `metadata.resourceVersion` empty and so replace whatever is stored.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// Whether the schema's required fields and closed sets of values are checked; a strategy whose [`Strategy::validate`]
    /// says everything itself turns that off.
    fn checks_structure(&self) -> bool {
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

    /// Fills in what the schema's defaults cannot; runs on every object that a client sends.
    fn default(&self, names: &Names, object: &mut Value) {
        let _ = (names, object);
    }

    /// Whether the kind has a `spec` for its owner and a `status` for its controller, of which no write reaches both: the
    /// following three are then what such a kind needs.
    fn has_status(&self) -> bool {
        false
    }

    /// Whether a write of the status leaves the object's labels, annotations, finalizers and owners as they are.
    fn status_keeps_metadata(&self) -> bool {
        false
    }

    /// Paths of fields that a write of this part does not reach, so that its writer owns nothing of them.
    fn ignored(&self, part: Part) -> &'static [&'static str] {
        match part {
            Part::Status if self.status_keeps_metadata() => &["spec", "metadata"],
            part if self.has_status() => status::ignored(part),
            _ => &[],
        }
    }

    /// Paths of the only fields that a write of this part reaches; `None` when that is all but [`Strategy::ignored`].
    fn only(&self, part: Part) -> Option<&'static [&'static str]> {
        let _ = part;
        None
    }

    /// Fields of features that may be off.
    fn gated_fields(&self) -> &'static [GatedFields] {
        &[]
    }

    /// Sets or clears what a creator does not decide.
    fn prepare_create(&self, names: &Names, object: &mut Value) {
        let _ = names;
        if self.has_status() {
            object.set_at(&["status"], Map::new());
        }
    }

    /// Restores in `new` what a writer of this part does not decide.
    fn prepare_update(&self, names: &Names, part: Part, old: &Value, new: &mut Value) {
        let _ = names;
        if self.has_status() {
            status::restore(part, old, new);
        }
        if part == Part::Status && self.status_keeps_metadata() {
            status::restore_metadata(old, new);
        }
    }

    /// Sets the times at which something in the object happened, which is now; `old` is what it replaces. Comes after
    /// [`Strategy::prepare_create`] and [`Strategy::prepare_update`].
    fn stamp(&self, names: &Names, old: Option<&Value>, new: &mut Value, now: Time) {
        let _ = (names, old, new, now);
    }

    /// Records the user that creates an object, for kinds that keep it; `None` is the server itself.
    fn created_by(&self, who: Option<UserInfo<'_>>, object: &mut Value) {
        let _ = (who, object);
    }

    /// The permission that the user of this write needs besides; `Err` is the reason why no user may write it.
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

    /// Rights that a write of this object gives to others; `None` when it gives none, or none that `old` did not.
    fn grant(&self, old: Option<&Value>, new: &Value) -> Option<Grant> {
        let _ = (old, new);
        None
    }

    /// Required fields of whose absence the kind tells in words of its own.
    fn judges(&self) -> &'static [&'static str] {
        &[]
    }

    /// What is wrong with an object, of any writer.
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

    /// What the writer of `new` should know although nothing is wrong; `old` is what it replaces. Writers of parts are not
    /// told: most are controllers.
    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let _ = (names, old, new);
        Vec::new()
    }

    /// Marks an object whose deletion begins, besides its `deletionTimestamp`.
    fn begin_deletion(&self, object: &mut Value) {
        let _ = object;
    }

    /// What becomes of an object's dependents when neither its deletion nor the object itself says it.
    fn propagation(&self) -> Propagation {
        Propagation::Background
    }

    /// The warning for a client that deletes without saying what becomes of the dependents.
    fn warning_of_deletion(&self) -> Option<&'static str> {
        None
    }

    /// Whether a deletion that is held back has a grace period (of zero) to show.
    fn shows_grace_period(&self) -> bool {
        true
    }

    /// The seconds that an object has between the beginning of its deletion and its end, of which the client may have
    /// asked for a number; `None` for kinds whose objects go at once.
    fn grace_seconds(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let _ = (object, asked);
        None
    }

    /// Whether something besides `metadata.finalizers` holds back the object's removal.
    fn is_held(&self, object: &Value) -> bool {
        let _ = object;
        false
    }

    /// Why an object with this name is never deleted; `None` for all others.
    fn undeletable(&self, names: &Names, name: &str) -> Option<&'static str> {
        let _ = (names, name);
        None
    }

    /// What the object's transaction changes besides the object.
    fn companions(&self, step: Step, name: &str) -> Vec<Operation> {
        let _ = (step, name);
        Vec::new()
    }

    /// The allocator of what only one object may have; `None` for kinds without such things.
    fn allocator(&self) -> Option<&dyn Allocator> {
        None
    }

    /// The value of a selectable field; empty when it has none.
    fn selectable(&self, object: &Value, field: &str) -> String {
        plain_field(object, field)
    }
}

/// Whether anything but `metadata` and `status` differs.
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

/// The operation that makes a namespace take new objects, or stops it.
pub fn live_marker(step: Step, namespace: &str) -> Operation {
    let key = Key::Live { namespace }.encode();
    match step {
        Step::Created => Operation::Put { key, value: Bytes::new() },
        Step::Terminating | Step::Removed => Operation::Delete { key },
    }
}
