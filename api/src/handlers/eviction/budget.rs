//! The PodDisruptionBudget of an eviction: whether its status allows one, and how that changes it.
//!
//! Invariant: each eviction that is allowed takes one from the allowed disruptions and adds one
//! disrupted pod. Pure functions.

use quorate_meta::{Cause, CauseReason, GroupResource, LabelSelector, Map, Status, Time, Value};

use super::condition;
use quorate_registry::error::Error;

/// Disrupted pods that a budget may name: when it has more, its controller does not keep its
/// status.
const MAX_DISRUPTED_PODS: usize = 2000;
/// Seconds after which a client may ask again when a budget's controller has not seen its spec yet.
const RETRY_AFTER_SECONDS: u32 = 10;
/// The condition that says whether a disruption is allowed.
const DISRUPTION_ALLOWED: &str = "DisruptionAllowed";

/// Which pods of its namespace the budget protects; `None` when that is none.
pub(super) fn selector(budget: &Value) -> Option<LabelSelector> {
    let selector = budget.at(&["spec", "selector"]).filter(|selector| !selector.is_null())?;
    LabelSelector::from_object(selector)
}

/// The budget's name.
pub(super) fn name(budget: &Value) -> &str {
    budget.str_at(&["metadata", "name"]).unwrap_or_default()
}

/// Whether a pod that is not ready is evicted without a disruption of the budget
/// (`unhealthyPodEvictionPolicy`): always, or while enough others are healthy.
pub(super) fn spares_unready(budget: &Value) -> bool {
    let (healthy, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    let always = budget.str_at(&["spec", "unhealthyPodEvictionPolicy"]) == Some("AlwaysAllow");
    always || (desired > 0 && healthy >= desired)
}

/// The budget with one disruption less, for this pod; refuses when it allows none.
pub(super) fn take(budget: &Value, pod: &str, now: Time) -> Result<Value, Error> {
    let generation =
        budget.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
    let observed = number(budget, "observedGeneration");
    if observed < generation {
        return Err(unsettled(name(budget)));
    }
    let allowed = number(budget, "disruptionsAllowed");
    if allowed < 0 {
        return Err(forbidden(budget, "pdb disruptions allowed is negative"));
    }
    let disrupted = budget.at(&["status", "disruptedPods"]).and_then(Value::as_map);
    if disrupted.is_some_and(|pods| pods.len() > MAX_DISRUPTED_PODS) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(forbidden(budget, why));
    }
    if allowed == 0 {
        return Err(refusal(why_none_may_go(budget), 0));
    }
    let mut budget = budget.clone();
    budget.set_at(&["status", "disruptionsAllowed"], allowed - 1);
    budget.set_at(&["status", "disruptedPods", pod], now.seconds());
    if allowed == 1 {
        let condition = Map::from([
            ("type", Value::from(DISRUPTION_ALLOWED)),
            ("status", "False".into()),
            ("reason", "InsufficientPods".into()),
            ("message", "".into()),
            ("observedGeneration", observed.into()),
        ]);
        condition::set(&mut budget, condition, now);
    }
    Ok(budget)
}

/// 429 for a budget whose status does not say yet what it allows.
pub(super) fn unsettled(name: &str) -> Error {
    let why = format!("The disruption budget {name} is still being processed by the server.");
    refusal(why, RETRY_AFTER_SECONDS)
}

/// 500 for a pod that several budgets protect.
pub(super) fn several() -> Error {
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    Status { code: 500, message: message.to_owned(), ..Status::default() }.into()
}

fn refusal(why: String, retry_after_seconds: u32) -> Error {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::too_many_requests(message, retry_after_seconds);
    let reason = CauseReason::Other("DisruptionBudget".to_owned());
    status.details.get_or_insert_default().causes.push(Cause {
        reason,
        message: why,
        field: String::new(),
    });
    status.into()
}

fn forbidden(budget: &Value, why: &str) -> Error {
    Status::forbidden(&GroupResource::new("policy", "poddisruptionbudget"), name(budget), why)
        .into()
}

