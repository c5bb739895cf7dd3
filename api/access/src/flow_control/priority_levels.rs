//! All priority levels of the server: which there are, the seats that each has, and the periodic
//! adjustment of these by what each needs.
//!
//! Invariants: a level keeps its requests through every change of its configuration; one that was
//! deleted keeps its part of the seats until its last request has ended. Not here: which level a
//! request belongs to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdMap;
use tokio::time::Instant;

use super::demand::SeatDemand;
use super::level_config::{LevelConfig, LimitResponse};
use super::limits::{Claim, LevelLimits, divide};
use super::metrics::{FlowControlMetrics, FlowLabels, FlowMetrics};
use super::priority_level::{LevelStatus, PriorityLevel};
use super::queue_set::QueueStatus;
use super::waiting_request::WaitingStatus;
use super::work_estimate::MAX_REQUEST_SEATS;

/// How often the levels' seats are adjusted to their demand.
pub(super) const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);

/// The priority levels.
#[derive(Debug)]
pub(super) struct PriorityLevels {
    total_seats: u32,
    levels: BTreeMap<Arc<str>, LevelState>,
    origin: Instant,
    metrics: Arc<dyn FlowControlMetrics>,
}

#[derive(Debug)]
struct LevelState {
    level: Arc<PriorityLevel>,
    config: Arc<LevelConfig>,
    limits: LevelLimits,
    demand: SeatDemand,
    current: u32,
    is_quiescing: bool,
}

impl PriorityLevels {
    /// No level yet, of a server with so many seats.
    pub(super) fn new(
        total_seats: u32,
        origin: Instant,
        metrics: Arc<dyn FlowControlMetrics>,
    ) -> Self {
        Self { total_seats, levels: BTreeMap::new(), origin, metrics }
    }

    /// A level and the most seats that one of its requests takes; `None` where nothing depends on
    /// it.
    pub(super) fn get(&self, name: &str) -> Option<(&Arc<PriorityLevel>, Option<u32>)> {
        let state = self.levels.get(name)?;
        let (config, nominal) = (&state.config, state.limits.nominal);
        // Exempt levels limit nothing, and most have nothing to lend.
        let depends = !state.is_exempt() || nominal > 0;
        let widest = depends.then(|| config.widest_request(nominal, MAX_REQUEST_SEATS));
        Some((&state.level, widest))
    }

    /// Who is told what happens to the requests of a flow schema.
    pub(super) fn flow_metrics(
        &self,
        priority_level: &str,
        flow_schema: &str,
    ) -> Arc<dyn FlowMetrics> {
        self.metrics.flow(FlowLabels { priority_level, flow_schema })
    }

    /// Makes the levels those of a configuration.
    pub(super) fn configure(&mut self, now_ns: u64, configs: &OrdMap<Arc<str>, Arc<LevelConfig>>) {
        for (name, config) in configs {
            if let Some(state) = self.levels.get_mut(name) {
                (state.config, state.is_quiescing) = (config.clone(), false);
                continue;
            }
            let origin = self.origin;
            let how = (config.response, 0);
            let level = PriorityLevel::new(name.clone(), how, (origin, now_ns));
            let state = LevelState {
                level: Arc::new(level),
                config: config.clone(),
                limits: LevelLimits::default(),
                demand: SeatDemand::default(),
                current: 0,
                is_quiescing: false,
            };
            self.levels.insert(name.clone(), state);
        }
        for (name, state) in &mut self.levels {
            state.is_quiescing = !configs.contains_key(name);
        }
        self.adjust(now_ns);
    }

    /// Gives each level the seats that its demand calls for.
    pub(super) fn adjust(&mut self, now_ns: u64) {
        self.remove_drained();
        for state in self.levels.values_mut() {
            let observed = state.level.observe_demand(now_ns);
            let period_ns = u64::try_from(ADJUSTMENT_PERIOD.as_nanos()).unwrap_or(u64::MAX);
            let periods = u32::try_from(observed.duration_ns / period_ns).unwrap_or(u32::MAX);
            state.demand.update(&observed, periods.max(1));
        }
        let claims: Vec<Claim> = self.levels.values().map(LevelState::claim).collect();
        let division = divide(&claims);
        self.metrics.fair_fraction(division.fair_fraction);
        let given = division.current.into_iter().zip(division.targets);
        for ((name, state), (current, target)) in self.levels.iter_mut().zip(given) {
            state.current = current;
            state.level.configure(now_ns, state.config.response, current);
            self.metrics.adjusted(name, &state.demand, target, current);
        }
    }

    /// How each level stands.
    pub(super) fn statuses(&self) -> Vec<LevelStatus> {
        let status = |state: &LevelState| LevelStatus {
            is_quiescing: state.is_quiescing,
            is_exempt: state.is_exempt(),
            limits: state.limits,
            current_limit: state.current,
            ..state.level.status()
        };
        self.levels.values().map(status).collect()
    }

    /// How the queues of each level stand.
    pub(super) fn queues(&self) -> Vec<(Arc<str>, Vec<QueueStatus>)> {
        let levels = self.levels.iter();
        levels.map(|(name, state)| (name.clone(), state.level.queue_statuses())).collect()
    }

    /// What waits in the queues of each level.
    pub(super) fn waiting(&self) -> Vec<(Arc<str>, Vec<WaitingStatus>)> {
        let levels = self.levels.iter();
        levels.map(|(name, state)| (name.clone(), state.level.waiting())).collect()
    }

    /// Forgets the levels that were deleted and have drained, and divides the seats among the rest.
    fn remove_drained(&mut self) {
        let metrics = &self.metrics;
        self.levels.retain(|name, state| {
            let is_drained = state.is_quiescing && state.level.is_idle();
            if is_drained {
                metrics.removed(name);
            }
            !is_drained
        });
        let shares = self.levels.values().map(|state| f64::from(state.config.shares)).sum();
        for (name, state) in &mut self.levels {
            let limits = LevelLimits::of(&state.config, self.total_seats, shares);
            if state.limits != limits {
                state.limits = limits;
                self.metrics.configured(name, limits);
            }
        }
    }
}

impl LevelState {
    fn is_exempt(&self) -> bool {
        self.config.response == LimitResponse::Exempt
    }

    fn claim(&self) -> Claim {
        Claim { is_exempt: self.is_exempt(), limits: self.limits, demand: self.demand }
    }
}
