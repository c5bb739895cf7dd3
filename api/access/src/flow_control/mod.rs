//! Flow control (API Priority and Fairness, KEP-1040): the flow schema and the priority level of a
//! request, which two headers of its response name, and when the request may execute.
//!
//! Flow schemas sort requests into priority levels. Each level has a part of the server's seats, by
//! its shares, and lends what it does not need. A request takes one seat or several while it
//! executes; where none is free, it waits in a queue of its level or is rejected. Flows that use
//! more than their part wait longer than the others.
//!
//! - `flow_schema`, `flow_schemas`, `level_config`: what the objects of the cluster say, compiled.
//! - `limits`, `demand`: the seats of each level.
//! - `queue_set`, `shuffle_sharding`, `work_estimate`: the algorithm of one level, pure.
//! - `priority_level`, `priority_levels`: the levels at work, with locks and time.
//!
//! Invariants: a request is classified by flow schemas that are as new as what this node has
//! applied; a flow schema is compiled when it changes, not when a request comes. Not here: what a
//! request costs, which the filters of requests estimate. [`InFlight`] limits requests without
//! flow schemas, where priority and fairness is switched off, and watches.

mod demand;
mod flow;
mod flow_schema;
mod flow_schemas;
mod in_flight;
mod level_config;
mod limits;
mod metrics;
mod priority_level;
mod priority_levels;
mod queue_set;
mod shuffle_sharding;
#[cfg(test)]
mod tests;
mod waiting_request;
mod watch_counts;
mod work_estimate;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use http::HeaderMap;
use http::header::HeaderName;
use parking_lot::Mutex;
use quorate_meta::{Names, flow_control as mandatory};
use quorate_store::Store;
use tokio::time::Instant;

pub use self::demand::SeatDemand;
pub use self::flow::Flow;
use self::flow::MatchedSchema;
use self::flow_schema::FlowSchema;
use self::flow_schemas::FlowSchemas;
pub use self::in_flight::{Class, InFlight, InFlightLimits, Seat};
pub use self::limits::LevelLimits;
pub use self::metrics::{FlowControlMetrics, FlowLabels, FlowMetrics, NoFlowControlMetrics};
use self::priority_level::{AdmissionRequest, since};
pub use self::priority_level::{ExecutingRequest, LevelStatus};
use self::priority_levels::{ADJUSTMENT_PERIOD, PriorityLevels};
pub use self::queue_set::{Counts, QueueStatus, RejectReason};
pub use self::waiting_request::{RequestDetails, WaitingStatus};
pub use self::watch_counts::{CountedWatch, WatchCounts};
pub use self::work_estimate::{MAX_REQUEST_SEATS, OBJECTS_PER_SEAT, WorkEstimate};
use crate::authentication::User;
use crate::authorization::Action;
use quorate_registry::Catalogue;
use quorate_registry::derived::{DerivedState, DerivedStateOptions, Informed};

const GROUP: &str = "flowcontrol.apiserver";
const VERSION: &str = "v1";

/// What flow control is made of.
pub struct FlowControlOptions<'a> {
    /// The names of the cluster's profile.
    pub names: &'a Names,
    /// Where the resources of its objects are found.
    pub catalogue: &'a Catalogue,
    /// Where its objects are.
    pub store: Arc<dyn Store>,
    /// The seats that all priority levels have together. Without, requests are classified only.
    pub seats: Option<u32>,
    /// Who is told what happens.
    pub metrics: Arc<dyn FlowControlMetrics>,
}

/// Classifies requests and says when they may execute.
pub struct FlowControl {
    headers: [HeaderName; 2],
    /// `None` where the catalogue does not have flow schemas and priority levels.
    schemas: Option<Arc<DerivedState<FlowSchemas>>>,
    configuration: ArcSwap<Configuration>,
    levels: Mutex<PriorityLevels>,
    is_limiting: bool,
    watches: Arc<WatchCounts>,
    /// When its time begins.
    origin: Instant,
    /// When the seats of the levels are adjusted next.
    adjustment_ns: AtomicU64,
}

