//! Warnings for clients that write definitions: formats of text that are not checked.

use quorate_meta::Value;
use quorate_schema::structural::Format;

/// Warnings about the formats of a definition that `old` does not have.
pub(super) fn formats(old: Option<&Value>, new: &Value) -> Vec<String> {
    let known = old.map(unrecognized).unwrap_or_default();
    let found = unrecognized(new).into_iter().filter(|format| !known.contains(format));
    found.map(|format| format!("unrecognized format {}", quorate_meta::quoted(format))).collect()
}

/// Formats of text that are not checked, each once.
fn unrecognized(definition: &Value) -> Vec<&str> {
    let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list);
    let mut found = Vec::new();
    for version in versions.unwrap_or_default() {
        let mut open: Vec<&Value> =
            version.at(&["schema", "openAPIV3Schema"]).into_iter().collect();
        while let Some(schema) = open.pop() {
            let text = |word| schema.get(word).and_then(Value::as_str).unwrap_or_default();
            let format = text("format");
            let is_checked =
                text("type") != "string" || format.is_empty() || Format::is_known(format);
            if !is_checked && !found.contains(&format) {
                found.push(format);
            }
            each_below(schema, &mut open);
        }
    }
    found
}

/// Adds the schemas directly below one.
pub(super) fn each_below<'v>(schema: &'v Value, open: &mut Vec<&'v Value>) {
    for word in ["properties", "patternProperties", "definitions", "dependencies"] {
        let below = schema.get(word).and_then(Value::as_map);
        open.extend(below.into_iter().flat_map(|map| map.values()));
    }
    for word in ["items", "not", "additionalProperties", "additionalItems"] {
        open.extend(schema.get(word).filter(|below| below.as_map().is_some()));
    }
    for word in ["items", "allOf", "anyOf", "oneOf"] {
        open.extend(schema.get(word).and_then(Value::as_list).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(format: &str, ty: &str) -> Value {
        let schema = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": ty, "format": format}}}});
        json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}).into()
    }

    #[test]
    fn unknown_formats_of_text() {
        let check = |format: &str, ty: &str, expect: &[&str]| {
            let definition = definition(format, ty);
            assert_eq!(formats(None, &definition), expect, "{format}");
            assert_eq!(formats(Some(&definition), &definition), Vec::<String>::new(), "{format}");
        };
        check("date-time", "string", &[]);
        check("int64", "integer", &[]);
        check("int64", "string", &["unrecognized format \"int64\""]);
    }
}
