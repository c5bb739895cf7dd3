//! One ResourceQuota: its limits, its recorded usage, and the objects in its scopes.
//!
//! Invariants: the limits in force are `spec.hard`. `status.hard` has the limits that the numbers
//! in `status.used` belong to; an amount that is missing there is unknown, not zero.

use quorate_meta::{Map, Quantity, Time, Value};

use super::counted::Counted;
use super::scopes::Scope;
use crate::plugins::amounts::{self, Amounts};

/// A ResourceQuota.
#[derive(Debug, Clone)]
pub struct Quota {
    /// The limits (`spec.hard`).
    pub(super) hard: Amounts,
    /// The recorded usage, as far as it is known.
    pub(super) used: Amounts,
    scopes: Vec<Scope>,
    /// Whether the status belongs to the limits in force.
    is_told: bool,
}

impl Quota {
    /// Reads the quota from its object.
    pub fn of(object: &Value) -> Self {
        let hard = amounts::at(object, &["spec", "hard"]);
        let is_told = amounts::at(object, &["status", "hard"]) == hard;
        let scopes = object.get("spec").map(Scope::of).unwrap_or_default();
        Self { used: amounts::at(object, &["status", "used"]), hard, scopes, is_told }
    }

    /// Whether it limits something that these objects use.
    pub fn measures(&self, counted: &Counted) -> bool {
        self.measured(counted).next().is_some()
    }

    /// The part of this usage that the quota limits.
    pub(super) fn measured(&self, counted: &Counted) -> impl Iterator<Item = &String> {
        self.hard.keys().filter(move |name| counted.measures(name))
    }

    /// Whether an object is in its scopes.
    pub(super) fn chooses(&self, counted: &Counted, object: &Value) -> bool {
        self.scopes.iter().all(|scope| scope.chooses(counted.kind(), object))
    }

    /// What an object uses of the quota at this time; amounts of zero are left out.
    pub fn share(&self, counted: &Counted, object: &Value, now: Time) -> Amounts {
        if !self.chooses(counted, object) {
            return Amounts::new();
        }
        let mut share = self.masked(counted.usage(object, now));
        share.retain(|_, amount| !amount.is_zero());
        share
    }

    /// The amounts of these that the quota limits.
    pub(super) fn masked(&self, mut amounts: Amounts) -> Amounts {
        amounts.retain(|name, _| self.hard.contains_key(name));
        amounts
    }

    /// Whether the status belongs to other limits than those in force.
    pub fn is_unsettled(&self) -> bool {
        !self.is_told || (self.used.is_empty() && !self.hard.is_empty())
    }

    /// Whether the other quota has the same limits and scopes.
    pub fn allows_the_same(&self, other: &Self) -> bool {
        self.hard == other.hard && self.scopes == other.scopes
    }
}

