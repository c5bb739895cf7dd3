//! ResourceQuota: what a write uses is charged to every quota of its namespace that counts it, or
//! the write is refused.
//!
//! A charge is part of the write's own transaction, on the condition that the quota still has the
//! revision that the charge was computed from, so concurrent writes never exceed a quota. The usage
//! of deleted objects is released by a controller that counts again; both use the same code:
//! `counted` has the resources that are counted, `usage` and `pods` how much an object uses,
//! `scopes` the objects that a quota applies to; `limits` reads quotas, `tally` adds up.
//!
//! Invariant: no write that a quota counts is admitted without a charge. While a quota of the
//! namespace cannot be read, its limits are unknown, so every write that quotas can count is
//! answered there with a 500, until that quota is written again or deleted.
//!
//! Not here: the controller.

mod counted;
mod limits;
mod pods;
mod scopes;
mod tally;
mod usage;

use quorate_meta::{Quantity, Time, Value};
use quorate_store::{Condition, Entry, Operation};

use super::amounts::{self, Amounts};
use crate::plugin::Plugin;
use crate::snapshot_view::{SnapshotView, forbidden, is_of};
use quorate_registry::error::Error;
use quorate_registry::{Attributes, Part, Resource, Terms, stored_codec};

pub use counted::Counted;
pub use limits::{Quota, settled};
pub use tally::Tally;

/// Plural name of ResourceQuotas.
pub const QUOTAS: &str = "resourcequotas";

/// Whether the namespace of a write has a quota; for most namespaces one key lookup answers that.
pub(crate) fn has_quotas(view: &SnapshotView<'_>, attributes: &Attributes<'_>) -> bool {
    let resource = attributes.target.resource;
    let Some(namespace) = attributes.target.namespace.filter(|_| resource.namespaced) else {
        return false;
    };
    let quotas = view.resource("", "v1", QUOTAS);
    quotas.is_some_and(|quotas| view.list(quotas, Some(namespace)).next().is_some())
}

/// The charge of a write to the quotas of its namespace.
pub(crate) struct ResourceQuota;

impl Plugin for ResourceQuota {
    fn validate(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        new: &Value,
        terms: &mut Terms,
    ) -> Result<(), Error> {
        let Some(ledger) = Ledger::of(view, attributes) else {
            return Ok(());
        };
        if !ledger.counted.may_grow(attributes, new) {
            return Ok(());
        }
        let mut accounts = Vec::new();
        for &(name, entry) in &ledger.entries {
            let account = ledger.account(name, entry)?;
            if !account.quota.measures(&ledger.counted)
                || !account.quota.chooses(&ledger.counted, new)
            {
                continue;
            }
            if let Some(question) = ledger.counted.open_question(&account.quota.hard, new) {
                return Err(forbidden(attributes, &format!("failed quota: {name}: {question}")));
            }
            accounts.push(account);
        }
        accounts
            .into_iter()
            .try_for_each(|account| ledger.charge(view, attributes, account, new, terms))
    }
}

/// The quotas of the namespace of a write.
struct Ledger<'a> {
    quotas: &'a Resource,
    namespace: &'a str,
    /// How the written resource is counted.
    resource: &'a Resource,
    counted: Counted,
    entries: Vec<(&'a str, &'a Entry)>,
}

/// One quota, with its stored object.
struct Account<'a> {
    name: &'a str,
    entry: &'a Entry,
    object: Value,
    quota: Quota,
}

impl<'a> Ledger<'a> {
    /// `None` where the resource is not counted or the namespace has no quota, which one key lookup
    /// answers for most namespaces.
    fn of(view: &SnapshotView<'a>, attributes: &Attributes<'a>) -> Option<Self> {
        let (namespace, resource) = (attributes.target.namespace?, attributes.target.resource);
        let quotas = view
            .resource("", "v1", QUOTAS)
            .filter(|_| resource.namespaced && !namespace.is_empty())?;
        // A new quota is not charged to an existing one of its own name: that write is refused as a
        // conflict.
        let is_new = attributes.old.is_none() && is_of(attributes, view.names, "", QUOTAS);
        let charged = |name: &str| !is_new || name != attributes.target.name;
        let entries: Vec<_> =
            view.list(quotas, Some(namespace)).filter(|(name, _)| charged(name)).collect();
        if entries.is_empty() {
            return None;
        }
        Some(Self {
            quotas,
            namespace,
            resource,
            counted: Counted::of(view.names, resource)?,
            entries,
        })
    }

