//! The status: names that were accepted, and versions that objects may be stored in.

use quorate_meta::Cause;

use super::names;
use crate::crd::field::Field;

/// Checks the names of the status.
pub(super) fn accepted_names(definition: &Field<'_>, causes: &mut Vec<Cause>) {
    names::check(&definition.get("status").get("acceptedNames"), causes);
}

/// Every version that objects may be stored in is one of the definition, and the storage version is
/// among them.
pub(super) fn stored_versions(definition: &Field<'_>, causes: &mut Vec<Cause>) {
    let stored = definition.get("status").get("storedVersions");
    if stored.is_empty() {
        causes.push(stored.invalid("must have at least one stored version"));
        return;
    }
    let versions = definition.get("spec").get("versions");
    for version in versions.items().filter(|version| version.get("storage").is_true()) {
        let name = version.get("name").text();
        if !stored.items().any(|stored| stored.text() == name) {
            causes.push(stored.invalid(&format!("must have the storage version {name}")));
        }
    }
    for one in stored.items() {
        let name = one.text();
        if !versions.items().any(|version| version.get("name").text() == name) {
            causes.push(one.invalid(&format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            )));
        }
    }
}
