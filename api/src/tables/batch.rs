//! The cells of Jobs and CronJobs.

use quorate_meta::{Time, Value};

use super::human;
use super::special::Special;

/// The function of a column that has one.
pub(super) fn special(kind: &str, column: &str) -> Option<Special> {
    Some(match (kind, column) {
        ("Job", "Status") => status,
        ("Job", "Completions") => completions,
        ("Job", "Duration") => duration,
        ("CronJob", "Suspend") => suspend,
        _ => return None,
    })
}

fn status(object: &Value, _now_ms: u64) -> Value {
    let conditions =
        object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let holds = |kind: &str| {
        conditions
            .iter()
            .any(|c| c.str_at(&["type"]) == Some(kind) && c.str_at(&["status"]) == Some("True"))
    };
    let terminating = object.at(&["metadata", "deletionTimestamp"]).is_some();
    let found = ["Complete", "Failed"].into_iter().find(|kind| holds(kind));
    let found = found.or_else(|| terminating.then_some("Terminating"));
    let later = || {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(|kind| holds(kind))
    };
    found.or_else(later).unwrap_or("Running").into()
}

fn completions(object: &Value, _now_ms: u64) -> Value {
    let count = |path: &[&str]| object.at(path).and_then(Value::as_i64);
    let succeeded = count(&["status", "succeeded"]).unwrap_or_default();
    match (count(&["spec", "completions"]), count(&["spec", "parallelism"])) {
        (Some(completions), _) => format!("{succeeded}/{completions}").into(),
        (None, Some(parallelism)) if parallelism > 1 => {
            format!("{succeeded}/1 of {parallelism}").into()
        }
        _ => format!("{succeeded}/1").into(),
    }
}

fn duration(object: &Value, now_ms: u64) -> Value {
    let time = |field: &str| {
        object
            .str_at(&["status", field])
            .and_then(|text| Time::parse(text).ok())
            .map(|time| time.unix().0)
    };
    let Some(start) = time("startTime") else {
        return "".into();
    };
    let end = time("completionTime").unwrap_or(now_ms.cast_signed() / 1000);
    human::duration(end - start).into()
}

fn suspend(object: &Value, _now_ms: u64) -> Value {
    match object.at(&["spec", "suspend"]).and_then(Value::as_bool) {
        Some(true) => "True".into(),
        Some(false) => "False".into(),
        None => "<unset>".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn jobs() {
        let check = |object: serde_json::Value, expect: [&str; 3]| {
            let object = Value::from(object);
            let cells =
                [status(&object, 0), completions(&object, 0), duration(&object, 1_704_067_500_000)];
            assert_eq!(cells, expect.map(Value::from));
        };
        check(json!({"spec": {"completions": 3}}), ["Running", "0/3", ""]);
        check(
            json!({"spec": {"parallelism": 4}, "status": {"startTime": "2024-01-01T00:00:00Z"}}),
            ["Running", "0/1 of 4", "5m"],
        );
        check(
            json!({"status": {"succeeded": 1, "startTime": "2024-01-01T00:00:00Z", "completionTime": "2024-01-01T01:02:03Z",
                "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}}),
            ["Complete", "1/1", "62m"],
        );
        check(
            json!({"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}),
            ["Terminating", "0/1", ""],
        );
    }
}
