//! Which fields a request can set: a (sub)resource reaches a part of its object only.

use super::FieldSet;

/// Fields within reach; what is below a field goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything but these.
    AllBut(FieldSet),
    /// Nothing but these.
    Only(FieldSet),
}

impl Default for Reach {
    fn default() -> Self {
        Self::AllBut(FieldSet::new())
    }
}

impl Reach {
    /// The members of a set that are within reach.
    #[must_use]
    pub fn cut(&self, set: FieldSet) -> FieldSet {
        match self {
            Self::AllBut(fields) if fields.is_empty() => set,
            Self::AllBut(fields) => set.difference_recursive(fields),
            Self::Only(fields) => set.intersection_recursive(fields),
        }
    }
}
