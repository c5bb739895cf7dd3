//! Clients that record the trace of each of their writes, and the trace of a failover: a write that
//! met the dead leader and was done by the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use tokio::task::JoinHandle;

use super::super::NODES;
use crate::load::collection;
use crate::support::{Client, Collector, Compose, Told, attribute_text, eventually, hexadecimal};

/// The namespace that they write to.
pub(super) const NAMESPACE: &str = "traced";
/// Between two writes of a client.
const PAUSE: Duration = Duration::from_millis(100);

/// A write that was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct TracedWrite {
    trace: String,
    name: String,
    begun: Instant,
}

/// A client at each node.
pub(super) struct TracedWriters {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<TracedWrite>>>,
}

impl TracedWriters {
    pub(super) fn start(compose: &Compose, seed: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let tasks = NODES.map(|node| {
            let random = StdRng::seed_from_u64(seed ^ node);
            tokio::spawn(write(compose.client(node), node, random, stop.clone()))
        });
        Self { stop, tasks: tasks.into() }
    }

    /// Ends them; every node has what was acknowledged. Gives all of it.
    pub(super) async fn finish(self, compose: &Compose) -> Vec<TracedWrite> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = vec![];
        for task in self.tasks {
            all.extend(task.await.unwrap());
        }
        for node in NODES {
            let list = compose.client(node).get(&collection(NAMESPACE)).await.expect(200);
            let there: std::collections::BTreeMap<_, _> = list.body["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| (item["metadata"]["name"].as_str(), item["data"]["trace"].as_str()))
                .collect();
            for TracedWrite { trace, name, .. } in &all {
                let found = there.get(&Some(name.as_str()));
                assert_eq!(found, Some(&Some(trace.as_str())), "{name} at node {node}");
            }
        }
        all
    }
}

async fn write(
    mut client: Client,
    node: u64,
    mut random: StdRng,
    stop: Arc<AtomicBool>,
) -> Vec<TracedWrite> {
    let (mut acknowledged, mut number) = (vec![], 0);
    while !stop.load(Ordering::Relaxed) {
        let trace = hexadecimal(&random.random::<[u8; 16]>());
        client.trace(format!("00-{trace}-{}-01", hexadecimal(&random.random::<[u8; 8]>())));
        let (begun, name) = (Instant::now(), format!("of-{node}-{number}"));
        number += 1;
        let body = json!({ "metadata": { "name": name }, "data": { "trace": trace } });
        let answer = client.send(Method::POST, &collection(NAMESPACE), Some(&body)).await;
        if answer.is_ok_and(|answer| answer.status == 201) {
            acknowledged.push(TracedWrite { trace, name, begun });
        }
        tokio::time::sleep(PAUSE).await;
    }
    acknowledged
}

/// A fault that is over: of which node, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastFault {
    pub(super) node: u64,
    pub(super) begin: Instant,
    pub(super) end: Instant,
}

impl PastFault {
    /// Finds a write whose trace shows how another node followed this one as the leader, and prints
    /// that trace.
    pub(super) async fn check_is_told(&self, writes: &[TracedWrite], collector: &Collector) {
        let meanwhile =
            writes.iter().filter(|write| write.begun >= self.begin && write.begun <= self.end);
        let meanwhile: Vec<&TracedWrite> = meanwhile.collect();
        assert!(!meanwhile.is_empty(), "no traced write was acknowledged during {self:?}");
        let found = eventually("the trace of a failover", async || {
            let told = collector.told();
            let mut shown = meanwhile.iter().map(|write| {
                let is_of = |told: &&Told| hexadecimal(&told.span.trace_id) == write.trace;
                told.iter().filter(is_of).cloned().collect::<Vec<_>>()
            });
            shown.find(|spans| self.is_shown_by(spans))
        })
        .await;
        print(found);
    }

    /// Whether a trace has a request to the old leader that failed, one after it that did not, and
    /// what another leader did: all below one span of the node that was asked.
    fn is_shown_by(&self, spans: &[Told]) -> bool {
        let failed = spans.iter().find(|told| self.is_failed_forward(told));
        let Some(failed) = failed else { return false };
        let decided = spans.iter().find(|told| {
            is_well(told)
                && told.span.start_time_unix_nano >= failed.span.end_time_unix_nano
                && told.span.parent_span_id == failed.span.parent_span_id
                && (is_forward(told) || told.span.name == "raft.propose")
        });
        let Some(decided) = decided else { return false };
        let of_next = |told: &Told| !told.instance.ends_with(&format!("/{}", self.node));
        let applied = spans.iter().any(|told| told.span.name == "raft.apply" && of_next(told));
        // The leader proposes it itself, or for the node that asks.
        let proposed = spans.iter().any(|told| {
            told.span.name == "raft.propose"
                && of_next(told)
                && (told.span.span_id == decided.span.span_id
                    || told.span.parent_span_id == decided.span.span_id)
        });
        let has_parent = spans.iter().any(|told| told.span.span_id == failed.span.parent_span_id);
        applied && proposed && has_parent
    }

    fn is_failed_forward(&self, told: &Told) -> bool {
        let old = format!("node-{}:", self.node);
        is_forward(told)
            && !is_well(told)
            && attribute_text(&told.span.attributes, "server.address").starts_with(&old)
    }
}

fn is_forward(told: &Told) -> bool {
    told.span.name == "raft.forward"
}

fn is_well(told: &Told) -> bool {
    told.span.status.as_ref().is_none_or(|status| status.code() != StatusCode::Error)
}

/// The spans in the order of their beginnings.
fn print(mut spans: Vec<Told>) {
    spans.sort_by_key(|told| told.span.start_time_unix_nano);
    let begin = spans[0].span.start_time_unix_nano;
    println!("a failover, as trace {} tells it:", hexadecimal(&spans[0].span.trace_id));
    let milliseconds = |nanos: u64| (nanos.saturating_sub(begin)) as f64 / 1e6;
    for Told { instance, span } in &spans {
        let (from, to) =
            (milliseconds(span.start_time_unix_nano), milliseconds(span.end_time_unix_nano));
        let node = instance.rsplit('/').next().unwrap_or_default();
        let why = span.status.as_ref().map_or("", |status| status.message.as_str());
        let address = span.attributes.iter().find(|one| one.key == "server.address");
        let address = address.map(|_| attribute_text(&span.attributes, "server.address"));
        let name = &span.name;
        println!(
            "  {from:8.1} to {to:8.1} ms  node {node}  {name} {} {why}",
            address.unwrap_or_default()
        );
    }
}
