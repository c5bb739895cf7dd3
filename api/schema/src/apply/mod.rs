//! Server-side apply (KEP-555): an applied configuration is merged into the live object by the
//! merge markers of its type, and its fields are recorded in `managedFields`.
//!
//! In order: the applied fields are merged into the live object (`merge`). Fields that the manager
//! applied before, and that no manager has now, are removed (`prune`). What that changes is
//! compared with the entries of the other managers (`managed`): a change of a field of another
//! manager is a conflict, unless the apply is forced.
//!
//! Invariants: an equal value is no change, so several managers can share it; repeating an apply
//! changes nothing; every step is linear in objects and sets, but for the sorting of elements.
//!
//! Defaults, validation and the write itself come later.

#[cfg(test)]
mod bounds;
mod check;
mod client_side;
mod config;
mod conflict;
mod merge;
mod order;
mod overlay;
mod prune;

#[cfg(test)]
mod tests;

use quorate_meta::Value;

pub use config::{Config, Unfit};
pub use conflict::Conflict;
pub use overlay::{atomics, overlay};

use crate::decode::{canonicalize, zero};
use crate::fieldset::{BadFields, Comparison, FieldSet, compare};
use crate::graph::{Graph, TypeId};
use crate::managed::{
    Entry, Managed, Operation, Views, Writer, fit, losses, same_but_for_owners, settle, strip,
    take_over,
};

/// The manager of the fields of an object without `managedFields`, when it is applied to for the
/// first time.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Why an apply fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Conflicts, in the order of managers and fields.
    #[error("{}", conflict::message(.0))]
    Conflicts(Vec<Conflict>),
    /// The live object has malformed entries.
    #[error("the stored owners of fields cannot be read: {0}")]
    Entries(#[from] BadFields),
}

/// The type of an object, the manager that applies, and the options.
#[derive(Clone, Copy)]
pub struct Applier<'a> {
    /// The types.
    pub graph: &'a Graph,
    /// The type of the object.
    pub ty: TypeId,
    /// The manager and its request.
    pub writer: Writer<'a>,
    /// Takes over conflicting fields.
    pub force: bool,
}

