//! Where a resource has the values of a scale: built-in workloads in the same fields each, custom
//! resources where their definition says.
//!
//! Invariant: of a custom resource every value has its type, or there is no scale of the object.

use quorate_meta::{LabelSelector, Map, Status, Value};

use crate::error::Error;
use crate::{Resource, ScalePaths};

/// What a scale wants that has been made of an object without a number; no client can want it.
const UNSET: i64 = i32::MIN as i64;
const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// The places of one resource.
#[derive(Debug, Clone, Copy)]
pub struct ScalePlaces<'r> {
    /// `None` for built-in resources.
    paths: Option<&'r ScalePaths>,
}

impl<'r> ScalePlaces<'r> {
    /// Those of a resource.
    #[must_use]
    pub fn of(resource: &'r Resource) -> Self {
        Self { paths: resource.strategy.scale_paths() }
    }

    /// Whether the number is checked as a part of the object, not of the scale.
    #[must_use]
    pub fn are_custom(self) -> bool {
        self.paths.is_some()
    }

    /// The scale of an object that clients see.
    ///
    /// # Errors
    /// 500 when the object has a value of another type, or no number.
    pub fn read(self, object: &Value) -> Result<Value, Error> {
        let scale = self.begin(object)?;
        if replicas(&scale) == UNSET {
            let path = self.paths.map_or("", |paths| &paths.spec_replicas);
            return Err(Error::internal(format!(
                "the spec replicas field {path:?} does not exist"
            )));
        }
        Ok(scale)
    }

    /// The scale that a change begins with; it may want nothing yet.
    ///
    /// # Errors
    /// 500 when the object has a value of another type.
    pub fn begin(self, object: &Value) -> Result<Value, Error> {
        let Some(paths) = self.paths else {
            let selector = object.at(&["spec", "selector"]).map(selector_text).unwrap_or_default();
            let running = number(object, &["status", "replicas"]);
            return Ok(scale(object, number(object, &REPLICAS), running, &selector));
        };
        let wanted = paths.wanted(object).map_err(failure)?.unwrap_or(UNSET);
        let running = paths.observed(object).map_err(failure)?.unwrap_or_default();
        let selector = paths.selected(object).map_err(failure)?.unwrap_or_default();
        Ok(scale(object, wanted, running, selector))
    }

    /// Gives an object the number that a scale wants.
    ///
    /// # Errors
    /// 400 when it wants none, 500 when the object has no place for it.
    pub fn write(self, scale: &Value, object: &mut Value) -> Result<(), Error> {
        let Some(paths) = self.paths else {
            object.set_at(&REPLICAS, replicas(scale));
            return Ok(());
        };
        match replicas(scale) {
            UNSET => Err(unset(paths)),
            wanted if paths.want(object, wanted) => Ok(()),
            _ => {
                let path = &paths.spec_replicas;
                Err(failure(format!("{path} leads through a value that has no fields")))
            }
        }
    }

    /// Gives a part of an object the number that an applied scale wants, if it does.
    pub fn want(self, scale: &Value, part: &mut Value) {
        if let Some(asked) = scale.at(&REPLICAS).filter(|asked| !asked.is_null()) {
            match self.paths {
                Some(paths) => paths.want(part, asked.clone()),
                None => part.set_at(&REPLICAS, asked.clone()),
            };
        }
    }

    /// Refuses an object that an applied scale has left without a number.
    ///
    /// # Errors
    /// 400 for such an object.
    pub fn check_applied(self, object: &Value) -> Result<(), Error> {
        match self.paths {
            Some(paths) if paths.wanted(object).map_err(failure)?.is_none() => Err(unset(paths)),
            _ => Ok(()),
        }
    }
}

fn unset(paths: &ScalePaths) -> Error {
    let path = &paths.spec_replicas;
    Error::bad_request(format!("the spec replicas field {path:?} cannot be empty"))
}

/// What a scale wants.
#[must_use]
pub fn replicas(scale: &Value) -> i64 {
    number(scale, &REPLICAS)
}

fn number(object: &Value, path: &[&str]) -> i64 {
    object.at(path).and_then(Value::as_i64).unwrap_or_default()
}

fn failure(message: String) -> Error {
    Status { code: 500, message, ..Status::default() }.into()
}

/// The scale of an object. What is zero is left out of what is wanted.
fn scale(object: &Value, wanted: i64, running: i64, selector: &str) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.at(&["metadata", field]) {
            metadata.insert(field, value.clone());
        }
    }
    let mut spec = Map::new();
    if wanted != 0 {
        spec.insert("replicas", wanted);
    }
    let mut status = Map::from([("replicas", running)]);
    if !selector.is_empty() {
        status.insert("selector", selector);
    }
    Value::from([
        ("apiVersion", Value::from("autoscaling/v1")),
        ("kind", "Scale".into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
        ("status", status.into()),
    ])
}

