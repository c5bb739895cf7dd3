//! Values in the notation of the language, from the form that records have: `[1, 2u, "a", duration("1h")]`.
//!
//! Two forms are no expressions: what a library made is its type and its text, `svc.Quantity("1k")`, and bytes are in base64.

use quorate_meta::Value;

/// A value of the form of records, where it can be as an expression that has that value.
pub(super) fn text(value: &Value) -> String {
    let Some((tag, held)) = value.as_map().and_then(|map| map.iter().next()) else {
        return value_text(value);
    };
    match tag {
        "null" => "null".to_owned(),
        "bool" | "type" | "int64" => plain(held),
        "uint64" => format!("{}u", plain(held)),
        "double" => double(&plain(held)),
        "string" => value_text(held),
        "bytes" => format!("bytes in base64 {}", value_text(held)),
        "list" => format!("[{}]", joined(held, text)),
        "map" => format!("{{{}}}", joined(held, entry)),
        "timestamp" => time("timestamp", held),
        "duration" => time("duration", held),
        "optional" if *held == Value::Null => "optional.none()".to_owned(),
        "optional" => format!("optional.of({})", text(held)),
        _ => match held.as_list() {
            Some([type_name, written]) => format!("{}({})", plain(type_name), value_text(written)),
            _ => value_text(held),
        },
    }
}

fn joined(items: &Value, of: fn(&Value) -> String) -> String {
    let items = items.as_list().unwrap_or_default();
    items.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn entry(pair: &Value) -> String {
    match pair.as_list() {
        Some([key, value]) => format!("{}: {}", text(key), text(value)),
        _ => value_text(pair),
    }
}

/// Without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value_text(value), str::to_owned)
}

/// As JSON, whose texts are texts of the language too.
fn value_text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A number that is seen to be a double.
fn double(digits: &str) -> String {
    match digits {
        "NaN" | "Infinity" | "-Infinity" => format!("double(\"{digits}\")"),
        _ if digits.contains(['.', 'e']) => digits.to_owned(),
        _ => format!("{digits}.0"),
    }
}

fn time(function: &str, held: &Value) -> String {
    let parts = held.as_map();
    let seconds = parts.and_then(|parts| parts.get("seconds")).and_then(Value::as_str);
    let nanos = parts.and_then(|parts| parts.get("nanos")).and_then(Value::as_i64).unwrap_or(0);
    let seconds: i128 = seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(0);
    let all = seconds * 1_000_000_000 + i128::from(nanos);
    let written = match function {
        "timestamp" => time::OffsetDateTime::from_unix_timestamp_nanos(all)
            .ok()
            .and_then(|at| at.format(&time::format_description::well_known::Rfc3339).ok())
            .unwrap_or_default(),
        _ => {
            let sign = if all < 0 { "-" } else { "" };
            let (whole, part) = (all.abs() / 1_000_000_000, all.abs() % 1_000_000_000);
            let part = format!(".{part:09}");
            format!("{sign}{whole}{}s", part.trim_end_matches('0').trim_end_matches('.'))
        }
    };
    format!("{function}({written:?})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_expressions() {
        let check = |json: &str, expect: &str| {
            assert_eq!(text(&serde_json::from_str(json).unwrap()), expect);
        };
        check(r#"{"null": null}"#, "null");
        check(r#"{"bool": true}"#, "true");
        check(r#"{"int64": "-1"}"#, "-1");
        check(r#"{"uint64": "1"}"#, "1u");
        check(r#"{"double": "1"}"#, "1.0");
        check(r#"{"double": "1e+21"}"#, "1e+21");
        check(r#"{"double": "NaN"}"#, "double(\"NaN\")");
        check(r#"{"string": "a\"b"}"#, r#""a\"b""#);
        check(r#"{"bytes": "YQ=="}"#, "bytes in base64 \"YQ==\"");
        check(r#"{"list": [{"int64": "1"}, {"string": "a"}]}"#, "[1, \"a\"]");
        check(r#"{"map": [[{"string": "a"}, {"int64": "1"}]]}"#, "{\"a\": 1}");
        let hour = r#"{"duration": {"nanos": -500000000, "seconds": "-3600"}}"#;
        check(hour, "duration(\"-3600.5s\")");
        let start = r#"{"timestamp": {"nanos": 0, "seconds": "0"}}"#;
        check(start, "timestamp(\"1970-01-01T00:00:00Z\")");
        check(r#"{"optional": null}"#, "optional.none()");
        check(r#"{"optional": {"int64": "1"}}"#, "optional.of(1)");
        check(r#"{"type": "int"}"#, "int");
        check(r#"{"opaque": ["svc.Quantity", "1k"]}"#, "svc.Quantity(\"1k\")");
    }
}
