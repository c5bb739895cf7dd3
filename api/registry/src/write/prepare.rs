//! Preparation of objects: identity, managed fields, and everything else that the server sets and
//! not the client.
//!
//! Invariant: it is the same for creations, changes and batches.

use quorate_meta::{Time, Value};

use super::pipeline::Write;
use super::{Writer, metadata};
use crate::options::{Owners, Target};
use crate::ownership::FieldManager;
use crate::{Notes, Part};

impl Writer {
    /// Sets the identity of a new object. Runs once, however often a name must be generated.
    pub(super) fn begin(&self, target: Target<'_>, object: &mut Value) {
        let resource = target.resource;
        let namespace = target.namespace.filter(|_| resource.namespaced);
        let uid = metadata::new_uid(&*self.env.entropy);
        metadata::begin(object, namespace, uid, self.now(), resource.strategy.counts_generations());
    }

    /// The prepare phase: the identity of a changed object, and its managed fields.
    pub(super) fn prepare(&self, write: &Write<'_>, object: &mut Value, now: Time) {
        if let Some(old) = write.old {
            metadata::keep(old, object);
        }
        if write.owners == Owners::Change {
            let Write { target, part, options, named, old, .. } = *write;
            let manager =
                FieldManager { resource: target.resource, part, manager: options.manager, now };
            manager.track(old, object, named);
        }
    }

    /// The default phase: sets or clears what the client does not decide.
    pub(super) fn complete(&self, write: &Write<'_>, object: &mut Value, now: Time) {
        let Write { target, part, old, .. } = *write;
        let strategy = &target.resource.strategy;
        match old {
            Some(old) => strategy.prepare_update(self.names, part, old, object),
            None => {
                let warnings = strategy.warnings_as_sent(self.names, object);
                if let Some(author) = self.author.as_ref().filter(|_| !warnings.is_empty()) {
                    author.note(Notes { warnings, ..Notes::default() });
                }
                strategy.prepare_create(self.names, object);
            }
        }
        strategy.gated_fields().iter().for_each(|gated| gated.clear(&self.gates, old, object));
        strategy.stamp(self.names, old, object, now);
        match old {
            // A write of the status does not change the intent, even where it changes more of the
            // object.
            Some(old) if part != Part::Status && strategy.changes_intent(old, object) => {
                metadata::next_generation(object);
            }
            Some(_) => {}
            None => strategy.created_by(self.user(), object),
        }
    }
}
