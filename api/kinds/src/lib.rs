//! The strategies of the built-in kinds: a folder for each API group, a file for each kind.
//!
//! Invariant: the schema gives every kind its structure, defaults and patches; a strategy holds
//! only what the schema cannot express. Storage, admission and handlers are in other crates.

mod address_warnings;
mod admissionregistration;
pub mod api_versions;
mod apiextensions;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
pub mod builtin;
mod certificates;
mod conditions;
mod coordination;
mod core;
#[cfg(test)]
mod deprecation_policy;
mod discovery;
mod events;
mod field;
mod flowcontrol;
mod load_balancer_status;
mod networking;
mod node;
mod plain;
mod policy;
mod rbac;
mod resource;
mod resource_names;
mod rules;
mod runtime_config_check;
mod scheduling;
mod storage;
#[cfg(test)]
mod warning_texts;
mod workload;

pub use runtime_config_check::{UnservableApi, check as check_runtime_config};

use std::sync::Arc;

use quorate_meta::Names;

use quorate_registry::{Conversion, Strategy};
use quorate_schema::Graph;

/// The strategy of a version of a kind; `group` is the neutral name, such as `rbac.authorization`
/// or `core`, and `graph` the schema of the built-in types.
#[must_use]
pub(crate) fn strategy(
    graph: &Arc<Graph>,
    group: &str,
    version: &str,
    kind: &str,
) -> Arc<dyn Strategy> {
    let own = match group {
        "core" => core::strategy(kind),
        "apps" => apps::strategy(kind),
        "batch" => batch::strategy(kind),
        "coordination" => coordination::strategy(kind),
        "node" => node::strategy(kind),
        "policy" => policy::strategy(kind),
        "scheduling" => scheduling::strategy(kind),
        "autoscaling" => autoscaling::strategy(version, kind),
        "certificates" => certificates::strategy(kind),
        "admissionregistration" => admissionregistration::strategy(kind),
        "apiextensions" => apiextensions::strategy(graph, kind),
        "apiregistration" => apiregistration::strategy(kind),
        "discovery" => discovery::strategy(kind),
        "events" => events::strategy(kind),
        "flowcontrol.apiserver" => flowcontrol::strategy(kind),
        "networking" => networking::strategy(kind),
        "resource" => resource::strategy(kind),
        "storage" => storage::strategy(kind),
        "rbac.authorization" => rbac::strategy(kind),
        _ => None,
    };
    own.unwrap_or_else(|| Arc::new(plain::Plain))
}

/// The conversion between a version of a kind and the version that is stored; `None` for versions
/// that are stored as they are.
#[must_use]
pub(crate) fn conversion(
    names: &'static Names,
    group: &str,
    version: &str,
    kind: &str,
) -> Option<Arc<dyn Conversion>> {
    match group {
        "autoscaling" => autoscaling::conversion(names, version, kind),
        "events" => events::conversion(kind),
        _ => None,
    }
}