    fn account(&self, name: &'a str, entry: &'a Entry) -> Result<Account<'a>, Error> {
        let object = stored_codec::decode(self.quotas, entry)?;
        Ok(Account { name, entry, quota: Quota::of(&object), object })
    }

    /// Adds the charge of the write to its terms; refuses a write that exceeds the quota.
    fn charge(
        &self,
        view: &SnapshotView<'_>,
        attributes: &Attributes<'_>,
        account: Account<'_>,
        new: &Value,
        terms: &mut Terms,
    ) -> Result<(), Error> {
        let Account { name, entry, mut object, quota } = account;
        let asked = self.asked(&quota, attributes.old, new);
        if asked.is_empty() {
            return Ok(());
        }
        let used = self.used(view, &quota);
        let mut sum = used.clone();
        amounts::add(&mut sum, &asked);
        let is_beyond = |name: &&String| sum.get(*name) > quota.hard.get(*name);
        let beyond: Vec<&String> = asked.keys().filter(is_beyond).collect();
        // The capacity that a bound claim was given is not refused.
        if !beyond.is_empty() && attributes.part != Some(Part::Status) {
            let shown = |amounts: &Amounts| {
                let each = beyond
                    .iter()
                    .filter_map(|name| Some(format!("{name}={}", amounts.get(*name)?)));
                each.collect::<Vec<_>>().join(",")
            };
            let (asked, used, hard) = (shown(&asked), shown(&used), shown(&quota.hard));
            let why = format!(
                "exceeded quota: {name}, requested: {asked}, used: {used}, limited: {hard}"
            );
            return Err(forbidden(attributes, &why));
        }
        if attributes.dry_run {
            return Ok(());
        }
        for (name, amount) in
            sum.iter().filter(|(name, amount)| quota.used.get(*name) != Some(*amount))
        {
            object.set_at(&["status", "used", name], amount.to_string());
        }
        let key = self.quotas.key(Some(self.namespace), name);
        terms.operations.push(Operation::Put {
            key: key.clone(),
            value: stored_codec::encode(self.quotas, &object)?,
        });
        terms.conditions.push(Condition::Modified { key, revision: entry.modified });
        Ok(())
    }

    /// What the object uses more after the write than before.
    fn asked(&self, quota: &Quota, old: Option<&Value>, new: &Value) -> Amounts {
        let mut asked = quota.masked(self.counted.usage(new, unknown_time()));
        if let Some(old) = old.filter(|old| quota.chooses(&self.counted, old)) {
            for (name, before) in self.counted.usage(old, unknown_time()) {
                if let Some(amount) = asked.get_mut(&name) {
                    *amount = *amount - before;
                }
            }
        }
        asked.retain(|_, amount| *amount > Quantity::ZERO);
        asked
    }

    /// The usage before the write. Where the status does not have it yet, because the quota is new
    /// or has just been changed, the objects are counted here: no client is refused for a missing
    /// status, and every later write is charged exactly.
    fn used(&self, view: &SnapshotView<'_>, quota: &Quota) -> Amounts {
        let mut used = Amounts::new();
        if quota.measured(&self.counted).any(|name| !quota.used.contains_key(name)) {
            let mut tally = Tally::new([quota.clone()]);
            tally.begin(&self.counted);
            for (_, entry) in view.list(self.resource, Some(self.namespace)) {
                tally.add(&self.counted, &self.counted.read(self.resource, entry), unknown_time());
            }
            used.extend(tally.lines().flat_map(|(_, used)| used.clone()));
        }
        used.extend(quota.used.clone());
        used
    }
}

/// Plugins read no clock, so a pod that should have been gone counts here until the controller has
/// counted again.
fn unknown_time() -> Time {
    Time::default()
}

#[cfg(test)]
mod tests;
