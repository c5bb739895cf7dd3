//! The controllers: reconcilers of bootstrap objects, default and aggregated roles, namespaces,
//! garbage, namespace objects, service ranges, API endpoints, quotas, flow schemas, certificates,
//! definitions of custom resources and events.
//!
//! Invariants: controllers run on the leader only, and write through the registry's
//! [`quorate_registry::write::Writer`] like any client. A deposed leader's late writes do no harm:
//! each is bound to the state that it was made from. Every controller can be stopped at any moment
//! and starts from what is stored. Start reading at `table`.

mod api_endpoints;
mod api_services;
mod bootstrap;
pub mod certificates;
mod cluster;
mod conditions;
mod context;
mod custom_api_services;
mod definitions;
mod event_expiry;
mod flow_schemas;
mod garbage;
mod identity_leases;
mod member_liveness;
mod namespace_objects;
mod namespaces;
mod options;
mod policy_types;
mod quotas;
mod retry_queue;
mod roles;
mod service;
mod service_cidrs;
mod table;
mod token_secrets;
mod work_meter;

pub use bootstrap::SERVICE_ADDRESS;
pub use cluster::Cluster;
pub use definitions::migration::{Progress, Stage};
pub use member_liveness::{ApiServer, ApiServers};
pub use options::ControllersOptions;
pub use service::{Controllers, ControllersHandle};
pub use work_meter::{ControllerMetrics, NoControllerMetrics};
