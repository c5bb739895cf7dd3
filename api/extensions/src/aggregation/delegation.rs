//! Delegation of a group version to another server, as its APIService says.

use quorate_meta::Names;
use quorate_registry::{Catalogue, stored_codec};
use quorate_store::Snapshot;

/// Whether an APIService delegates a group version to another server. One that cannot be read delegates nothing.
#[must_use]
pub fn is_delegated(
    names: &Names,
    catalogue: &Catalogue,
    snapshot: &Snapshot,
    group: &str,
    version: &str,
) -> bool {
    let Some(services) =
        catalogue.find_builtin(&names.group("apiregistration"), "v1", "apiservices")
    else {
        return false;
    };
    let entry = snapshot.get(&services.key(None, &format!("{version}.{group}")));
    let object = entry.and_then(|entry| stored_codec::decode(services, entry).ok());
    object.is_some_and(|object| object.at(&["spec", "service"]).is_some())
}

#[cfg(test)]
mod tests;
