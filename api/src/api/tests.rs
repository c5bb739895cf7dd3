//! What an Api is made of: every metric of the table that is about the API has a part that feeds it.

use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_store::{MemoryOptions, MemoryStore};

use super::*;

const NAMING: Naming = Naming::Svc;
/// Metrics that other parts feed: the process.
const FED_ELSEWHERE: [&str; 1] = ["process_"];
/// Our own that are about the API.
const OWN: [&str; 6] = [
    "quorate_admission_",
    "quorate_metrics_",
    "quorate_selector_",
    "quorate_store_",
    "quorate_watch_",
    "quorate_write_",
];

/// The table holds nothing that no part of the server feeds.
#[tokio::test]
async fn every_metric_is_fed() {
    let env = SystemEnv::env();
    let registry = Arc::<Registry>::default();
    let api = Api::new(ApiOptions {
        naming: NAMING,
        catalogue: builtin::catalogue_of(NAMING.names()),
        store: Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone()))),
        env,
        version: Version::default(),
        address: String::new(),
        phase: Phase::Serving,
        authentication: AuthenticationOptions::default(),
        audit: None,
        authorization: vec![ModeOptions::Rules],
        token_secret: [7; 32],
        in_flight: InFlightLimits::default(),
        priority_and_fairness: true,
        gates: Gates::default(),
        webhook_roots: Vec::new(),
        protobuf_cache_bytes: 64 << 20,
        selector_indexes: SelectorIndexOptions::default(),
        kubelets: KubeletClient::default(),
        metrics: registry.clone(),
        tracer: None,
    });
    let is_fed_here = |name: &&str| {
        let is = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        if name.starts_with("quorate_") { is(&OWN) } else { !is(&FED_ELSEWHERE) }
    };
    assert_eq!(registry.unused().filter(is_fed_here).collect::<Vec<_>>(), [] as [&str; 0]);
    drop(api);
}
