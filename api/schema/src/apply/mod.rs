//! Server-side apply: what somebody wants of an object is merged into it, by the types' merge markers, with a record of who
//! wants what (001, server-side apply).
//!
//! In order: the applied fields are merged into the live object (`merge`); what the applier wanted before and nobody wants
//! now is cut out (`prune`); what that changes is compared with the entries of everybody else (`managed`): a change of a
//! field that another one owns is a conflict, unless it is forced. Invariants: a value that is equal is no change, so it is
//! shared; applying the same again changes nothing; every step is linear in the objects and sets but for the sorting of
//! elements. Defaults, rules of the kind and the write itself come after.

#[cfg(test)]
mod bounds;
mod check;
mod client_side;
mod config;
mod conflict;
mod merge;
mod order;
mod prune;

#[cfg(test)]
mod tests;

use quorate_meta::Value;

pub use config::{Config, Unfit};
pub use conflict::Conflict;

use crate::decode::{canonicalize, zero};
use crate::fieldset::{BadFields, Comparison, FieldSet, compare};
use crate::graph::{Graph, TypeId};
use crate::managed::{
    Entry, Managed, Operation, Views, Writer, fit, losses, same_but_for_owners, settle, strip, take_over,
};

/// Who owns what was in an object that nobody tracked before it was applied to.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An apply that does not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields that it would change; in order of the owners and the fields.
    #[error("{}", conflict::message(.0))]
    Conflicts(Vec<Conflict>),
    /// The live object's entries cannot be read.
    #[error("the stored owners of fields cannot be read: {0}")]
    Entries(#[from] BadFields),
}

/// The type of the objects, who applies, and how.
#[derive(Clone, Copy)]
pub struct Applier<'a> {
    /// The types.
    pub graph: &'a Graph,
    /// The type of the object.
    pub ty: TypeId,
    /// Who applies.
    pub writer: Writer<'a>,
    /// Conflicts are won.
    pub force: bool,
}

impl Applier<'_> {
    /// The object that results from applying `config` to `live` (`None`: it is created), in canonical form, without
    /// new defaults, and with its `metadata.managedFields`. Of `live`, which is in canonical form with its defaults, the
    /// `managedFields` count.
    ///
    /// # Errors
    /// Conflicts, and entries of the live object that cannot be read.
    pub fn apply(&self, live: Option<&Value>, config: &Config) -> Result<Value, ApplyError> {
        match self.apply_once(live, config) {
            Err(ApplyError::Conflicts(conflicts)) if self.writer.name == client_side::MANAGER => {
                let allowed = live.and_then(|live| client_side::settled_fields(self.graph, self.ty, live));
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
        canonicalize(self.graph, self.ty, &mut object);
        self.settle_others(live, &object, &mut managed, config)?;
        self.finish_entry(live, &object, &mut managed, before);
        managed.write(&mut object);
        Ok(object)
    }

    /// The live object's entries as the schema is now. What nobody tracked becomes owned, once anything is wanted.
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

    /// Puts in what the applier wants now; the answer is what it wanted before.
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

    /// Conflicts, or what everybody else loses.
    fn settle_others(
        &self,
        live: &Value,
        object: &Value,
        managed: &mut Managed,
        config: &Config,
    ) -> Result<(), ApplyError> {
        let Writer { api_version, versions, reach, .. } = self.writer;
        let changes = compare(self.graph, self.ty, live, object).within(reach);
        let changes = zeroed(changes, config.fields());
        let mut views = Views::new(self.graph, versions, api_version, (live, object), changes);
        let identity = self.writer.entry(Operation::Apply, FieldSet::new());
        let mine = |entry: &Entry| entry.same_writer(&identity);
        let lost = losses(managed, &mut views, mine);
        if !self.force && !lost.is_empty() {
            return Err(ApplyError::Conflicts(conflict::of(managed, &lost)));
        }
        settle(managed, &mut views, &lost, mine);
        Ok(())
    }

    /// Takes out of the applier's entry what only the server sets, and gives it the time when it last changed a value.
    fn finish_entry(&self, live: &Value, object: &Value, managed: &mut Managed, before: Option<Entry>) {
        let identity = self.writer.entry(Operation::Apply, FieldSet::new());
        let Some(at) = managed.entries.iter().position(|entry| entry.same_writer(&identity)) else { return };
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

/// A wanted field that is gone was set to zero, which the canonical form leaves out: that is a change of its value.
fn zeroed(mut changes: Comparison, wanted: &FieldSet) -> Comparison {
    let zeroed = changes.removed.intersection(wanted);
    changes.removed.subtract(&zeroed);
    changes.modified.add(&zeroed);
    changes
}
