//! PriorityLevelConfiguration: concurrency shares, and queuing or rejection of the requests above
//! them.

use quorate_meta::{Cause, Names, Value};

use super::conditions;
use quorate_meta::flow_control::EXEMPT;

use super::mandatory;
use crate::field::Field;
use crate::rules;
use quorate_registry::Strategy;

const MAX_QUEUES: i64 = 10_000_000;
/// Bits of entropy that shuffle sharding may need.
const MAX_HAND_BITS: f64 = 60.0;

/// The strategy of PriorityLevelConfiguration.
#[derive(Debug)]
pub(super) struct PriorityLevelConfiguration;

impl Strategy for PriorityLevelConfiguration {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        let (kind, limited, exempt) = (spec.get("type"), spec.get("limited"), spec.get("exempt"));
        if (kind.text() == "Exempt") != (object.str_at(&["metadata", "name"]) == Some(EXEMPT)) {
            causes.push(Cause::invalid(
                kind.path(),
                kind.text(),
                "must be 'Exempt' if and only if `name` is 'exempt'",
            ));
        }
        match kind.text() {
            "Exempt" => {
                if limited.is_set() {
                    causes.push(limited.forbidden("must be nil if the type is not Limited"));
                }
                check_shares(&exempt, &mut causes);
            }
            "Limited" => {
                if exempt.is_set() {
                    causes.push(exempt.forbidden("must be nil if the type is Limited"));
                }
                if limited.is_set() {
                    check_limited(&limited, &mut causes);
                } else {
                    causes.push(limited.required("must not be empty when type is Limited"));
                }
            }
            other => causes.push(Cause::not_supported(kind.path(), other, &["Exempt", "Limited"])),
        }
        mandatory::check_level(
            object.str_at(&["metadata", "name"]).unwrap_or_default(),
            &spec,
            &mut causes,
        );
        conditions::check(object, &mut causes);
        causes
    }
}

fn check_shares(level: &Field<'_>, causes: &mut Vec<Cause>) {
    let (shares, lendable) = (level.get("nominalConcurrencyShares"), level.get("lendablePercent"));
    if shares.int().is_some_and(|number| number < 0) {
        causes.push(shares.invalid("must be a non-negative integer"));
    }
    if lendable.is_set() {
        rules::between(&lendable, 0, 100, "must be between 0 and 100, inclusive", causes);
    }
}

fn check_limited(limited: &Field<'_>, causes: &mut Vec<Cause>) {
    check_shares(limited, causes);
    let borrowing = limited.get("borrowingLimitPercent");
    if borrowing.int().is_some_and(|number| number < 0) {
        causes.push(borrowing.invalid("if specified, must be a non-negative integer"));
    }
    let (kind, queuing) = (limited.get("limitResponse.type"), limited.get("limitResponse.queuing"));
    match (kind.text(), queuing.is_set()) {
        ("Reject", true) => {
            causes.push(
                queuing.forbidden("must be nil if limited.limitResponse.type is not Limited"),
            );
        }
        ("Queue", false) => {
            causes.push(
                queuing.required("must not be empty if limited.limitResponse.type is Limited"),
            );
        }
        ("Queue", true) => check_queuing(&queuing, causes),
        ("Reject", false) => {}
        (other, _) => causes.push(Cause::not_supported(kind.path(), other, &["Queue", "Reject"])),
    }
}

fn check_queuing(queuing: &Field<'_>, causes: &mut Vec<Cause>) {
    let number = |field| queuing.get(field).int().unwrap_or_default();
    let (queues, hand) = (number("queues"), number("handSize"));
    for field in ["queueLengthLimit", "queues", "handSize"] {
        if number(field) <= 0 {
            causes.push(queuing.get(field).invalid("must be positive"));
        }
    }
    if queues > MAX_QUEUES {
        causes
            .push(queuing.get("queues").invalid(&format!("must not be greater than {MAX_QUEUES}")));
    } else if hand > queues {
        causes.push(
            queuing
                .get("handSize")
                .invalid(&format!("should not be greater than queues ({queues})")),
        );
    } else if hand_bits(queues, hand) > MAX_HAND_BITS {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than 60"
        );
        causes.push(queuing.get("handSize").invalid(&why));
    }
}

/// Bits of entropy for a hand of distinct queues in shuffle sharding.
fn hand_bits(queues: i64, hand: i64) -> f64 {
    // A hand of more than 64 queues exceeds the limit, unless there are hardly more queues than
    // that.
    let dealt = hand.clamp(0, 64);
    (0..dealt)
        .filter_map(|taken| u32::try_from(queues - taken).ok())
        .filter(|left| *left > 0)
        .map(|left| f64::from(left).log2())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(pointer: &str, value: Json, expect: &[&str]) {
        let response = json!({"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 5}});
        let limited = json!({"nominalConcurrencyShares": 5, "limitResponse": response});
        let base =
            json!({"metadata": {"name": "a"}, "spec": {"type": "Limited", "limited": limited}});
        let causes = PriorityLevelConfiguration
            .validate(Naming::Svc.names(), &patched(&base, &[(pointer, value)]));
        assert_eq!(shown(&causes), expect, "{pointer}");
    }

    #[test]
    fn levels() {
        check("/spec/limited/lendablePercent", json!(100), &[]);
        check("/spec/type", json!("Odd"), &["NotSupported spec.type"]);
        check("/spec/type", json!("Exempt"), &["Invalid spec.type", "Forbidden spec.limited"]);
        check("/metadata/name", json!("exempt"), &["Invalid spec.type", "Invalid spec"]);
        check("/metadata/name", json!("catch-all"), &["Invalid spec"]);
        check("/spec/limited", json!(null), &["Required spec.limited"]);
        check("/spec/exempt", json!({}), &["Forbidden spec.exempt"]);
        for (field, value) in [
            ("nominalConcurrencyShares", -1),
            ("lendablePercent", 101),
            ("borrowingLimitPercent", -1),
        ] {
            check(
                &format!("/spec/limited/{field}"),
                json!(value),
                &[&format!("Invalid spec.limited.{field}")],
            );
        }
    }

    #[test]
    fn responses() {
        const AT: &str = "/spec/limited/limitResponse";
        check(AT, json!({"type": "Reject"}), &[]);
        check(AT, json!({"type": "Odd"}), &["NotSupported spec.limited.limitResponse.type"]);
        check(
            &format!("{AT}/type"),
            json!("Reject"),
            &["Forbidden spec.limited.limitResponse.queuing"],
        );
        check(AT, json!({"type": "Queue"}), &["Required spec.limited.limitResponse.queuing"]);
        let queuing = |field: &str, value: i64| {
            let expect = format!("Invalid spec.limited.limitResponse.queuing.{field}");
            check(&format!("{AT}/queuing/{field}"), json!(value), &[&expect]);
        };
        queuing("handSize", 9);
        queuing("handSize", 0);
        queuing("queues", 10_000_001);
        queuing("queueLengthLimit", 0);
        let hand = json!({"queues": 10_000_000, "handSize": 3, "queueLengthLimit": 5});
        check(
            &format!("{AT}/queuing"),
            hand,
            &["Invalid spec.limited.limitResponse.queuing.handSize"],
        );
    }
}
