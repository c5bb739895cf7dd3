//! Policies and webhooks by the plural names of the resources that their rules name.
//!
//! Invariant: places are given in their order.

use std::collections::{BTreeSet, HashMap};

/// Places in a list, by what may match there.
#[derive(Debug, Default)]
pub(crate) struct ByPlural {
    named: HashMap<String, Vec<usize>>,
    /// Those that may match any resource.
    any: Vec<usize>,
}

impl ByPlural {
    /// Adds the next place with the names that may match there; `None` for any.
    pub(crate) fn add(&mut self, place: usize, plurals: Option<Vec<&str>>) {
        let Some(plurals) = plurals else {
            self.any.push(place);
            return;
        };
        for plural in plurals.into_iter().collect::<BTreeSet<_>>() {
            self.named.entry(plural.to_owned()).or_default().push(place);
        }
    }

    /// The places that may match resources of a name.
    pub(crate) fn places(&self, plural: &str) -> Vec<usize> {
        let named = self.named.get(plural).map(Vec::as_slice).unwrap_or_default();
        let mut places = [named, self.any.as_slice()].concat();
        places.sort_unstable();
        places
    }

    /// Whether there is one.
    pub(crate) fn may_match(&self, plural: &str) -> bool {
        !self.any.is_empty() || self.named.contains_key(plural)
    }
}