impl Applier<'_> {
    /// Applies `config` to `live` (`None`: the object is created). The result is in canonical form,
    /// without new defaults, and has its `metadata.managedFields`. `live` is in canonical form with
    /// its defaults and its `managedFields`.
    ///
    /// # Errors
    /// Conflicts, and malformed entries of the live object.
    pub fn apply(&self, live: Option<&Value>, config: &Config) -> Result<Value, ApplyError> {
        match self.apply_once(live, config) {
            Err(ApplyError::Conflicts(conflicts)) if self.writer.name == client_side::MANAGER => {
                let allowed = live.and_then(|live| {
                    client_side::settled_fields(self.graph, self.ty, live, config)
                });
                let rest = conflict::outside(conflicts, &allowed.unwrap_or_default());
                if !rest.is_empty() {
                    return Err(ApplyError::Conflicts(rest));
                }
                Self { force: true, ..*self }.apply_once(live, config)
            }
            applied => applied,
        }
        .map(|mut object| {
            if self.writer.name == client_side::MANAGER {
                client_side::keep_in_step(&mut object, config);
            }
            object
        })
    }

    fn apply_once(&self, live: Option<&Value>, config: &Config) -> Result<Value, ApplyError> {
        let nothing;
        let (mut managed, live) = match live {
            Some(live) => (self.entries(live, config)?, live),
            None => {
                nothing = zero(self.graph, self.ty);
                (Managed::default(), &nothing)
            }
        };
        let before = self.take_turn(&mut managed, config);
        let mut object = merge::merge(self.graph, self.ty, live, config.value());
        if let Some(before) = &before {
            prune::prune(self.graph, self.ty, &mut object, before, &managed, &self.writer);
        }
        let texts = match managed.entries.len() {
            0 | 1 => FieldSet::new(),
            _ => compare(self.graph, self.ty, live, &object).modified,
        };
        canonicalize(self.graph, self.ty, &mut object);
        self.settle_others(live, &object, &mut managed, (config, texts))?;
        self.finish_entry(live, &object, &mut managed, before);
        managed.write(&mut object);
        Ok(object)
    }

    /// The entries of the live object, adapted to the current schema. Fields of an object without
    /// entries get an entry once anything is applied.
    fn entries(&self, live: &Value, config: &Config) -> Result<Managed, BadFields> {
        let mut managed = Managed::decode(live.at(&["metadata", "managedFields"]))?;
        if managed.entries.is_empty() {
            let mut wanted = config.fields().clone();
            strip(&mut wanted);
            if wanted.is_empty() {
                return Ok(managed);
            }
            let writer = Writer { name: BEFORE_FIRST_APPLY, ..self.writer };
            let nothing = zero(self.graph, self.ty);
            return Ok(take_over(self.graph, self.ty, (&nothing, live), managed, &writer));
        }
        fit(self.graph, self.ty, self.writer.api_version, live, self.writer.versions, &mut managed);
        Ok(managed)
    }

    /// Replaces the entry of the manager by the applied fields; returns the old entry.
    fn take_turn(&self, managed: &mut Managed, config: &Config) -> Option<Entry> {
        let wanted = self.writer.reach.cut(config.fields().clone());
        let mine = self.writer.entry(Operation::Apply, wanted);
        match managed.entries.iter_mut().find(|entry| entry.same_writer(&mine)) {
            Some(entry) => Some(std::mem::replace(entry, mine)),
            None => {
                managed.entries.push(mine);
                None
            }
        }
    }

    /// The conflicts, or the fields that other managers lose: those whose value changes, and those
    /// that the configuration writes in another text than they have (`texts`), such as a quantity.
    fn settle_others(
        &self,
        live: &Value,
        object: &Value,
        managed: &mut Managed,
        (config, texts): (&Config, FieldSet),
    ) -> Result<(), ApplyError> {
        let Writer { api_version, versions, reach, .. } = self.writer;
        let mut changes = compare(self.graph, self.ty, live, object);
        changes.modified.add(&texts.intersection(config.fields()));
        let changes = zeroed(changes.within(reach), config.fields());
        let mut views = Views::new(versions, api_version, (live, object), changes);
        let identity = self.writer.entry(Operation::Apply, FieldSet::new());
        let mine = |entry: &Entry| entry.same_writer(&identity);
        let lost = losses(managed, &mut views, mine);
        if !self.force && !lost.is_empty() {
            return Err(ApplyError::Conflicts(conflict::of(managed, &lost)));
        }
        settle(managed, &mut views, &lost, mine);
        Ok(())
    }

    /// Removes untracked fields from the entry of the manager, and sets its time when a value has
    /// changed.
    fn finish_entry(
        &self,
        live: &Value,
        object: &Value,
        managed: &mut Managed,
        before: Option<Entry>,
    ) {
        let identity = self.writer.entry(Operation::Apply, FieldSet::new());
        let Some(at) = managed.entries.iter().position(|entry| entry.same_writer(&identity)) else {
            return;
        };
        let mine = &mut managed.entries[at];
        strip(&mut mine.fields);
        mine.time = match same_but_for_owners(live, object) {
            true => before.and_then(|before| before.time),
            false => Some(self.writer.time.to_owned()),
        };
        if mine.fields.is_empty() {
            managed.entries.remove(at);
        }
    }
}

/// An applied field that is absent from the result had its zero value, which the canonical form
/// omits: that is a change of its value.
fn zeroed(mut changes: Comparison, wanted: &FieldSet) -> Comparison {
    let zeroed = changes.removed.intersection(wanted);
    changes.removed.subtract(&zeroed);
    changes.modified.add(&zeroed);
    changes
}
