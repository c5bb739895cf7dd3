//! What a change of a definition leaves as it is: the group and the plural name, and once the
//! resource was served, the scope and the kind.

use quorate_meta::Cause;

use super::tolerance::is_established;
use crate::crd::field::Field;

/// Checks the fields that never change.
pub(super) fn immutable(old: &Field<'_>, new: &Field<'_>, causes: &mut Vec<Cause>) {
    let established = is_established(old.value());
    let (old, new) = (old.get("spec"), new.get("spec"));
    let mut same = |before: Field<'_>, after: Field<'_>| {
        if before.text() != after.text() {
            causes.push(Cause::invalid(after.path(), after.text(), "field is immutable"));
        }
    };
    if established {
        same(old.get("scope"), new.get("scope"));
        same(old.get("names").get("kind"), new.get("names").get("kind"));
    }
    same(old.get("group"), new.get("group"));
    same(old.get("names").get("plural"), new.get("names").get("plural"));
}
