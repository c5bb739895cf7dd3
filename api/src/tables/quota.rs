//! The cells of ResourceQuotas: what is used of what, requests and limits apart.

use quorate_meta::Value;

use super::special::Special;

const LIMITS: &str = "limits.";

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "Request" => |object, _| uses(object, false),
        "Limit" => |object, _| uses(object, true),
        _ => return None,
    })
}

fn uses(object: &Value, limits: bool) -> Value {
    let hard = object
        .at(&["status", "hard"])
        .and_then(Value::as_map)
        .into_iter()
        .flat_map(|hard| hard.iter());
    let used =
        |name: &str| object.at(&["status", "used", name]).and_then(Value::as_str).unwrap_or("0");
    let wanted = hard.filter(|(name, _)| name.starts_with(LIMITS) == limits);
    let texts = wanted.map(|(name, hard)| {
        format!("{name}: {}/{}", used(name), hard.as_str().unwrap_or_default())
    });
    texts.collect::<Vec<_>>().join(", ").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn requests_and_limits() {
        let object = Value::from(
            json!({"status": {"hard": {"limits.cpu": "2", "pods": "5", "secrets": "1"}, "used": {"pods": "3"}}}),
        );
        assert_eq!(uses(&object, false), "pods: 3/5, secrets: 0/1".into());
        assert_eq!(uses(&object, true), "limits.cpu: 0/2".into());
    }
}
