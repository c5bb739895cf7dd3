//! The values of a Scale in the objects of a custom resource, at the paths that its definition
//! gives.

use quorate_meta::{Cause, Value};

/// Where the `scale` subresource finds its values: simple JSONPaths such as `.spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// The desired number, below `.spec`.
    pub spec_replicas: String,
    /// The observed number, below `.status`.
    pub status_replicas: String,
    /// The label selector as text.
    pub selector: Option<String>,
}

impl ScalePaths {
    /// The desired number; `None` when there is none.
    ///
    /// # Errors
    /// What is there instead of a whole number.
    pub fn wanted(&self, object: &Value) -> Result<Option<i64>, String> {
        whole(object, &self.spec_replicas)
    }

    /// The observed number; `None` when there is none.
    ///
    /// # Errors
    /// As [`ScalePaths::wanted`].
    pub fn observed(&self, object: &Value) -> Result<Option<i64>, String> {
        whole(object, &self.status_replicas)
    }

    /// The selector; `None` when there is none.
    ///
    /// # Errors
    /// What is there instead of a text.
    pub fn selected<'v>(&self, object: &'v Value) -> Result<Option<&'v str>, String> {
        let Some(path) = &self.selector else {
            return Ok(None);
        };
        match found(object, path)? {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(unfit(&steps(path), other, "string")),
            None => Ok(None),
        }
    }

    /// Sets the desired number; whether that has a place.
    pub fn want(&self, object: &mut Value, number: impl Into<Value>) -> bool {
        object.set_at(&steps(&self.spec_replicas), number)
    }

    /// What is wrong with the desired number.
    #[must_use]
    pub fn check_wanted(&self, object: &Value) -> Vec<Cause> {
        check(&self.spec_replicas, self.wanted(object)).into_iter().collect()
    }

    /// What is wrong with the observed number and the selector.
    #[must_use]
    pub fn check_observed(&self, object: &Value) -> Vec<Cause> {
        let number = check(&self.status_replicas, self.observed(object));
        let path = self.selector.as_deref().unwrap_or_default();
        let selector = self.selected(object).err().map(|why| Cause::invalid(path, "", &why));
        number.into_iter().chain(selector).collect()
    }
}

fn check(path: &str, number: Result<Option<i64>, String>) -> Option<Cause> {
    let most = i64::from(i32::MAX);
    let (number, why) = match number {
        Err(why) => (0, why),
        Ok(Some(number)) if number < 0 => (number, "should be a non-negative integer".to_owned()),
        Ok(Some(number)) if number > most => {
            (number, format!("should be less than or equal to {most}"))
        }
        Ok(_) => return None,
    };
    Some(Cause::invalid(path, number, &why))
}

/// The fields on the way of a simple path.
fn steps(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

fn whole(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match found(object, path)? {
        Some(Value::Int(number)) => Ok(Some(*number)),
        Some(other) => Err(unfit(&steps(path), other, "int64")),
        None => Ok(None),
    }
}

/// The value at a path; an error where one on the way has no fields.
fn found<'v>(object: &'v Value, path: &str) -> Result<Option<&'v Value>, String> {
    let steps = steps(path);
    let mut value = object;
    for (at, step) in steps.iter().enumerate() {
        match value {
            Value::Null => return Ok(None),
            Value::Map(map) => match map.get(step) {
                Some(next) => value = next,
                None => return Ok(None),
            },
            other => return Err(unfit(&steps[..=at], other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

/// Says it as release 1.35 does, with the names that Go has for types.
fn unfit(steps: &[&str], value: &Value, expected: &str) -> String {
    let (shown, found) = match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(flag) => (flag.to_string(), "bool"),
        Value::Int(number) => (number.to_string(), "int64"),
        Value::UInt(_) | Value::Float(_) => {
            (value.as_f64().unwrap_or_default().to_string(), "float64")
        }
        Value::String(text) => (text.to_string(), "string"),
        Value::List(_) => ("[]".to_owned(), "[]interface {}"),
        Value::Map(_) => ("map[]".to_owned(), "map[string]interface {}"),
    };
    let path = steps.join(".");
    format!(".{path} accessor error: {shown} is of the type {found}, expected {expected}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths() -> ScalePaths {
        ScalePaths {
            spec_replicas: ".spec.size".to_owned(),
            status_replicas: ".status.ready.size".to_owned(),
            selector: Some(".status.selector".to_owned()),
        }
    }

    #[test]
    fn values() {
        let object =
            json!({"spec": {"size": 3}, "status": {"ready": {"size": 2}, "selector": "a=b"}});
        let object = object.into();
        assert_eq!(paths().wanted(&object), Ok(Some(3)));
        assert_eq!(paths().observed(&object), Ok(Some(2)));
        assert_eq!(paths().selected(&object), Ok(Some("a=b")));
        let empty = json!({"spec": null}).into();
        assert_eq!((paths().wanted(&empty), paths().observed(&empty)), (Ok(None), Ok(None)));
        let mut object = json!({"spec": {"x": 1}}).into();
        assert!(paths().want(&mut object, 4));
        assert_eq!(object, json!({"spec": {"x": 1, "size": 4}}).into());
        assert!(!paths().want(&mut json!({"spec": 1}).into(), 4));
    }

    #[test]
    fn checks() {
        let check = |object: serde_json::Value, expect: &[&str]| {
            let object = object.into();
            let causes = [paths().check_wanted(&object), paths().check_observed(&object)].concat();
            let found: Vec<String> =
                causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
            assert_eq!(found, expect);
        };
        check(json!({"spec": {"size": 0}, "status": {"ready": {"size": 2_147_483_647}}}), &[]);
        check(
            json!({"spec": {"size": -1}, "status": {"ready": {"size": 2_147_483_648_i64}}}),
            &[
                ".spec.size: Invalid value: -1: should be a non-negative integer",
                ".status.ready.size: Invalid value: 2147483648: should be less than or equal to 2147483647",
            ],
        );
        check(
            json!({"spec": {"size": "x"}, "status": {"ready": 1, "selector": {}}}),
            &[
                ".spec.size: Invalid value: 0: .spec.size accessor error: x is of the type string, expected int64",
                ".status.ready.size: Invalid value: 0: .status.ready.size accessor error: 1 is of the type int64, expected map[string]interface{}",
                ".status.selector: Invalid value: \"\": .status.selector accessor error: map[] is of the type map[string]interface {}, expected string",
            ],
        );
    }
}
