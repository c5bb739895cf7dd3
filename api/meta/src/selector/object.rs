//! `LabelSelector` of objects: `matchLabels` and `matchExpressions`.

use super::{LabelOperator, LabelRequirement, LabelSelector};
use crate::Value;

impl LabelSelector {
    /// The requirements of a LabelSelector, in order of their keys; `None` when one of them is
    /// malformed.
    pub fn from_object(selector: &Value) -> Option<Self> {
        let labels = selector
            .get("matchLabels")
            .and_then(Value::as_map)
            .into_iter()
            .flat_map(|map| map.iter());
        let mut requirements = Vec::new();
        for (key, value) in labels {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(LabelRequirement::new(key, LabelOperator::In, vec![value]).ok()?);
        }
        for term in selector.get("matchExpressions").and_then(Value::as_list).unwrap_or_default() {
            let operator = match term.str_at(&["operator"])? {
                "In" => LabelOperator::In,
                "NotIn" => LabelOperator::NotIn,
                "Exists" => LabelOperator::Exists,
                "DoesNotExist" => LabelOperator::Missing,
                _ => return None,
            };
            let values = term.get("values").and_then(Value::as_list).unwrap_or_default();
            let values =
                values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect();
            requirements
                .push(LabelRequirement::new(term.str_at(&["key"])?, operator, values).ok()?);
        }
        requirements.sort_by(|left, right| left.key().cmp(right.key()));
        Some(Self::new(requirements))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn as_text() {
        let check = |selector: serde_json::Value, expect: Option<&str>| {
            let found =
                LabelSelector::from_object(&selector.into()).map(|selector| selector.to_string());
            assert_eq!(found.as_deref(), expect);
        };
        let not_in = json!({"key": "tier", "operator": "NotIn", "values": ["y", "x"]});
        let terms = json!([not_in, {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]);
        check(
            json!({"matchLabels": {"app": "a"}, "matchExpressions": terms}),
            Some("a,app=a,!b,tier notin (x,y)"),
        );
        check(json!({"matchExpressions": [{"key": "a", "operator": "Like"}]}), None);
        check(json!({"matchExpressions": [{"key": "a", "operator": "In"}]}), None);
        check(json!({}), Some(""));
    }
}
