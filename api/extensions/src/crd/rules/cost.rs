//! Limits of cost for the rules of a definition: what an expression costs at most, times how often
//! it can run in one request.
//!
//! Invariant: sums and products saturate; what has no bound is over every limit.

use quorate_cel::program::{DEFINITION_ESTIMATE_MAX, RULE_ESTIMATE_MAX};
use quorate_meta::{Cause, Path};
use quorate_schema::structural::cel_types::MAX_REQUEST_BYTES;

/// Expressions that are named when all together cost too much.
const NAMED_EXPRESSIONS: usize = 4;
const HINT: &str = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";

/// How often a place can be in one object: `None` when a list or map around it has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cardinality(Option<u64>);

impl Cardinality {
    /// That of whole objects.
    pub(super) const ONE: Self = Self(Some(1));

    /// That of what is in a list or map of at most `max` such places.
    pub(super) fn times(self, max: Option<i64>) -> Self {
        let max = max.map(|max| u64::try_from(max).unwrap_or_default());
        Self(self.0.zip(max).map(|(times, max)| times.saturating_mul(max)))
    }

    /// Cost of an expression of cost `each`, when values of the place have at least so many bytes in
    /// JSON: without a limit as many as fit in a request.
    pub(super) fn cost(self, each: u64, min_bytes: u64) -> u64 {
        each.saturating_mul(self.0.unwrap_or(MAX_REQUEST_BYTES / (min_bytes + 1)))
    }
}

/// Whether one expression costs too much.
pub(super) fn is_over(cost: u64) -> bool {
    cost > RULE_ESTIMATE_MAX
}

/// What is told of an expression that costs too much; `what` names the cost.
pub(super) fn excess(field: Path, what: &str, cost: u64, limit: u64) -> Cause {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    Cause::forbidden(field, &format!("{what} exceeds budget by factor of {factor} ({HINT})"))
}

/// The cost of all expressions of a schema.
#[derive(Debug, Default)]
pub(super) struct TotalCost {
    total: u64,
    /// The costliest, the most expensive first.
    costliest: Vec<(u64, Path)>,
}

impl TotalCost {
    /// Counts an expression.
    pub(super) fn add(&mut self, field: impl FnOnce() -> Path, cost: u64) {
        self.total = self.total.saturating_add(cost);
        let at = self.costliest.partition_point(|(other, _)| *other >= cost);
        if at < NAMED_EXPRESSIONS {
            self.costliest.insert(at, (cost, field()));
            self.costliest.truncate(NAMED_EXPRESSIONS);
        }
    }

    /// What is told of a schema whose rules together cost too much.
    pub(super) fn check(self, schema: &Path, validations: &str, causes: &mut Vec<Cause>) {
        if self.total <= DEFINITION_ESTIMATE_MAX {
            return;
        }
        let what = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let is_large = |(cost, _): &(u64, Path)| *cost >= DEFINITION_ESTIMATE_MAX / 100;
        let costliest = self.costliest.into_iter().filter(is_large);
        causes.extend(costliest.map(|(_, field)| Cause::forbidden(field, what)));
        let what = format!("{validations} estimated rule cost total for entire OpenAPIv3 schema");
        causes.push(excess(schema.clone(), &what, self.total, DEFINITION_ESTIMATE_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cardinalities_multiply_until_a_limit_is_missing() {
        let check = |limits: &[Option<i64>], min_bytes: u64, expect: u64| {
            let cardinality = limits.iter().fold(Cardinality::ONE, |outer, max| outer.times(*max));
            assert_eq!(cardinality.cost(2, min_bytes), expect);
        };
        check(&[], 7, 2);
        check(&[Some(10), Some(5)], 7, 100);
        check(&[None], 7, 2 * (3 << 20) / 8);
        check(&[None, Some(5)], 1, 3 << 20);
        check(&[Some(-1)], 1, 0);
        check(&[Some(i64::MAX), Some(i64::MAX)], 1, u64::MAX);
    }

    #[test]
    fn the_excess_is_told_as_a_factor() {
        let check = |cost: u64, expect: &str| {
            let cause = excess(Path::new("a"), "estimated rule cost", cost, RULE_ESTIMATE_MAX);
            let text = format!(
                "Forbidden: estimated rule cost exceeds budget by factor of {expect} ({HINT})"
            );
            assert_eq!(cause.message, text);
        };
        check(10_485_761, "1.048576x");
        check(15_000_000, "1.5x");
        check(314_572_800, "31.5x");
        check(u64::MAX, "more than 100x");
    }

    #[test]
    fn a_total_names_the_costliest() {
        let check = |costs: &[u64], expect: &[&str]| {
            let mut total = TotalCost::default();
            for (index, cost) in costs.iter().enumerate() {
                total.add(|| Path::new("rules").index(index), *cost);
            }
            let mut causes = Vec::new();
            total.check(&Path::new("schema"), "validations", &mut causes);
            let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(fields, expect);
        };
        check(&[50_000_000, 50_000_000], &[]);
        check(&[10, 99_999_990, 1], &["rules[1]", "schema"]);
        check(
            &[20_000_000, 30_000_000, 40_000_000, 20_000_000, 1_000_000],
            &["rules[2]", "rules[1]", "rules[0]", "rules[3]", "schema"],
        );
    }
}
