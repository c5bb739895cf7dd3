//! The concurrency limits of priority levels: the seats of the server, divided by shares, and what
//! the levels lend each other by their demand (KEP-1040).
//!
//! Pure. Invariants: a level never has less than its lower and more than its upper limit; what the
//! levels have together is, but for rounding, what the server has.

use super::demand::SeatDemand;
use super::level_config::LevelConfig;

/// The limits of one level, by its configuration. Seats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelLimits {
    /// Its part of the server's seats.
    pub nominal: u32,
    /// What stays after lending.
    pub lower: u32,
    /// What it may have with borrowing.
    pub upper: u32,
}

impl LevelLimits {
    /// The limits of a level of a server with so many seats and so many shares in them.
    pub(super) fn of(config: &LevelConfig, total_seats: u32, all_shares: f64) -> Self {
        let part = f64::from(config.shares) / all_shares.max(1.0);
        let nominal = (f64::from(total_seats) * part).ceil() as u32;
        let percent =
            |percent: u32| (f64::from(nominal) * f64::from(percent) / 100.0).round() as u32;
        let borrowed = config.borrowing_percent.map_or(total_seats, percent);
        Self {
            nominal,
            lower: nominal.saturating_sub(percent(config.lendable_percent)),
            upper: nominal.saturating_add(borrowed),
        }
    }
}

/// A level that takes part in lending.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) is_exempt: bool,
    pub(super) limits: LevelLimits,
    pub(super) demand: SeatDemand,
}

/// What lending comes to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Division {
    /// The current limit of each level.
    pub(super) current: Vec<u32>,
    /// The seats that each level would have by its demand.
    pub(super) targets: Vec<f64>,
    /// How much of its target each level gets, as far as its limits allow.
    pub(super) fair_fraction: f64,
}

impl Claim {
    /// What the level does not lend at this moment, because it has needed it in the last period.
    fn floor(&self) -> f64 {
        let needed = self.demand.high_watermark.min(f64::from(self.limits.nominal));
        needed.max(f64::from(self.limits.lower))
    }

    fn target(&self) -> f64 {
        self.floor().max(self.demand.smoothed)
    }
}

/// Divides what the levels have nominally by their demand. Exempt levels come first: they take what
/// they need of their nominal seats.
pub(super) fn divide(claims: &[Claim]) -> Division {
    let targets = claims.iter().map(Claim::target).collect();
    let nominal: f64 = claims.iter().map(|claim| f64::from(claim.limits.nominal)).sum();
    let exempt: f64 = claims.iter().filter(|claim| claim.is_exempt).map(Claim::floor).sum();
    let limited = || claims.iter().filter(|claim| !claim.is_exempt);
    let left = nominal - exempt;
    let lowest: f64 = limited().map(|claim| f64::from(claim.limits.lower)).sum();
    let floors: f64 = limited().map(Claim::floor).sum();
    let mut fair_fraction = 0.0;
    let of_limited: Box<dyn Fn(&Claim) -> f64> = if left <= lowest {
        Box::new(|claim| f64::from(claim.limits.lower))
    } else if left <= floors {
        let part = (left - lowest) / (floors - lowest);
        Box::new(move |claim| {
            let lower = f64::from(claim.limits.lower);
            lower + part * (claim.floor() - lower)
        })
    } else {
        let bounds: Vec<_> = limited().map(Bounds::of).collect();
        fair_fraction = fraction(left, &bounds);
        Box::new(move |claim| Bounds::of(claim).at(fair_fraction))
    };
    let current = |claim: &Claim| {
        let seats = if claim.is_exempt { claim.floor() } else { of_limited(claim) };
        seats.round() as u32
    };
    Division { current: claims.iter().map(current).collect(), targets, fair_fraction }
}

/// Between which bounds a level gets a fraction of its target.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: f64,
    high: f64,
    target: f64,
}

impl Bounds {
    fn of(claim: &Claim) -> Self {
        let low = claim.floor();
        Self { low, high: f64::from(claim.limits.upper).max(low), target: claim.target() }
    }

    fn at(self, fraction: f64) -> f64 {
        (fraction * self.target).clamp(self.low, self.high)
    }
}

