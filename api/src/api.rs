//! Everything that requests share: names, schema, resources, store, clock, and what the server says about itself.
//!
//! Invariant: immutable but for what its fields guard themselves; one per process or, in tests, several side by side.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use quorate_meta::{Names, Naming};
use quorate_schema::Graph;
use quorate_store::Store;
use quorate_store::env::Env;

use crate::cache::Fanout;
use crate::handlers::continuation::Tokens;
use crate::handlers::health::Health;
use crate::handlers::openapi::OpenApi;
use crate::lifecycle::{Lifecycle, Phase};
use crate::registry::Registry;

/// What an [`Api`] is made of.
pub struct ApiOptions {
    /// The naming profile of the cluster.
    pub naming: Naming,
    /// The schema of that profile.
    pub graph: Arc<Graph>,
    /// What is served.
    pub registry: Arc<Registry>,
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// Clock, randomness, network.
    pub env: Env,
    /// What `/version` says.
    pub version: Version,
    /// Where the process stands: [`Phase::Starting`] when the store has to catch up first.
    pub phase: Phase,
    /// Authenticates continue tokens: 32 random bytes, the same on every node of a cluster.
    pub token_secret: [u8; 32],
}

/// The answer to `/version`.
#[derive(Debug, Clone, Default)]
pub struct Version {
    /// The release and the build, for example `v1.35.0+quorate-0.1.0`.
    pub git_version: String,
    /// The commit of the build, or empty.
    pub git_commit: String,
    /// RFC 3339, or empty.
    pub build_date: String,
}

/// The API of a cluster as one node serves it, independent of any connection.
pub struct Api {
    /// Every name that depends on the naming profile.
    pub names: &'static Names,
    /// The schema.
    pub graph: Arc<Graph>,
    /// What is served.
    pub registry: Arc<Registry>,
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// Clock, randomness, network.
    pub env: Env,
    /// Where the process stands.
    pub lifecycle: Lifecycle,
    /// The checks behind `/livez` and `/readyz`; components register theirs here.
    pub health: Health,
    pub(crate) version: Version,
    pub(crate) tokens: Tokens,
    pub(crate) fanout: Arc<Fanout>,
    pub(crate) openapi: OpenApi,
    /// Random bytes that tell this process from others.
    pub(crate) process: [u8; 16],
    /// Numbers requests.
    pub(crate) requests: AtomicU64,
}

impl Api {
    /// Puts the parts together; starts nothing.
    #[must_use]
    pub fn new(options: ApiOptions) -> Arc<Self> {
        let names = options.naming.names();
        let mut process = [0; 16];
        options.env.entropy.fill(&mut process);
        Arc::new(Self {
            names,
            openapi: OpenApi::default(),
            fanout: Arc::default(),
            tokens: Tokens::new(options.token_secret),
            health: Health::default(),
            process,
            requests: AtomicU64::new(0),
            lifecycle: Lifecycle::new(options.phase),
            graph: options.graph,
            registry: options.registry,
            store: options.store,
            env: options.env,
            version: options.version,
        })
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("naming", &self.names.naming).finish_non_exhaustive()
    }
}
