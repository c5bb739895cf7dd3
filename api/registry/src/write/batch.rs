//! Batches: several objects in one transaction, all of them or none.
//!
//! Invariant: each object passes the same phases as in a write of its own, up to the one commit.

use quorate_meta::Value;
use quorate_store::{Condition, Entry, Operation, Revision, Txn};

use super::phase::PhaseClock;
use super::pipeline::{Admitted, Write};
use super::refusal::stale;
use super::{Writer, metadata};
use crate::error::Error;
use crate::options::{Owners, Target, WriteOptions};
use crate::{AdmissionOperation, Step, WriteOrigin, stored_codec};

/// One object of a transaction.
#[derive(Debug, Clone)]
pub struct Put<'a> {
    /// The object's resource, namespace and name.
    pub target: Target<'a>,
    /// The stored object that is replaced; `None` creates it.
    pub replaces: Option<Entry>,
    /// The object.
    pub object: Value,
}

impl Writer {
    /// Writes all of these objects, none twice, and returns the revision; `None`, and nothing is
    /// written, when one of the replaced objects has changed, an allocation is taken, or a
    /// namespace takes no objects.
    ///
    /// # Errors
    /// 422 for an invalid object, and any refusal of admission.
    pub async fn put_all(
        &self,
        puts: Vec<Put<'_>>,
        options: WriteOptions<'_>,
    ) -> Result<Option<Revision>, Error> {
        let mut clock = PhaseClock::start();
        let (mut txn, mut all) = (Txn::default(), Admitted::default());
        let replaces = puts.iter().any(|put| put.replaces.is_some());
        let verb = if replaces { "update" } else { "create" };
        for put in puts {
            let Admitted { allocation, terms, rules } =
                self.add(put, options, &mut txn, &mut clock).await?;
            all.allocation.conditions.extend(allocation.conditions);
            all.allocation.operations.extend(allocation.operations);
            all.terms = all.terms.and(terms);
            all.rules = all.rules.and(rules);
        }
        let origin = WriteOrigin { verb, manager: options.manager, ..WriteOrigin::default() };
        Ok(self.commit(txn, all, origin, options.dry_run, &mut clock).await?.ok().flatten())
    }

    /// Runs the phases before the commit for one object, and adds its keys to the transaction.
    async fn add(
        &self,
        put: Put<'_>,
        options: WriteOptions<'_>,
        txn: &mut Txn,
        clock: &mut PhaseClock,
    ) -> Result<Admitted, Error> {
        let Put { target, replaces, mut object } = put;
        let (resource, key) = (target.resource, target.key());
        let mut old = match &replaces {
            Some(entry) => Some(stored_codec::decode_converted(resource, entry).await?),
            None => None,
        };
        let mut write =
            Write { basis: self.basis(), ..Write::create(target, options, Owners::Change) };
        if let Some(old) = &mut old {
            metadata::of(old).remove("resourceVersion");
            write = Write {
                operation: AdmissionOperation::Update,
                old: Some(old),
                swaps: true,
                ..write
            };
        } else {
            self.begin(target, &mut object);
            let markers = self.marker_conditions(target).await?;
            for live in markers.map_err(|_| stale(target))? {
                if !txn.conditions.contains(&live) {
                    txn.conditions.push(live);
                }
            }
            txn.operations.extend(resource.strategy.companions(Step::Created, target.name));
        }
        self.shape(&write, &mut object, clock).await?;
        self.judge(&write, &object, clock).await?;
        let admitted = self.admit(&write, &mut object, clock).await?;
        let revision = replaces.map_or(Revision::ZERO, |entry| entry.modified);
        txn.conditions.push(Condition::Modified { key: key.clone(), revision });
        let value = stored_codec::encode_converted(resource, &object).await?;
        txn.operations.push(Operation::Put { key, value });
        Ok(admitted)
    }
}
