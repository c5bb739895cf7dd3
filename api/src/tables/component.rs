//! The cells of ComponentStatuses.

use quorate_meta::Value;

use super::join::{items, text};
use super::special::Special;

/// The function of a column that has one.
pub(super) fn special(column: &str) -> Option<Special> {
    Some(match column {
        "Status" => |object, _| match healthy(object).map(|healthy| text(healthy, &["status"])) {
            Some("True") => "Healthy".into(),
            Some(_) => "Unhealthy".into(),
            None => "Unknown".into(),
        },
        "Message" => {
            |object, _| healthy(object).map_or("", |healthy| text(healthy, &["message"])).into()
        }
        "Error" => {
            |object, _| healthy(object).map_or("", |healthy| text(healthy, &["error"])).into()
        }
        _ => return None,
    })
}

/// The condition that says how the component is.
fn healthy(object: &Value) -> Option<&Value> {
    items(object, &["conditions"]).iter().find(|condition| text(condition, &["type"]) == "Healthy")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells() {
        let check = |conditions: serde_json::Value, expect: [&str; 3]| {
            let object = Value::from(json!({"conditions": conditions}));
            let cell = |column| special(column).map(|cell| cell(&object, 0)).unwrap_or_default();
            assert_eq!(["Status", "Message", "Error"].map(cell), expect.map(Value::from));
        };
        check(
            json!([{"type": "Healthy", "status": "True", "message": "ok"}]),
            ["Healthy", "ok", ""],
        );
        check(
            json!([{"type": "Healthy", "status": "False", "error": "no"}]),
            ["Unhealthy", "", "no"],
        );
        check(json!([{"type": "Other", "status": "True"}]), ["Unknown", "", ""]);
    }
}
