//! The options of the controllers: what a node gives them to work with.

use std::sync::Arc;
use std::time::Duration;

use crate::certificates::Signing;
use crate::cluster::Cluster;
use crate::member_liveness::ApiServers;

/// What the controllers need.
#[derive(Debug, Clone)]
pub struct ControllersOptions {
    /// The cluster that they reconcile.
    pub cluster: Arc<Cluster>,
    /// The certificate (PEM) of the authority that signs servers' certificates, published in every
    /// namespace; empty publishes nothing.
    pub root_ca: String,
    /// How long an event lives after it was last written.
    pub event_lifetime: Duration,
    /// The port that the API listens on, which the API's own service leads to.
    pub api_port: u16,
    /// The members that serve the API.
    pub api_servers: Arc<dyn ApiServers>,
    /// What the well-known signers need; without it they approve and issue nothing.
    pub signing: Option<Signing>,
}
