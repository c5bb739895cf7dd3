//! The cluster as controllers see it: the parts of a server that need no HTTP.
//!
//! Invariant: shared by all controllers of a node and never changed; what changes lies behind the
//! parts.

use std::fmt;
use std::sync::Arc;

use quorate_access::authentication::token::ServiceAccountTokens;
use quorate_access::authorization::Authorizer;
use quorate_admission::QuotaLocks;
use quorate_env::Env;
use quorate_extensions::crd::publisher::Publisher;
use quorate_meta::Names;
use quorate_registry::CurrentCatalogue;
use quorate_registry::write::Writer;
use quorate_store::Store;

use crate::work_meter::ControllerMetrics;

/// What controllers read and write with.
pub struct Cluster {
    /// Every name that depends on the naming profile.
    pub names: &'static Names,
    /// What is served.
    pub catalogue: Arc<CurrentCatalogue>,
    /// Keeps the catalogue in step with the stored definitions.
    pub custom_resources: Option<Arc<Publisher>>,
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// Clock and randomness.
    pub env: Env,
    /// Writes objects for the server itself.
    pub writer: Writer,
    /// Answers what a user may do.
    pub authorizer: Arc<Authorizer>,
    /// Issues and checks tokens of service accounts.
    pub service_accounts: Arc<ServiceAccountTokens>,
    /// Serializes the writes that are charged to the quotas of a namespace.
    pub quota_locks: Arc<QuotaLocks>,
    /// Counts what controllers do.
    pub metrics: Arc<dyn ControllerMetrics>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("naming", &self.names.naming).finish_non_exhaustive()
    }
}