/// The quota with the status that follows from a count; `None` where it has that already. Amounts
/// that this server does not count stay as they are.
pub fn settled(object: &Value, counts: &Amounts) -> Option<Value> {
    let map =
        |place: &[&str]| object.at(place).and_then(Value::as_map).cloned().unwrap_or_default();
    let (hard, had, told) =
        (map(&["spec", "hard"]), map(&["status", "used"]), map(&["status", "hard"]));
    let mut used = Map::new();
    for name in hard.keys() {
        let before = had.get(name);
        let amount = before.and_then(Value::as_str).and_then(Quantity::parse);
        match (counts.get(name), before) {
            (Some(count), _) if amount != Some(*count) => {
                used.insert(name, count.to_string());
            }
            (_, Some(before)) => {
                used.insert(name, before.clone());
            }
            (_, None) => {}
        }
    }
    if (&hard, &used) == (&told, &had) {
        return None;
    }
    let mut object = object.clone();
    for (field, amounts) in [("hard", hard), ("used", used)] {
        if amounts.is_empty() {
            object.remove_at(&["status", field]);
        } else {
            object.set_at(&["status", field], amounts);
        }
    }
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::super::counted::testing::counted;
    use super::*;
    use serde_json::json;

    fn shown(amounts: &Amounts) -> String {
        amounts.iter().map(|(name, amount)| format!("{name}={amount} ")).collect()
    }

    #[test]
    fn what_objects_use_of_a_quota() {
        let check =
            |spec: serde_json::Value, plural: &str, object: serde_json::Value, expect: &str| {
                let (quota, counted) =
                    (Quota::of(&json!({ "spec": spec }).into()), counted("", plural).unwrap());
                assert_eq!(
                    shown(&quota.share(&counted, &object.into(), Time::from_ms(0))),
                    expect,
                    "{spec}"
                );
            };
        let deadline = || json!({"spec": {"activeDeadlineSeconds": 5}});
        check(json!({}), "pods", json!({}), "");
        check(
            json!({"hard": {"pods": "5", "secrets": "1", "cpu": "1"}}),
            "pods",
            json!({}),
            "pods=1 ",
        );
        check(json!({"hard": {"pods": "5", "secrets": "1"}}), "secrets", json!({}), "secrets=1 ");
        check(
            json!({"hard": {"pods": "5", "count/pods": "1"}}),
            "pods",
            deadline(),
            "count/pods=1 pods=1 ",
        );
        check(
            json!({"hard": {"pods": "5"}, "scopes": ["Terminating"]}),
            "pods",
            deadline(),
            "pods=1 ",
        );
        check(json!({"hard": {"pods": "5"}, "scopes": ["NotTerminating"]}), "pods", deadline(), "");
        check(
            json!({"hard": {"secrets": "5"}, "scopes": ["NotTerminating"]}),
            "secrets",
            json!({}),
            "",
        );
        let ports = |kind: &str| json!({"spec": {"type": kind, "ports": [{"port": 80}]}});
        let hard = || json!({"hard": {"services.nodeports": "5"}});
        check(hard(), "services", ports("ClusterIP"), "");
        check(hard(), "services", ports("NodePort"), "services.nodeports=1 ");
    }

    #[test]
    fn which_resources_a_quota_measures() {
        let quota = Quota::of(
            &json!({"spec": {"hard": {"count/secrets": "5", "requests.cpu": "1"}}}).into(),
        );
        let check = |plural: &str, expect: bool| {
            assert_eq!(quota.measures(&counted("", plural).unwrap()), expect, "{plural}");
        };
        check("secrets", true);
        check("pods", true);
        check("configmaps", false);
        check("services", false);
    }

    #[test]
    fn quotas_whose_status_is_of_something_else() {
        let check = |spec: serde_json::Value, status: serde_json::Value, expect: bool| {
            let quota = Quota::of(&json!({"spec": {"hard": spec}, "status": status}).into());
            assert_eq!(quota.is_unsettled(), expect, "{spec} {status}");
        };
        check(json!({}), json!({}), false);
        check(json!({"pods": "1"}), json!({}), true);
        check(json!({"pods": "1"}), json!({"hard": {"pods": "1"}}), true);
        check(json!({"pods": "1"}), json!({"hard": {"pods": "1"}, "used": {"pods": "0"}}), false);
        check(
            json!({"pods": "1k"}),
            json!({"hard": {"pods": "1000"}, "used": {"pods": "0"}}),
            false,
        );
        check(json!({"pods": "2"}), json!({"hard": {"pods": "1"}, "used": {"pods": "0"}}), true);
        check(json!({}), json!({"hard": {"pods": "1"}, "used": {"pods": "0"}}), true);
    }

    #[test]
    fn a_status_says_what_was_counted() {
        let check = |hard: serde_json::Value,
                     status: serde_json::Value,
                     expect: Option<serde_json::Value>| {
            let counts = Amounts::from([("pods".to_owned(), Quantity::from_units(2))]);
            let object = Value::from(
                json!({"metadata": {"name": "q"}, "spec": {"hard": hard}, "status": status}),
            );
            let expect = expect.map(|status| {
                let mut expect = object.clone();
                expect.set_at(&["status"], Value::from(status));
                expect
            });
            assert_eq!(settled(&object, &counts), expect);
        };
        let both = |hard: &str, used: &str| json!({"hard": {"pods": hard}, "used": {"pods": used}});
        check(json!({}), json!({}), None);
        check(json!({"pods": "5"}), json!({}), Some(both("5", "2")));
        check(json!({"pods": "5"}), both("5", "2"), None);
        check(json!({"pods": "5"}), both("5", "2000m"), None);
        check(json!({"pods": "5"}), both("5", "3"), Some(both("5", "2")));
        check(json!({"pods": "6"}), both("5", "2"), Some(both("6", "2")));
        check(json!({}), both("5", "2"), Some(json!({})));
        let foreign = |used: serde_json::Value| json!({"hard": {"x.y/z": "1"}, "used": used});
        check(json!({"x.y/z": "1"}), foreign(json!({"x.y/z": "7"})), None);
        check(
            json!({"x.y/z": "1"}),
            foreign(json!({"x.y/z": "7", "pods": "1"})),
            Some(foreign(json!({"x.y/z": "7"}))),
        );
    }
}
