//! Role-based access control (RBAC): roles, and the bindings that grant them to users and groups.
//!
//! `Index` holds all of them compiled, as an immutable value that requests read without a lock;
//! `Rules` is the derived state of it. Not here: writes; the default roles are written by a
//! controller.

mod decide;
mod defaults;
mod index;
mod key;
mod missing_rules;
mod rule;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(super) use decide::decide;
pub use defaults::{DefaultObject, default_objects};
pub(crate) use index::Index;
pub use missing_rules::{missing, missing_rules};
use quorate_meta::Names;
use quorate_store::Store;
pub use rule::Rule;

use quorate_registry::Catalogue;
use quorate_registry::derived::{DerivedState, DerivedStateOptions};

/// Neutral name of the group that roles and bindings are in.
pub const GROUP: &str = "rbac.authorization";

/// The derived state of all roles and bindings.
pub(crate) type Rules = DerivedState<Index>;

/// No rules yet. `None` when the registry does not serve roles and bindings.
pub(super) fn rules(names: &Names, catalogue: &Catalogue, store: Arc<dyn Store>) -> Option<Rules> {
    let group = names.group(GROUP);
    let find = |plural: &str| catalogue.find_builtin(&group, "v1", plural).cloned();
    let resources = vec![
        find("roles")?,
        find("clusterroles")?,
        find("rolebindings")?,
        find("clusterrolebindings")?,
    ];
    let prefixes = vec![format!("o/{group}/").into()];
    let what = "the rules of roles and bindings";
    Some(DerivedState::new(DerivedStateOptions { store, resources, prefixes, what }))
}