/// A selector as list requests take it. Old workloads have no more than labels.
fn selector_text(selector: &Value) -> String {
    let labels = selector.as_map().filter(|map| map.values().all(|value| value.as_str().is_some()));
    let selector = match labels.filter(|labels| !labels.is_empty()) {
        Some(labels) => LabelSelector::from_object(&Value::from([("matchLabels", labels.clone())])),
        None => LabelSelector::from_object(selector),
    };
    selector.map(|selector| selector.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BUILT_IN: ScalePlaces<'static> = ScalePlaces { paths: None };

    fn paths() -> ScalePaths {
        ScalePaths {
            spec_replicas: ".spec.size".to_owned(),
            status_replicas: ".status.ready.size".to_owned(),
            selector: Some(".status.selector".to_owned()),
        }
    }

    fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String) {
        let status = result.expect_err("it is refused").into_status();
        (status.code, status.message)
    }

    #[test]
    fn scales_of_workloads() {
        let object = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "5", "labels": {"x": "y"}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}}, "status": {"replicas": 2}});
        let expect = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "5"},
            "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "app=a"}});
        assert_eq!(BUILT_IN.read(&object.into()).unwrap(), expect.into());
        let none = json!({"metadata": {}, "spec": {"replicas": 0}});
        let expect = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {}, "spec": {}, "status": {"replicas": 0}});
        assert_eq!(BUILT_IN.read(&none.into()).unwrap(), expect.into());
    }

    #[test]
    fn scales_of_custom_objects() {
        let paths = paths();
        let custom = ScalePlaces { paths: Some(&paths) };
        let check =
            |object: serde_json::Value, spec: serde_json::Value, status: serde_json::Value| {
                let scale = custom.read(&object.into()).expect("a scale");
                assert_eq!(scale.get("spec"), Some(&spec.into()));
                assert_eq!(scale.get("status"), Some(&status.into()));
            };
        let status = json!({"ready": {"size": 2}, "selector": "a=b"});
        check(
            json!({"spec": {"size": 3}, "status": status}),
            json!({"replicas": 3}),
            json!({"replicas": 2, "selector": "a=b"}),
        );
        check(json!({"spec": {"size": 0}}), json!({}), json!({"replicas": 0}));
        let absent: Value = json!({"spec": {}}).into();
        let message =
            "Internal error occurred: the spec replicas field \".spec.size\" does not exist";
        assert_eq!(refused(custom.read(&absent)), (500, message.to_owned()));
        let begun = custom.begin(&absent).expect("a change may begin");
        let message = "the spec replicas field \".spec.size\" cannot be empty";
        assert_eq!(refused(custom.write(&begun, &mut absent.clone())), (400, message.to_owned()));
        for unfit in [
            json!({"spec": {"size": "3"}}),
            json!({"spec": {"size": 1.5}}),
            json!({"spec": []}),
            json!({"spec": {"size": 1}, "status": {"selector": {}}}),
            json!({"spec": {"size": 1}, "status": {"ready": 1}}),
        ] {
            assert_eq!(refused(custom.read(&unfit.into())).0, 500);
        }
    }

    #[test]
    fn a_custom_object_gets_its_number() {
        let paths = paths();
        let custom = ScalePlaces { paths: Some(&paths) };
        let scale = json!({"spec": {"replicas": 4}}).into();
        let mut object = json!({"spec": {"x": 1}}).into();
        custom.write(&scale, &mut object).expect("it is written");
        assert_eq!(object, json!({"spec": {"x": 1, "size": 4}}).into());
        let mut part = Value::Map(Map::new());
        custom.want(&scale, &mut part);
        assert_eq!(part, json!({"spec": {"size": 4}}).into());
        assert!(custom.check_applied(&part).is_ok());
        assert_eq!(refused(custom.check_applied(&json!({}).into())).0, 400);
    }

    #[test]
    fn selectors() {
        let check = |selector: serde_json::Value, expect: &str| {
            assert_eq!(selector_text(&selector.into()), expect)
        };
        check(json!({"app": "a", "b": "c"}), "app=a,b=c");
        let term = json!({"key": "tier", "operator": "NotIn", "values": ["x", "y"]});
        check(
            json!({"matchLabels": {"app": "a"}, "matchExpressions": [term]}),
            "app=a,tier notin (x,y)",
        );
        check(json!({}), "");
    }
}