/// What requests are matched by.
#[derive(Debug)]
struct Configuration {
    /// What it was made from.
    schemas: Arc<FlowSchemas>,
    matched: Vec<Arc<MatchedSchema>>,
}

impl FlowControl {
    /// Without flow schemas: they are read by the informer, or for the first request.
    #[must_use]
    pub fn new(options: FlowControlOptions<'_>) -> Self {
        let FlowControlOptions { names, catalogue, store, seats, metrics } = options;
        let header = |name: &str| {
            HeaderName::from_bytes(name.as_bytes()).expect("the names of headers are header names")
        };
        let origin = Instant::now();
        let mut levels = PriorityLevels::new(seats.unwrap_or(0), origin, metrics);
        let mandatory = Arc::<FlowSchemas>::default();
        let configuration = Configuration::new(mandatory, &mut levels, 0);
        Self {
            headers: [names.header_flow_schema, names.header_priority_level].map(header),
            schemas: schemas(names, catalogue, store).map(Arc::new),
            configuration: ArcSwap::from_pointee(configuration),
            levels: Mutex::new(levels),
            is_limiting: seats.is_some(),
            watches: Arc::default(),
            origin,
            adjustment_ns: AtomicU64::new(next_adjustment(0)),
        }
    }

    /// The derived state that it classifies by.
    #[must_use]
    pub fn derived_states(&self) -> Vec<Arc<dyn Informed>> {
        self.schemas.iter().map(|schemas| schemas.clone() as Arc<dyn Informed>).collect()
    }

    /// Whether it limits what executes. If not, [`InFlight`] has to.
    #[must_use]
    pub fn is_limiting(&self) -> bool {
        self.is_limiting
    }

    /// The open watches, which say what writes cost.
    #[must_use]
    pub fn watches(&self) -> &Arc<WatchCounts> {
        &self.watches
    }

    /// The flow of a request.
    #[must_use]
    pub fn classify(&self, user: &User, action: &Action<'_>) -> Flow {
        if let Some(schemas) = &self.schemas {
            let newest = schemas.applied();
            if !Arc::ptr_eq(&self.configuration.load().schemas, &newest) {
                self.configure(schemas);
            }
        }
        self.configuration.load().classify(user, action)
    }

    /// Adds the headers that name the flow.
    pub fn write_headers(&self, flow: &Flow, headers: &mut HeaderMap) {
        let Some(uids) = &flow.schema.uids else { return };
        for (name, uid) in self.headers.iter().zip(uids) {
            headers.insert(name, uid.clone());
        }
    }

    /// Waits until a request of this flow may execute, until that moment at most. What it gives has
    /// to be kept while the request executes. `details` are asked for when it is put into a queue.
    ///
    /// # Errors
    /// When the request is rejected.
    pub async fn admit(
        &self,
        flow: &Flow,
        estimate: WorkEstimate,
        is_watch: bool,
        until: Instant,
        details: impl FnOnce() -> RequestDetails,
    ) -> Result<ExecutingRequest, RejectReason> {
        let now = Instant::now();
        let now_ns = since(self.origin, now);
        if now_ns >= self.adjustment_ns.load(Ordering::Relaxed) {
            self.adjust(now_ns);
        }
        let schema = flow.schema.clone();
        schema.metrics.estimated(estimate.max_seats());
        let request = AdmissionRequest { schema, hash: flow.hash, estimate, is_watch };
        request.admit(now, until, details).await
    }

    /// The watchers that a write of this flow has to be told to were counted.
    pub fn note_watchers(&self, flow: &Flow, watchers: usize) {
        flow.schema.metrics.watchers_counted(watchers);
    }

