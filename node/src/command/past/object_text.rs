//! Objects as text: YAML and JSON as kubectl prints them, what readers do not ask for left out.

use quorate_meta::Value;
use quorate_wire::yaml;
use serde::Serialize;

use crate::error::Error;

/// Drops the managed fields of an object.
pub(super) fn drop_managed_fields(object: &mut Value) {
    object.remove_at(&["metadata", "managedFields"]);
}

/// JSON, indented by four.
pub(super) fn json(value: &Value) -> Result<String, Error> {
    let mut text = Vec::new();
    let form = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut target = serde_json::Serializer::with_formatter(&mut text, form);
    value.serialize(&mut target).map_err(Error::failed)?;
    String::from_utf8(text).map_err(Error::failed)
}

/// JSON on one line.
pub(super) fn json_line(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::failed)
}

/// YAML, without a line break at its end.
pub(super) fn yaml(value: &Value) -> String {
    yaml::write(value).trim_end_matches('\n').to_owned()
}

/// A list of objects of any kinds, as kubectl makes one.
pub(super) fn list(items: Vec<Value>) -> Value {
    Value::from([
        ("apiVersion", Value::from("v1")),
        ("items", Value::List(items)),
        ("kind", Value::from("List")),
        ("metadata", Value::from([("resourceVersion", Value::from(""))])),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts() {
        let mut object: Value =
            json!({"metadata": {"name": "a", "managedFields": [{}]}, "data": {"k": "v"}}).into();
        drop_managed_fields(&mut object);
        assert_eq!(yaml(&object), "data:\n  k: v\nmetadata:\n  name: a");
        let expect = r#"{"data":{"k":"v"},"metadata":{"name":"a"}}"#;
        assert_eq!(json_line(&object).unwrap(), expect);
        assert!(json(&object).unwrap().contains("\n    \"data\": {\n        \"k\": \"v\""));
        assert!(json_line(&list(vec![object])).unwrap().contains(r#""kind":"List""#));
    }
}
