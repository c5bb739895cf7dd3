//! Label selectors in objects: `matchLabels` and `matchExpressions`.
//!
//! Invariant: an empty selector matches every object.
//!
//! Not here: selectors in query parameters.

use quorate_meta::{LabelOperator, LabelRequirement, LabelSelector, Value};

/// The selector in a value; an empty one matches every object.
///
/// # Errors
/// What is wrong with it.
pub fn of(value: &Value) -> Result<LabelSelector, String> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut requirements = Vec::new();
    let mut add = |key: &str, operator: LabelOperator, values: Vec<String>| {
        let requirement =
            LabelRequirement::new(key, operator, values).map_err(|error| error.to_string())?;
        requirements.push(requirement);
        Ok::<_, String>(())
    };
    for (key, label) in
        value.get("matchLabels").and_then(Value::as_map).into_iter().flat_map(|map| map.iter())
    {
        add(key, LabelOperator::In, vec![text(Some(label))])?;
    }
    for term in value.get("matchExpressions").and_then(Value::as_list).unwrap_or_default() {
        let operator = match text(term.get("operator")).as_str() {
            "In" => LabelOperator::In,
            "NotIn" => LabelOperator::NotIn,
            "Exists" => LabelOperator::Exists,
            "DoesNotExist" => LabelOperator::Missing,
            other => return Err(format!("{other:?} is not a valid label selector operator")),
        };
        let values = term.get("values").and_then(Value::as_list).unwrap_or_default();
        add(
            &text(term.get("key")),
            operator,
            values.iter().map(|value| text(Some(value))).collect(),
        )?;
    }
    Ok(LabelSelector::new(requirements))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_match_labels() {
        let check = |selector: serde_json::Value, expect: bool| {
            let labels = [("a", "1"), ("b", "")];
            assert_eq!(of(&selector.into()).unwrap().matches(labels.into_iter()), expect);
        };
        check(json!({}), true);
        check(json!({"matchLabels": {"a": "1", "b": ""}}), true);
        check(json!({"matchLabels": {"a": "2"}}), false);
        check(
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2", "1"]}]}),
            true,
        );
        check(json!({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}), false);
    }

    #[test]
    fn what_is_no_selector_is_told() {
        for term in [
            json!({"key": "a", "operator": "Near"}),
            json!({"key": "a", "operator": "In"}),
            json!({"key": "!", "operator": "Exists"}),
        ] {
            assert!(of(&json!({"matchExpressions": [term]}).into()).is_err());
        }
    }
}