/// The fraction at which the levels get so many seats together; at which all have what they may
/// have, if that is less.
fn fraction(seats: f64, bounds: &[Bounds]) -> f64 {
    // The sum grows with the fraction, in straight lines between the fractions at which a level
    // leaves one of its bounds.
    let claiming = bounds.iter().filter(|one| one.target > 0.0);
    let mut corners: Vec<f64> =
        claiming.flat_map(|one| [one.low / one.target, one.high / one.target]).collect();
    corners.sort_by(f64::total_cmp);
    let sum = |fraction: f64| bounds.iter().map(|one| one.at(fraction)).sum::<f64>();
    let mut before = 0.0;
    for corner in corners {
        let (low, high) = (sum(before), sum(corner));
        if high >= seats && high > low {
            return before + (corner - before) * ((seats - low) / (high - low)).clamp(0.0, 1.0);
        }
        before = corner;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_from_shares_and_percents() {
        let check = |shares, lendable, borrowing, expect: [u32; 3]| {
            let config = LevelConfig {
                shares,
                lendable_percent: lendable,
                borrowing_percent: borrowing,
                ..LevelConfig::default()
            };
            let limits = LevelLimits::of(&config, 600, 245.0);
            let found = [limits.nominal, limits.lower, limits.upper];
            assert_eq!(found, expect, "{config:?}");
        };
        check(20, 50, None, [49, 24, 649]);
        check(100, 90, None, [245, 24, 845]);
        check(10, 0, None, [25, 25, 625]);
        check(5, 0, Some(0), [13, 13, 13]);
        check(40, 25, Some(50), [98, 73, 147]);
        check(0, 0, Some(100), [0, 0, 0]);
    }

    fn claim([nominal, lower, upper]: [u32; 3], high_watermark: f64, smoothed: f64) -> Claim {
        Claim {
            is_exempt: false,
            limits: LevelLimits { nominal, lower, upper },
            demand: SeatDemand { high_watermark, smoothed, ..SeatDemand::default() },
        }
    }

    #[test]
    fn what_is_not_needed_is_lent() {
        let check = |claims: &[Claim], expect: &[u32]| {
            let division = divide(claims);
            assert_eq!(division.current, expect, "{claims:?} {division:?}");
        };
        let level = [100, 50, 300];
        // No level needs anything: each has its own.
        check(&[claim(level, 0.0, 0.0), claim(level, 0.0, 0.0)], &[100, 100]);
        // One needs much: it gets what the other one lends, and not more.
        check(&[claim(level, 500.0, 500.0), claim(level, 0.0, 0.0)], &[150, 50]);
        // What the other one has needed itself it does not lend.
        check(&[claim(level, 500.0, 500.0), claim(level, 80.0, 10.0)], &[120, 80]);
        // Both need more than they have.
        check(&[claim(level, 500.0, 500.0), claim(level, 500.0, 400.0)], &[100, 100]);
        // One may borrow little: the other one keeps the rest.
        check(&[claim([100, 50, 110], 500.0, 500.0), claim([100, 50, 100], 0.0, 0.0)], &[110, 90]);
        check(&[claim([100, 0, 300], 0.0, 0.0), claim([100, 0, 300], 9.0, 30.0)], &[0, 200]);
        check(&[], &[]);
    }

    #[test]
    fn exempt_levels_take_what_they_need_first() {
        let exempt = |nominal, lower, high_watermark| Claim {
            is_exempt: true,
            ..claim([nominal, lower, nominal], high_watermark, 0.0)
        };
        let level = claim([100, 50, 300], 500.0, 500.0);
        let check = |exempt: Claim, expect: &[u32]| {
            assert_eq!(divide(&[exempt, level, claim([100, 50, 300], 0.0, 0.0)]).current, expect);
        };
        check(exempt(0, 0, 900.0), &[0, 150, 50]);
        check(exempt(100, 50, 0.0), &[50, 200, 50]);
        check(exempt(100, 50, 900.0), &[100, 150, 50]);
    }

    #[test]
    fn a_division_is_within_the_limits_and_gives_all_that_there_is() {
        let mut seed = 7_u64;
        let mut next = |below: u32| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(seed >> 33).unwrap() % below
        };
        for round in 0..2000 {
            let count = 1 + next(8);
            let claims: Vec<Claim> = (0..count)
                .map(|_| {
                    let nominal = next(200);
                    let limits = [nominal, nominal - next(nominal + 1), nominal + 2000];
                    claim(limits, f64::from(next(400)), f64::from(next(400)))
                })
                .collect();
            let division = divide(&claims);
            for (claim, current) in claims.iter().zip(&division.current) {
                let allowed = claim.limits.lower..=claim.limits.upper;
                assert!(allowed.contains(current), "{round}: {claim:?} {current}");
            }
            let nominal: u32 = claims.iter().map(|claim| claim.limits.nominal).sum();
            let given: u32 = division.current.iter().sum();
            let has_claims = claims.iter().any(|claim| claim.target() > 0.0);
            assert!(!has_claims || nominal.abs_diff(given) <= count, "{round}: {nominal} {given}");
        }
    }
}
