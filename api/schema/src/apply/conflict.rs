//! Conflicts of server-side apply: fields of other managers that an apply would change. The
//! messages are those of Kubernetes.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::fieldset::{FieldSet, Lookup, Trail, shortened};
use crate::managed::{Loss, Managed, Operation};

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager.
    pub owner: Arc<Owner>,
    /// The path of the field.
    path: Arc<Trail>,
}

/// The manager of a field as messages show it; of a very long name the end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    manager: String,
    operation: Operation,
    api_version: String,
    subresource: String,
}

impl Conflict {
    /// Conflicts that a Status lists, at most; the others are counted.
    pub const MAX_LISTED: usize = 1000;

    /// The path: `.spec.containers[name="c"].image`; of a very long one the end after `...`.
    pub fn field(&self) -> String {
        self.path.to_string()
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

/// The conflicts for these losses, by manager. Their size is linear in that of the losses.
pub(super) fn of(managed: &Managed, losses: &[Loss]) -> Vec<Conflict> {
    let mut conflicts: Vec<Conflict> = Vec::new();
    for loss in losses {
        let entry = &managed.entries[loss.entry];
        let owner = Arc::new(Owner {
            manager: shortened(&entry.manager).into_owned(),
            operation: entry.operation,
            api_version: entry.api_version.clone(),
            subresource: shortened(&entry.subresource).into_owned(),
        });
        conflicts.extend(
            loss.fields
                .trails()
                .into_iter()
                .map(|path| Conflict { owner: Arc::clone(&owner), path }),
        );
    }
    conflicts.sort_by(|left, right| left.owner.cmp(&right.owner));
    conflicts
}

/// The conflicts about fields outside of `allowed`.
pub(super) fn outside(conflicts: Vec<Conflict>, allowed: &FieldSet) -> Vec<Conflict> {
    let mut allowed = Lookup::new(allowed);
    conflicts.iter().filter(|conflict| !allowed.has(&conflict.path)).cloned().collect()
}

/// The message of the Status.
pub(super) fn message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            only.owner,
            only.field()
        );
    }
    let mut by_owner: BTreeMap<&Owner, Vec<&Conflict>> = BTreeMap::new();
    for conflict in conflicts.iter().take(Conflict::MAX_LISTED) {
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
    if let more @ 1.. = conflicts.len().saturating_sub(Conflict::MAX_LISTED) {
        write!(text, "\nand {more} more").expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::managed::Entry;
    use crate::testing::json;

    /// The conflicts when `manager` loses these fields.
    fn conflicts(manager: &str, fields: &FieldSet) -> Vec<Conflict> {
        let entry = Entry {
            manager: manager.to_owned(),
            operation: Operation::Apply,
            api_version: "v1".to_owned(),
            subresource: String::new(),
            time: None,
            fields: fields.clone(),
        };
        of(&Managed { entries: vec![entry] }, &[Loss { entry: 0, fields: fields.clone() }])
    }

    fn set(text: &str) -> FieldSet {
        FieldSet::decode(&json(text)).expect("a set")
    }

    #[test]
    fn messages() {
        let check = |fields: &str, expect: &str| {
            assert_eq!(message(&conflicts("one", &set(fields))), expect)
        };
        check(
            r#"{"f:data":{"f:k":{}}}"#,
            "Apply failed with 1 conflict: conflict with \"one\": .data.k",
        );
        check(
            r#"{"f:data":{"f:k":{}},"f:spec":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}}"#,
            "Apply failed with 3 conflicts: conflicts with \"one\":\n- .data.k\n- .spec[name=\"c\"]\n- .spec[name=\"c\"].image",
        );
    }

    #[test]
    fn a_long_key_above_many_fields_is_not_repeated() {
        const MANY: usize = 12_000;
        let name = "n".repeat(500_000);
        let env: Vec<String> = (0..MANY).map(|at| format!(r#""f:e{at:05}":{{}}"#)).collect();
        let fields = set(&format!(
            r#"{{"f:list":{{"k:{{\"name\":\"{name}\"}}":{{"f:env":{{{}}}}}}}}}"#,
            env.join(",")
        ));
        let conflicts = conflicts(&name, &fields);
        assert_eq!(conflicts.len(), MANY);
        let field = conflicts[0].field();
        assert!(field.starts_with("...nnn") && field.ends_with("n\"].env.e00000"), "{field}");
        assert!(field.len() < 1100 && conflicts[0].owner.to_string().len() < 1100);
        let text = message(&conflicts);
        assert!(
            text.starts_with("Apply failed with 12000 conflicts: ")
                && text.ends_with("\nand 11000 more")
        );
        assert!(text.len() < 1100 * (Conflict::MAX_LISTED + 2), "{}", text.len());
        assert_eq!(outside(conflicts.clone(), &FieldSet::new()).len(), MANY);
        assert!(outside(conflicts, &fields).is_empty());
    }
}
