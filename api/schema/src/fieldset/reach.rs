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
    pub fn cut(&self, mut set: FieldSet) -> FieldSet {
        match self {
            Self::AllBut(fields) => {
                set.subtract_recursive(fields);
                set
            }
            Self::Only(fields) => set.intersection_recursive(fields),
        }
    }
}
