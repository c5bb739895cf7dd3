//! What a webhook made of an object, compared with the object.

use quorate_meta::{Map, Path, Value, name};

/// What is wrong with one converted object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is not the object that was asked for.
    Object(String),
    /// Its metadata cannot be taken.
    Metadata(String),
}

/// Checks the object that `original` became in the version `desired`, and gives it the metadata of
/// the original except labels and annotations.
pub(super) fn restore(original: Value, desired: &str, converted: &mut Value) -> Result<(), Wrong> {
    let text = |value: &Value, path: &[&str]| value.str_at(path).unwrap_or_default().to_owned();
    if text(converted, &["kind"]).is_empty() {
        return Err(Wrong::Object("Object 'Kind' is missing".to_owned()));
    }
    for (field, shown, expected) in [
        ("apiVersion", "groupVersion", desired.to_owned()),
        ("kind", "kind", text(&original, &["kind"])),
    ] {
        let got = text(converted, &[field]);
        if got != expected {
            let why = format!("invalid {shown} (expected {expected}, received {got})");
            return Err(Wrong::Object(why));
        }
    }
    for (field, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let path = ["metadata", field];
        let (was, is) = (text(&original, &path), text(converted, &path));
        if was != is {
            return Err(Wrong::Object(format!("must have the same {shown}: {was} != {is}")));
        }
    }
    let metadata = restored(original, converted).map_err(Wrong::Metadata)?;
    converted.set_at(&["metadata"], metadata);
    Ok(())
}

/// The metadata of the original with the labels and annotations of what was made of it.
fn restored(mut original: Value, converted: &mut Value) -> Result<Map, String> {
    let mut metadata = match original.get_mut("metadata").map(std::mem::take) {
        Some(Value::Map(metadata)) => metadata,
        _ => Map::new(),
    };
    let given = match converted.get_mut("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Map(given)) => given,
        Some(other) => {
            return Err(format!("invalid metadata of type {} in converted object", type_of(other)));
        }
    };
    for field in ["labels", "annotations"] {
        match given.remove(field) {
            None | Some(Value::Null) => drop(metadata.remove(field)),
            Some(Value::Map(texts)) => {
                if metadata.get(field).and_then(Value::as_map) != Some(&texts) {
                    check_texts(field, &texts)?;
                }
                metadata.insert(field, texts);
            }
            Some(other) => {
                let ty = type_of(&other);
                return Err(format!("invalid metadata.{field} of type {ty} in converted object"));
            }
        }
    }
    Ok(metadata)
}

/// Checks changed labels or annotations.
fn check_texts(field: &str, texts: &Map) -> Result<(), String> {
    if let Some((key, other)) = texts.iter().find(|(_, value)| value.as_str().is_none()) {
        let ty = type_of(other);
        return Err(format!(
            "metadata.{field}[{key}] must be a string, but is {ty} in converted object"
        ));
    }
    let texts = texts.iter().map(|(key, value)| (key, value.as_str().unwrap_or_default()));
    let path = Path::new(format!("metadata.{field}"));
    let causes = match field {
        "labels" => name::labels(&path, texts),
        _ => name::annotations(&path, texts),
    };
    let causes: Vec<String> = causes.iter().map(quorate_meta::Cause::text).collect();
    match &causes[..] {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

/// The type of a value, as clients of Kubernetes read it.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::UInt(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn original() -> Json {
        json!({"apiVersion": "x.example/v1", "kind": "Widget", "spec": {"a": 1}, "metadata": {
            "name": "n", "namespace": "ns", "uid": "u", "labels": {"a": "b"}, "annotations": {"c": "d"},
            "finalizers": ["x.example/f"], "generation": 3, "managedFields": [{"manager": "m"}]}})
    }

    /// The result of converting with this change of the whole object.
    fn restored_with(change: impl FnOnce(&mut Json)) -> Result<Json, Wrong> {
        let mut converted = original();
        converted["apiVersion"] = json!("x.example/v2");
        change(&mut converted);
        let mut converted = Value::from(converted);
        restore(original().into(), "x.example/v2", &mut converted)?;
        Ok(serde_json::to_value(&converted).expect("it is JSON"))
    }

    #[test]
    fn labels_and_annotations_are_taken_and_the_rest_is_restored() {
        let check = |change: Json, labels: Json, annotations: Json| {
            let got = restored_with(|object| {
                object["spec"] = json!({"b": 2});
                object["metadata"] = json!({"name": "n", "namespace": "ns", "uid": "u"});
                for (key, value) in change.as_object().expect("a map") {
                    object["metadata"][key] = value.clone();
                }
            });
            let got = got.expect("it is taken");
            assert_eq!(got["spec"], json!({"b": 2}));
            let mut expect = original()["metadata"].clone();
            for (field, value) in [("labels", labels), ("annotations", annotations)] {
                match value {
                    Json::Null => drop(expect.as_object_mut().expect("a map").remove(field)),
                    value => expect[field] = value,
                }
            }
            assert_eq!(got["metadata"], expect, "{change}");
        };
        check(json!({}), json!(null), json!(null));
        check(json!({"labels": null, "annotations": {}}), json!(null), json!({}));
        check(
            json!({"labels": {"new": "label"}, "annotations": {"new": "note"}, "finalizers": ["a/b"], "generation": 9,
                "resourceVersion": "1", "managedFields": [], "creationTimestamp": "x", "more": 1}),
            json!({"new": "label"}),
            json!({"new": "note"}),
        );
    }

    #[test]
    fn what_a_webhook_must_not_change() {
        let check = |pointer: &str, value: Json, expect: &str| {
            let got = restored_with(|object| *object.pointer_mut(pointer).expect(pointer) = value);
            let (Wrong::Object(why) | Wrong::Metadata(why)) = got.expect_err(pointer);
            assert_eq!(why, expect, "{pointer}");
        };
        check(
            "/apiVersion",
            json!("x.example/v1"),
            "invalid groupVersion (expected x.example/v2, received x.example/v1)",
        );
        check("/kind", json!("Other"), "invalid kind (expected Widget, received Other)");
        check("/kind", json!(""), "Object 'Kind' is missing");
        check("", json!("an object"), "Object 'Kind' is missing");
        check("/metadata/name", json!("z"), "must have the same name: n != z");
        check("/metadata/namespace", json!(1), "must have the same namespace: ns != ");
        check("/metadata/uid", json!("v"), "must have the same UID: u != v");
        check("/metadata", json!("x"), "must have the same name: n != ");
        check(
            "/metadata/labels",
            json!(["a"]),
            "invalid metadata.labels of type []interface {} in converted object",
        );
        check(
            "/metadata/annotations",
            json!({"a": 1}),
            "metadata.annotations[a] must be a string, but is int64 in converted object",
        );
        let got = restored_with(|object| object["metadata"]["labels"] = json!({"a b": "c"}));
        assert!(
            matches!(&got, Err(Wrong::Metadata(why)) if why.starts_with("metadata.labels: Invalid value: \"a b\"")),
            "{got:?}"
        );
    }

    #[test]
    fn an_object_without_identity_needs_metadata_nevertheless() {
        let original = Value::from(json!({"apiVersion": "x/v1", "kind": "W"}));
        let mut converted = Value::from(json!({"apiVersion": "x/v2", "kind": "W"}));
        let got = restore(original, "x/v2", &mut converted);
        assert_eq!(got, Err(Wrong::Metadata("missing metadata in converted object".to_owned())));
    }
}
