//! Conditions in an object's status, one of each type.

use quorate_meta::{Map, Time, Value};

const CONDITIONS: [&str; 2] = ["status", "conditions"];

/// The condition of a type.
pub(super) fn find<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    let conditions = object.at(&CONDITIONS).and_then(Value::as_list).unwrap_or_default();
    conditions.iter().find(|condition| condition.str_at(&["type"]) == Some(kind))
}

/// Sets a condition in place of the one of its type. While the status stays the same, so does the
/// time since when it is that.
pub(super) fn set(object: &mut Value, mut condition: Map, now: Time) {
    let mut conditions =
        object.at(&CONDITIONS).and_then(Value::as_list).unwrap_or_default().to_vec();
    let known =
        conditions.iter_mut().find(|known| known.str_at(&["type"]) == condition.get_str("type"));
    let lasting =
        known.as_deref().filter(|known| known.str_at(&["status"]) == condition.get_str("status"));
    let since = lasting.and_then(|lasting| lasting.get("lastTransitionTime")).cloned();
    condition.insert("lastTransitionTime", since.unwrap_or_else(|| now.seconds().into()));
    match known {
        Some(known) => *known = condition.into(),
        None => conditions.push(condition.into()),
    }
    object.set_at(&CONDITIONS, conditions);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn one_of_each_type() {
        let check = |before: Json, expect: Json| {
            let mut object = Value::from(json!({"status": {"conditions": before}}));
            let condition = Map::from([("type", "A"), ("status", "True"), ("reason", "Now")]);
            set(&mut object, condition, Time::from_ms(0));
            assert_eq!(object, json!({"status": {"conditions": expect}}).into());
            assert_eq!(find(&object, "A").and_then(|found| found.str_at(&["reason"])), Some("Now"));
            assert_eq!(find(&object, "C"), None);
        };
        let (old, new) = ("1969-01-01T00:00:00Z", "1970-01-01T00:00:00Z");
        let set = |time: &str| json!({"type": "A", "status": "True", "reason": "Now", "lastTransitionTime": time});
        let had = |status: &str| json!({"type": "A", "status": status, "message": "then", "lastTransitionTime": old});
        let other = json!({"type": "B", "status": "True"});
        check(json!(null), json!([set(new)]));
        check(json!([other]), json!([other, set(new)]));
        check(json!([had("True"), other]), json!([set(old), other]));
        check(json!([other, had("False")]), json!([other, set(new)]));
    }
}
