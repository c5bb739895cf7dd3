//! The reach of a request: the fields that a resource or subresource can set (`resetFields`).

use super::FieldSet;

/// Fields within reach; a field includes everything below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All fields but these.
    AllBut(FieldSet),
    /// Only these fields.
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
