//! Conflicts: who owns which field that an apply would change, in the words that clients know.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::fieldset::{Element, FieldSet};
use crate::managed::{Loss, Managed, Operation};

/// A field that somebody else owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub owner: Owner,
    /// The field.
    path: Vec<Element>,
}

/// The owner of a field as messages name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    manager: String,
    operation: Operation,
    api_version: String,
    subresource: String,
}

impl Conflict {
    /// The field: `.spec.containers[name="c"].image`.
    pub fn field(&self) -> String {
        self.path.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Owner {
    /// `"one"`, `"m" with subresource "status" using v1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quorate_meta::quoted(&self.manager))?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {}", quorate_meta::quoted(&self.subresource))?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// The conflicts behind losses, by owner.
pub(super) fn of(managed: &Managed, losses: &[Loss]) -> Vec<Conflict> {
    let mut conflicts: Vec<Conflict> = Vec::new();
    for loss in losses {
        let entry = &managed.entries[loss.entry];
        let owner = Owner {
            manager: entry.manager.clone(),
            operation: entry.operation,
            api_version: entry.api_version.clone(),
            subresource: entry.subresource.clone(),
        };
        conflicts.extend(loss.fields.paths().into_iter().map(|path| Conflict { owner: owner.clone(), path }));
    }
    conflicts.sort_by(|left, right| left.owner.cmp(&right.owner));
    conflicts
}

/// The conflicts about other fields than these.
pub(super) fn outside(mut conflicts: Vec<Conflict>, allowed: &FieldSet) -> Vec<Conflict> {
    conflicts.retain(|conflict| !allowed.contains(&conflict.path));
    conflicts
}

/// Conflicts that a message lists; further ones are counted.
const MAX_LISTED: usize = 1000;

/// The message of a refusal.
pub(super) fn message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", only.owner, only.field());
    }
    let mut by_owner: BTreeMap<&Owner, Vec<&Conflict>> = BTreeMap::new();
    for conflict in conflicts.iter().take(MAX_LISTED) {
        by_owner.entry(&conflict.owner).or_default().push(conflict);
    }
    let mut text = format!("Apply failed with {} conflicts: ", conflicts.len());
    for (index, (owner, conflicts)) in by_owner.into_iter().enumerate() {
        let begin = if index == 0 { "" } else { "\n" };
        write!(text, "{begin}conflicts with {owner}:").expect("writing to a string cannot fail");
        for conflict in conflicts {
            write!(text, "\n- {}", conflict.field()).expect("writing to a string cannot fail");
        }
    }
    if let more @ 1.. = conflicts.len().saturating_sub(MAX_LISTED) {
        write!(text, "\nand {more} more").expect("writing to a string cannot fail");
    }
    text
}
