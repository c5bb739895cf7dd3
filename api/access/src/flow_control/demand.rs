//! The seat demand of a priority level: how many seats its requests occupy or wait for, observed
//! over a period and smoothed over many (KEP-1040).
//!
//! Pure: the time is given. Invariant: what is observed is exact for the moments at which the
//! demand was set, whatever lies between them.

/// How much of the smoothed demand stays from one period to the next.
const SMOOTHING: f64 = 0.977;

/// Sums up the demand since the last reset.
#[derive(Debug, Clone, Default)]
pub(super) struct DemandIntegrator {
    since_ns: u64,
    changed_ns: u64,
    demand: f64,
    /// Demand by time, in seats times nanoseconds.
    area: f64,
    /// The square of the demand by time.
    square_area: f64,
    highest: f64,
}

/// The demand of one period.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DemandObservation {
    pub(super) duration_ns: u64,
    pub(super) average: f64,
    pub(super) deviation: f64,
    pub(super) highest: f64,
}

/// The demand of a priority level in the last period, and its smoothed course. Seats.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SeatDemand {
    /// The most at one time.
    pub high_watermark: f64,
    /// The mean over time.
    pub average: f64,
    /// The standard deviation over time.
    pub deviation: f64,
    /// Follows average and deviation up at once and down slowly.
    pub smoothed: f64,
}

impl DemandIntegrator {
    /// Begins with no demand.
    pub(super) fn new(now_ns: u64) -> Self {
        Self { since_ns: now_ns, changed_ns: now_ns, ..Self::default() }
    }

    /// The demand from now on.
    pub(super) fn set(&mut self, now_ns: u64, demand: u32) {
        self.advance(now_ns);
        self.demand = f64::from(demand);
        self.highest = self.highest.max(self.demand);
    }

    /// What was observed since the last reset.
    pub(super) fn reset(&mut self, now_ns: u64) -> DemandObservation {
        self.advance(now_ns);
        let duration_ns = now_ns.saturating_sub(self.since_ns);
        let mut observed = DemandObservation {
            duration_ns,
            highest: self.highest,
            ..DemandObservation::default()
        };
        if duration_ns > 0 {
            let duration = duration_ns as f64;
            observed.average = self.area / duration;
            let variance = self.square_area / duration - observed.average * observed.average;
            // Rounding may leave a little less than nothing.
            observed.deviation = variance.max(0.0).sqrt();
        }
        let demand = self.demand;
        *self = Self { demand, highest: demand, ..Self::new(now_ns) };
        observed
    }

    fn advance(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.changed_ns) as f64;
        self.area += self.demand * passed;
        self.square_area += self.demand * self.demand * passed;
        self.changed_ns = self.changed_ns.max(now_ns);
    }
}

impl SeatDemand {
    /// Takes in what was observed over so many periods.
    pub(super) fn update(&mut self, observed: &DemandObservation, periods: u32) {
        self.high_watermark = observed.highest;
        if observed.duration_ns == 0 {
            return;
        }
        (self.average, self.deviation) = (observed.average, observed.deviation);
        let envelope = observed.average + observed.deviation;
        // As if the same had been observed in each of the periods.
        let kept = SMOOTHING.powi(i32::try_from(periods).unwrap_or(i32::MAX));
        self.smoothed = envelope.max(envelope + kept * (self.smoothed - envelope));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_period_has_its_mean_deviation_and_maximum() {
        let check = |steps: &[(u64, u32)], end: u64, expect: (f64, f64, f64)| {
            let mut integrator = DemandIntegrator::new(0);
            steps.iter().for_each(|(at, demand)| integrator.set(at * SECOND_NS, *demand));
            let observed = integrator.reset(end * SECOND_NS);
            let found = (observed.average, observed.deviation, observed.highest);
            assert_eq!(found, expect, "{steps:?}");
        };
        check(&[], 10, (0.0, 0.0, 0.0));
        check(&[(0, 4)], 10, (4.0, 0.0, 4.0));
        check(&[(0, 2), (5, 4)], 10, (3.0, 1.0, 4.0));
        check(&[(0, 8), (0, 0)], 10, (0.0, 0.0, 8.0));
        check(&[(0, 8)], 0, (0.0, 0.0, 8.0));
        // Time that goes back counts for nothing.
        check(&[(5, 2), (4, 2)], 10, (1.0, 1.0, 2.0));
    }

    #[test]
    fn the_next_period_begins_with_the_demand_of_the_last_one() {
        let mut integrator = DemandIntegrator::new(0);
        integrator.set(0, 6);
        integrator.reset(SECOND_NS);
        let expect = DemandObservation {
            duration_ns: SECOND_NS,
            average: 6.0,
            deviation: 0.0,
            highest: 6.0,
        };
        assert_eq!(integrator.reset(2 * SECOND_NS), expect);
    }

    #[test]
    fn the_smoothed_demand_rises_at_once_and_falls_slowly() {
        let observed = |average, deviation| DemandObservation {
            duration_ns: SECOND_NS,
            average,
            deviation,
            highest: average,
        };
        let mut demand = SeatDemand::default();
        demand.update(&observed(90.0, 10.0), 1);
        assert_eq!(demand.smoothed, 100.0);
        demand.update(&observed(0.0, 0.0), 1);
        assert_eq!(demand.smoothed, 100.0 * SMOOTHING);
        let mut at_once = demand;
        at_once.update(&observed(10.0, 0.0), 3);
        (0..3).for_each(|_| demand.update(&observed(10.0, 0.0), 1));
        assert!((at_once.smoothed - demand.smoothed).abs() < 1e-9);
        assert_eq!(demand.average, 10.0);
    }
}
