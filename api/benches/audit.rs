//! The cost of the audit trail to a request: a get of one small object, without a trail and with
//! one that tells of every request (`Metadata`), down to where a sink takes the events.
//!
//! `cargo bench -p quorate-api --bench audit`. The difference is the cost of the two events of a
//! get. What is counted is the time for which the thread works, so that other work on the machine
//! disturbs it little.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use quorate_access::authentication::{AuthenticationOptions, ConnectionIdentity, User};
use quorate_access::authorization::ModeOptions;
use quorate_access::flow_control::InFlightLimits;
use quorate_api::audit::{Audit, AuditWriter, Batching, Lines, Sink, SpoolOptions, parse_policy};
use quorate_api::kubelet::KubeletClient;
use quorate_api::lifecycle::Phase;
use quorate_api::{Api, ApiOptions, SelectorIndexOptions, Version, filters};
use quorate_env::SystemEnv;
use quorate_kinds::builtin;
use quorate_meta::Naming;
use quorate_store::{MemoryOptions, MemoryStore};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Runtime;

const NAMING: Naming = Naming::Svc;
const POLICY: &str = "apiVersion: audit.svc.io/v1\nkind: Policy\nrules: [{level: Metadata}]";
/// As a node gathers events for its file.
const SPOOL: SpoolOptions = SpoolOptions {
    bytes: 32 << 20,
    batching: Batching { events: usize::MAX, bytes: 512 << 10, wait: Duration::from_millis(50) },
};
/// Gets after which the writer has its turn.
const TURN: u64 = 256;
const PLACES: usize = 4;
const OBJECT: &str = "/api/v1/namespaces/bench/configmaps/config-0";

/// Takes events and forgets them.
struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    fn name(&self) -> &'static str {
        "nowhere"
    }

    async fn write(&mut self, events: &Lines) -> Result<(), String> {
        black_box(events.text());
        Ok(())
    }
}

fn trail() -> (Audit, Vec<AuditWriter>) {
    let policy = parse_policy(NAMING.names(), POLICY.as_bytes()).unwrap();
    let (audit, writers) = Audit::new(
        policy,
        vec![(Box::new(Nowhere), SPOOL)],
        SystemEnv::env().clock,
        NAMING.names(),
    );
    (audit, writers.into_iter().map(|(writer, _)| writer).collect())
}

fn api(audit: Option<Audit>) -> Arc<Api> {
    let env = SystemEnv::env();
    Api::new(ApiOptions {
        naming: NAMING,
        catalogue: builtin::catalogue_of(NAMING.names()),
        store: Arc::new(MemoryStore::new(MemoryOptions::new(env.clock.clone()))),
        env,
        version: Version::default(),
        address: String::new(),
        phase: Phase::Serving,
        authentication: AuthenticationOptions::default(),
        audit: audit.map(Arc::new),
        authorization: vec![ModeOptions::Rules],
        token_secret: [7; 32],
        in_flight: InFlightLimits { read_only: PLACES, mutating: PLACES, long_running: PLACES },
        priority_and_fairness: true,
        gates: "".parse().unwrap(),
        webhook_roots: Vec::new(),
        protobuf_cache_bytes: 64 << 20,
        selector_indexes: SelectorIndexOptions::default(),
        kubelets: KubeletClient::default(),
        metrics: Arc::default(),
        tracer: None,
    })
}

async fn send(
    api: &Arc<Api>,
    identity: &ConnectionIdentity,
    method: Method,
    path: &str,
    body: &'static str,
) -> StatusCode {
    let request =
        Request::builder().method(method).uri(path).header("user-agent", "quorate-bench/0.1.0");
    let request = request
        .header("accept", "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())));
    black_box(filters::handle(api, identity, request.unwrap()).await).status()
}

/// For how long this thread has worked.
fn worked() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

fn gets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("audit");
    group.throughput(Throughput::Elements(1));
    for (name, is_audited) in [("a get without a trail", false), ("a get that is told", true)] {
        let runtime: Runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (audit, writers) = trail();
        let audit = is_audited.then_some(audit);
        let api = api(audit);
        writers.into_iter().for_each(|writer| drop(runtime.spawn(writer.run())));
        let identity =
            ConnectionIdentity::of_user(User::new("admin", ["system:masters".to_owned()]));
        let identity = identity.with_peer("127.0.0.1:50000");
        runtime.block_on(async {
            let namespace = r#"{"metadata": {"name": "bench"}}"#;
            let made = send(&api, &identity, Method::POST, "/api/v1/namespaces", namespace).await;
            assert_eq!(made, StatusCode::CREATED);
            let object = r#"{"metadata": {"name": "config-0"}, "data": {"key": "value"}}"#;
            let (path, _) = OBJECT.rsplit_once('/').unwrap();
            assert_eq!(
                send(&api, &identity, Method::POST, path, object).await,
                StatusCode::CREATED
            );
        });
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|gets| {
                runtime.block_on(async {
                    let before = worked();
                    for number in 0..gets {
                        assert_eq!(
                            send(&api, &identity, Method::GET, OBJECT, "").await,
                            StatusCode::OK
                        );
                        if number % TURN == 0 {
                            tokio::task::yield_now().await;
                        }
                    }
                    worked() - before
                })
            });
        });
        assert_eq!(api.audit.as_ref().map_or(0, |audit| audit.dropped()), 0);
    }
    group.finish();
}

criterion_group!(benches, gets);
criterion_main!(benches);
