//! Several objects in one transaction: all of them, or none.

use quorate_meta::Value;
use quorate_store::{Condition, Entry, Operation, Outcome as Decision, Revision, Txn};

use super::metadata;
use super::options::{Owners, Target, UpdateOptions, WriteOptions};
use super::update::Plan;
use super::writer::{Writer, invalid};
use crate::error::Error;
use crate::keys::Key;
use crate::ownership::Claim;
use crate::{Part, Step, stored_codec};

/// One object of a transaction.
#[derive(Debug, Clone)]
pub struct Put<'a> {
    /// Where it goes.
    pub target: Target<'a>,
    /// What it takes the place of; `None` creates it.
    pub replaces: Option<Entry>,
    /// The object.
    pub object: Value,
}

impl Writer {
    /// Writes all of these objects, none twice, and gives the revision; `None`, and nothing is written, when one of them is no
    /// longer what was to be replaced, or its namespace takes no objects.
    ///
    /// # Errors
    /// 422 for an invalid object.
    pub async fn put_all(&self, puts: Vec<Put<'_>>, options: WriteOptions<'_>) -> Result<Option<Revision>, Error> {
        let mut txn = Txn::default();
        for put in puts {
            self.add(put, options, &mut txn)?;
        }
        Ok(match self.decide(txn).await? {
            Decision::Committed { revision } => Some(revision),
            Decision::Conflict { .. } => None,
        })
    }

    fn add(&self, put: Put<'_>, write: WriteOptions<'_>, txn: &mut Txn) -> Result<(), Error> {
        let Put { target, replaces, mut object } = put;
        let (resource, key) = (target.resource, target.key());
        match &replaces {
            Some(entry) => {
                let mut old = stored_codec::decode(resource, entry)?;
                metadata::of(&mut old).remove("resourceVersion");
                let options = UpdateOptions { write, part: Part::Main, if_match: None, replaces: true, named: None };
                let plan = Plan { options, owners: Owners::Change, creation: None };
                self.complete(target, plan, &old, &mut object);
            }
            None => {
                let (now, uid) = (self.now(), metadata::new_uid(&*self.env.entropy));
                metadata::begin(&mut object, target.namespace, uid, now, resource.strategy.counts_generations());
                Claim { resource, part: Part::Main, manager: write.manager, now }.track(None, &mut object, None);
                resource.strategy.prepare_create(self.names, &mut object);
                resource.strategy.stamp(self.names, None, &mut object, now);
                if let Some(namespace) = target.namespace {
                    let live = Condition::Exists { key: Key::Live { namespace }.encode() };
                    if !txn.conditions.contains(&live) {
                        txn.conditions.push(live);
                    }
                }
                txn.operations.extend(resource.strategy.companions(Step::Created, target.name));
            }
        }
        let causes = self.problems(resource, &object);
        if !causes.is_empty() {
            return Err(invalid(resource, target.name, causes));
        }
        let revision = replaces.map_or(Revision::ZERO, |entry| entry.modified);
        txn.conditions.push(Condition::Modified { key: key.clone(), revision });
        txn.operations.push(Operation::Put { key, value: stored_codec::encode(resource, &object)? });
        Ok(())
    }
}
