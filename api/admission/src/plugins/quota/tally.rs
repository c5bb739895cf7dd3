//! Sums of what objects use of quotas, by quota.
//!
//! Invariant: an object adds to each quota whose scopes contain it.

use quorate_meta::{Quantity, Time, Value};

use super::counted::Counted;
use super::limits::Quota;
use crate::plugins::amounts::Amounts;

/// What the objects that have been counted use of some quotas.
#[derive(Debug)]
pub struct Tally {
    lines: Vec<(Quota, Amounts)>,
}

impl Tally {
    /// A tally of these quotas, with nothing used.
    pub fn new(quotas: impl IntoIterator<Item = Quota>) -> Self {
        Self { lines: quotas.into_iter().map(|quota| (quota, Amounts::new())).collect() }
    }

    /// Starts the objects of a resource, of which there may be none; returns whether any quota
    /// counts them.
    pub fn begin(&mut self, counted: &Counted) -> bool {
        let mut any = false;
        for (quota, used) in &mut self.lines {
            for name in quota.measured(counted) {
                used.entry(name.clone()).or_insert(Quantity::ZERO);
                any = true;
            }
        }
        any
    }

    /// Adds an object.
    pub fn add(&mut self, counted: &Counted, object: &Value, now: Time) {
        self.change(counted, object, now, |used, amount| used + amount);
    }

    /// Subtracts an object.
    pub fn remove(&mut self, counted: &Counted, object: &Value, now: Time) {
        self.change(counted, object, now, |used, amount| used - amount);
    }

    fn change(
        &mut self,
        counted: &Counted,
        object: &Value,
        now: Time,
        with: fn(Quantity, Quantity) -> Quantity,
    ) {
        let usage = counted.usage(object, now);
        for (quota, used) in
            self.lines.iter_mut().filter(|(quota, _)| quota.chooses(counted, object))
        {
            for (name, amount) in usage.iter().filter(|(name, _)| quota.hard.contains_key(*name)) {
                let sum = used.entry(name.clone()).or_insert(Quantity::ZERO);
                *sum = with(*sum, *amount);
            }
        }
    }

    /// The quotas and what is used of them, in the order in which they came.
    pub fn lines(&self) -> impl Iterator<Item = (&Quota, &Amounts)> {
        self.lines.iter().map(|(quota, used)| (quota, used))
    }
}
