//! Merged tolerations of a pod and its RuntimeClass, without those that another one covers.
//!
//! Invariant: each is looked up once, however many there are; a pod may have tens of thousands.

use std::collections::{HashMap, HashSet};

use quorate_meta::Value;

const EQUAL: &str = "Equal";
const EXISTS: &str = "Exists";
/// The effect with `tolerationSeconds`.
const ENDING: &str = "NoExecute";

/// What a toleration matches.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct About<'t> {
    key: &'t str,
    operator: &'t str,
    value: &'t str,
    effect: &'t str,
}

/// How long a toleration lasts: those that never end come last.
type Length = (bool, i64);

/// The tolerations that no other one covers, in their order; of equal ones the first.
pub(super) fn merged(all: Vec<Value>) -> Vec<Value> {
    let needed = needed(&all);
    all.into_iter()
        .zip(needed)
        .filter_map(|(toleration, needed)| needed.then_some(toleration))
        .collect()
}

/// Whether each of them is kept.
fn needed(all: &[Value]) -> Vec<bool> {
    let mut longest: HashMap<About<'_>, Length> = HashMap::new();
    for toleration in all {
        let length = length(toleration);
        longest
            .entry(about(toleration))
            .and_modify(|most| *most = length.max(*most))
            .or_insert(length);
    }
    let mut seen = HashSet::new();
    let each = all.iter().map(|toleration| (about(toleration), length(toleration)));
    each.map(|(about, length)| seen.insert((about, length)) && !is_covered(about, length, &longest))
        .collect()
}

fn about(toleration: &Value) -> About<'_> {
    let text = |field: &str| toleration.str_at(&[field]).unwrap_or_default();
    About {
        key: text("key"),
        operator: text("operator"),
        value: text("value"),
        effect: text("effect"),
    }
}

fn length(toleration: &Value) -> Length {
    let seconds = toleration.at(&["tolerationSeconds"]).and_then(Value::as_i64);
    (seconds.is_none(), seconds.unwrap_or_default())
}

/// Whether another one covers this one: it matches any key, any value or any effect, or lasts
/// longer. A missing operator means the same as `Equal`, and is the one that covers the other.
fn is_covered<'t>(own: About<'t>, length: Length, longest: &HashMap<About<'t>, Length>) -> bool {
    let covers = |other: About<'t>| {
        longest.get(&other).is_some_and(|most| match other == own {
            true => own.effect == ENDING && *most > length,
            false => other.effect != ENDING || *most >= length,
        })
    };
    let of_effect = |effect| {
        let any_value = |key| covers(About { key, operator: EXISTS, value: "", effect });
        let same_value = |operator| covers(About { operator, effect, ..own });
        any_value(own.key)
            || any_value("")
            || (own.operator == EQUAL && (same_value(EQUAL) || same_value("")))
    };
    of_effect(own.effect) || of_effect("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Every toleration of two keys, two values, two effects and two lengths.
    fn possible() -> Vec<Value> {
        let mut all = Vec::new();
        for (key, operator, value) in [
            ("", EXISTS, ""),
            ("k", EXISTS, ""),
            ("l", EXISTS, ""),
            ("k", EQUAL, "v"),
            ("k", EQUAL, ""),
            ("k", "", "v"),
        ] {
            for (effect, seconds) in [
                ("", None),
                ("NoSchedule", None),
                (ENDING, None),
                (ENDING, Some(5_i64)),
                (ENDING, Some(9)),
            ] {
                let mut toleration = Value::from([("effect", effect), ("operator", operator)]);
                for (field, text) in [("key", key), ("value", value)] {
                    if !text.is_empty() {
                        toleration.set_at(&[field], text);
                    }
                }
                if let Some(seconds) = seconds {
                    toleration.set_at(&["tolerationSeconds"], seconds);
                }
                all.push(toleration);
            }
        }
        all
    }

    /// Whether one toleration covers another one, by their fields.
    fn includes(wide: &Value, narrow: &Value) -> bool {
        let (wide_about, narrow_about) = (about(wide), about(narrow));
        let key = wide_about.key == narrow_about.key
            || (wide_about.key.is_empty() && wide_about.operator == EXISTS);
        let effect = wide_about.effect.is_empty() || wide_about.effect == narrow_about.effect;
        let lasts = wide_about.effect != ENDING || length(wide) >= length(narrow);
        let value = wide_about.operator == EXISTS
            || (narrow_about.operator == EQUAL && wide_about.value == narrow_about.value);
        wide == narrow || (key && effect && lasts && value)
    }

    /// The result of [`merged`] by comparing each pair.
    fn compared(all: &[Value]) -> Vec<Value> {
        let mut kept: Vec<Value> = Vec::new();
        for (at, toleration) in all.iter().enumerate() {
            let before = kept.iter().any(|other| includes(other, toleration));
            let later = all[at + 1..]
                .iter()
                .any(|other| other != toleration && includes(other, toleration));
            if !before && !later {
                kept.push(toleration.clone());
            }
        }
        kept
    }

    #[test]
    fn each_is_looked_up_as_if_compared_with_all() {
        let possible = possible();
        for one in &possible {
            for two in &possible {
                for three in &possible {
                    let all = vec![one.clone(), two.clone(), three.clone()];
                    assert_eq!(merged(all.clone()), compared(&all), "{all:?}");
                }
            }
        }
    }

    #[test]
    fn their_order_stays() {
        let check = |all: serde_json::Value, expect: &[usize]| {
            let all = Value::from(all).as_list().unwrap().to_vec();
            let expect: Vec<Value> = expect.iter().map(|at| all[*at].clone()).collect();
            assert_eq!(merged(all), expect);
        };
        let key = |key: &str| json!({"key": key, "operator": "Exists"});
        check(json!([]), &[]);
        check(json!([key("b"), key("a"), key("b")]), &[0, 1]);
        check(
            json!([key("a"), {"operator": "Exists", "effect": "NoSchedule"}, {"operator": "Exists"}]),
            &[2],
        );
        let ends = |seconds: i64| json!({"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        check(json!([ends(5), ends(9), ends(7)]), &[1]);
    }
}