/// Why no disruption is allowed. The counts of a budget say nothing while its pods could not be
/// counted.
fn why_none_may_go(budget: &Value) -> String {
    let name = name(budget);
    let (healthy, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    let none = format!("The disruption budget {name} does not allow evicting pods currently");
    let condition = condition::find(budget, DISRUPTION_ALLOWED);
    let text = |field: &str| {
        condition.and_then(|condition| condition.str_at(&[field])).unwrap_or_default()
    };
    let (reason, message) = (text("reason"), text("message"));
    let told = text("status") == "False" && !message.is_empty();
    if told && reason == "SyncFailed" {
        format!("{none} because it failed sync: {message}")
    } else if healthy <= desired {
        format!(
            "The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        )
    } else if told {
        format!("{none} ({reason}): {message}")
    } else {
        none
    }
}

fn number(budget: &Value, field: &str) -> i64 {
    budget.at(&["status", field]).and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn budget(status: Json) -> Value {
        json!({"metadata": {"name": "b", "generation": 2}, "status": status}).into()
    }

    #[test]
    fn whom_a_budget_protects() {
        let check = |selector: Json, expect: bool| {
            let selector = super::selector(&json!({"spec": {"selector": selector}}).into());
            assert_eq!(
                selector.is_some_and(|selector| selector.matches([("app", "a")].into_iter())),
                expect
            );
        };
        check(json!(null), false);
        check(json!({}), true);
        check(json!({"matchLabels": {"app": "a"}}), true);
        check(json!({"matchLabels": {"app": "b"}}), false);
        check(json!({"matchExpressions": [{"key": "app", "operator": "Near"}]}), false);
    }

    #[test]
    fn pods_that_are_not_ready() {
        let check = |policy: Json, healthy: i64, desired: i64, expect: bool| {
            let budget = json!({"spec": {"unhealthyPodEvictionPolicy": policy},
                "status": {"currentHealthy": healthy, "desiredHealthy": desired}});
            assert_eq!(spares_unready(&budget.into()), expect, "{policy} {healthy} {desired}");
        };
        check(json!("AlwaysAllow"), 0, 3, true);
        for policy in [json!(null), json!("IfHealthyBudget")] {
            check(policy.clone(), 2, 3, false);
            check(policy.clone(), 3, 3, true);
            check(policy, 0, 0, false);
        }
    }

    #[test]
    fn leave_is_taken_once() {
        let first =
            budget(json!({"observedGeneration": 2, "disruptionsAllowed": 2, "currentHealthy": 3}));
        let second = take(&first, "p.q", Time::from_ms(0)).unwrap();
        let status = json!({"observedGeneration": 2, "disruptionsAllowed": 1, "currentHealthy": 3,
            "disruptedPods": {"p.q": "1970-01-01T00:00:00Z"}});
        assert_eq!(second, budget(status));
        let third = take(&second, "r", Time::from_ms(60_000)).unwrap();
        let status = json!({"observedGeneration": 2, "disruptionsAllowed": 0, "currentHealthy": 3,
            "disruptedPods": {"p.q": "1970-01-01T00:00:00Z", "r": "1970-01-01T00:01:00Z"},
            "conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
                "observedGeneration": 2, "lastTransitionTime": "1970-01-01T00:01:00Z"}]});
        assert_eq!(third, budget(status));
        assert_eq!(take(&third, "s", Time::from_ms(0)).unwrap_err().into_status().code, 429);
    }

    #[test]
    fn refusals() {
        let check = |status: Json, expect: (u16, u32, &str)| {
            let status = take(&budget(status), "p", Time::from_ms(0)).unwrap_err().into_status();
            let wait = status.retry_after_seconds().unwrap_or_default();
            let why = match status.causes() {
                [] => status.message.clone(),
                causes => causes
                    .iter()
                    .map(|cause| format!("{} {}", cause.reason.as_str(), cause.message))
                    .collect(),
            };
            assert_eq!((status.code, wait, why.as_str()), expect);
        };
        let unsettled =
            "DisruptionBudget The disruption budget b is still being processed by the server.";
        check(json!({}), (429, 10, unsettled));
        check(json!({"observedGeneration": 1, "disruptionsAllowed": 5}), (429, 10, unsettled));
        let why =
            "poddisruptionbudget.policy \"b\" is forbidden: pdb disruptions allowed is negative";
        check(json!({"observedGeneration": 2, "disruptionsAllowed": -1}), (403, 0, why));
        let pods =
            |count: usize| (0..count).map(|pod| (format!("p{pod}"), json!("t"))).collect::<Json>();
        let full = |count: usize| json!({"observedGeneration": 2, "disruptionsAllowed": 1, "disruptedPods": pods(count)});
        assert!(take(&budget(full(MAX_DISRUPTED_PODS)), "p", Time::from_ms(0)).is_ok());
        let why = "poddisruptionbudget.policy \"b\" is forbidden: \
                   DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        check(full(MAX_DISRUPTED_PODS + 1), (403, 0, why));
    }

    #[test]
    fn why_no_pod_may_go() {
        let check = |healthy: i64, condition: [&str; 3], expect: &str| {
            let [status, reason, message] = condition;
            let condition = json!({"type": DISRUPTION_ALLOWED, "status": status, "reason": reason, "message": message});
            let status =
                json!({"currentHealthy": healthy, "desiredHealthy": 2, "conditions": [condition]});
            assert_eq!(
                why_none_may_go(&budget(status)),
                format!("The disruption budget b {expect}")
            );
        };
        let none = "does not allow evicting pods currently";
        check(1, ["False", "InsufficientPods", ""], "needs 2 healthy pods and has 1 currently");
        check(2, ["False", "InsufficientPods", "m"], "needs 2 healthy pods and has 2 currently");
        check(3, ["False", "InsufficientPods", ""], none);
        check(3, ["False", "Other", "m"], &format!("{none} (Other): m"));
        check(3, ["True", "Other", "m"], none);
        check(1, ["False", "SyncFailed", "m"], &format!("{none} because it failed sync: m"));
        check(1, ["False", "SyncFailed", ""], "needs 2 healthy pods and has 1 currently");
    }

    #[test]
    fn several_budgets_are_a_failure_without_a_reason() {
        let body = several().into_status().to_value();
        assert_eq!(
            (body.get("code"), body.get("reason"), body.get("details")),
            (Some(&Value::Int(500)), None, None)
        );
    }
}