    /// How each priority level stands.
    #[must_use]
    pub fn levels(&self) -> Vec<LevelStatus> {
        self.levels.lock().statuses()
    }

    /// How the queues of each priority level stand.
    #[must_use]
    pub fn queues(&self) -> Vec<(Arc<str>, Vec<QueueStatus>)> {
        self.levels.lock().queues()
    }

    /// What waits in the queues of each priority level.
    #[must_use]
    pub fn waiting(&self) -> Vec<(Arc<str>, Vec<WaitingStatus>)> {
        self.levels.lock().waiting()
    }

    /// Follows a change of the objects.
    fn configure(&self, schemas: &DerivedState<FlowSchemas>) {
        let mut levels = self.levels.lock();
        // Another request may have been here first, with newer ones.
        let newest = schemas.applied();
        if !Arc::ptr_eq(&self.configuration.load().schemas, &newest) {
            let now_ns = since(self.origin, Instant::now());
            let configuration = Configuration::new(newest, &mut levels, now_ns);
            self.configuration.store(Arc::new(configuration));
        }
    }

    /// Adjusts the seats of the levels to their demand. That no request comes for longer than a
    /// period makes no difference: without requests nothing waits.
    fn adjust(&self, now_ns: u64) {
        let Some(mut levels) = self.levels.try_lock() else { return };
        if now_ns >= self.adjustment_ns.load(Ordering::Relaxed) {
            self.adjustment_ns.store(next_adjustment(now_ns), Ordering::Relaxed);
            levels.adjust(now_ns);
        }
    }
}

impl Configuration {
    /// The configuration by these objects; the levels follow it.
    fn new(schemas: Arc<FlowSchemas>, levels: &mut PriorityLevels, now_ns: u64) -> Self {
        levels.configure(now_ns, schemas.levels());
        let matched = |schema: &Arc<FlowSchema>| {
            let (level, widest) = levels.get(&schema.level)?;
            let level_uid = || schemas.levels().get(&*schema.level)?.uid.clone();
            Some(Arc::new(MatchedSchema {
                name: schema.name.clone(),
                schema: schema.clone(),
                level: level.clone(),
                uids: schema.uid.clone().zip(level_uid()).map(<[_; 2]>::from),
                widest,
                metrics: levels.flow_metrics(&schema.level, &schema.name),
            }))
        };
        let matched = schemas.matched().iter().filter_map(matched).collect();
        Self { schemas, matched }
    }

    /// The flow by the first flow schema that matches; a user that none matches, because he is in
    /// no group, belongs to the one that catches all.
    fn classify(&self, user: &User, action: &Action<'_>) -> Flow {
        let mut all = self.matched.iter();
        let found = all.find(|one| one.schema.matches(user, action));
        let catch_all = || self.matched.iter().rfind(|one| *one.name == *mandatory::CATCH_ALL);
        let found = found.or_else(catch_all).or(self.matched.last());
        found.expect("the mandatory flow schemas are always there").flow(user, action)
    }
}

fn next_adjustment(now_ns: u64) -> u64 {
    let period = u64::try_from(ADJUSTMENT_PERIOD.as_nanos()).unwrap_or(u64::MAX);
    now_ns.saturating_add(period)
}

fn schemas(
    names: &Names,
    catalogue: &Catalogue,
    store: Arc<dyn Store>,
) -> Option<DerivedState<FlowSchemas>> {
    let group = names.group(GROUP);
    let find = |plural| catalogue.find_builtin(&group, VERSION, plural).cloned();
    let resources = vec![find(flow_schemas::SCHEMAS)?, find(flow_schemas::LEVELS)?];
    let prefixes = resources.iter().map(|resource| resource.prefix(None)).collect();
    let what = "flow schemas and priority levels";
    Some(DerivedState::new(DerivedStateOptions { store, resources, prefixes, what }))
}

impl fmt::Debug for FlowControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowControl").field("headers", &self.headers).finish_non_exhaustive()
    }
}
