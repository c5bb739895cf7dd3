//! All flow schemas of the cluster, compiled, in the order in which they are matched.
//!
//! Invariants: a flow schema whose priority level does not exist matches nothing, and so does one
//! that cannot be read. The lowest `matchingPrecedence` comes first; among equals, the name
//! decides.

use std::sync::Arc;

use http::HeaderValue;
use imbl::OrdMap;
use quorate_meta::Value;

use super::Flow;
use super::flow_schema::FlowSchema;
use crate::authentication::User;
use crate::authorization::Action;
use quorate_registry::derived::{Derived, ObjectChange};

/// Plural name of the resource of flow schemas.
pub(super) const SCHEMAS: &str = "flowschemas";
/// Plural name of the resource of priority levels.
pub(super) const LEVELS: &str = "prioritylevelconfigurations";

/// The flow schemas at one revision.
#[derive(Debug, Clone, Default)]
pub(super) struct FlowSchemas {
    schemas: OrdMap<Arc<str>, Arc<FlowSchema>>,
    /// The uid of each priority level, by name.
    levels: OrdMap<Arc<str>, HeaderValue>,
    matched: Arc<[(Flow, Arc<FlowSchema>)]>,
}

impl Derived for FlowSchemas {
    fn update(&mut self, change: ObjectChange<'_>) {
        let ObjectChange { plural, name, new, .. } = change;
        if plural == SCHEMAS {
            put(&mut self.schemas, name, new.map(|schema| Arc::new(FlowSchema::compile(schema))));
        } else {
            put(&mut self.levels, name, new.and_then(uid));
        }
    }

    fn finish(&mut self) {
        let flow = |schema: &FlowSchema| {
            Some(Flow {
                schema: schema.uid.clone()?,
                level: self.levels.get(&*schema.level)?.clone(),
            })
        };
        let matching =
            self.schemas.values().filter_map(|schema| Some((flow(schema)?, schema.clone())));
        let mut matching: Vec<_> = matching.collect();
        matching.sort_by_key(|(_, schema)| schema.precedence);
        self.matched = matching.into();
    }
}

impl FlowSchemas {
    /// The flow of the first flow schema that matches a request.
    pub(super) fn classify(&self, user: &User, action: &Action<'_>) -> Option<Flow> {
        self.matched
            .iter()
            .find(|(_, schema)| schema.matches(user, action))
            .map(|(flow, _)| flow.clone())
    }
}

fn put<V: Clone>(map: &mut OrdMap<Arc<str>, V>, name: &str, value: Option<V>) {
    match value {
        Some(value) => map.insert(name.into(), value),
        None => map.remove(name),
    };
}

/// The uid of an object as a header's value.
pub(super) fn uid(object: &Value) -> Option<HeaderValue> {
    HeaderValue::from_str(object.str_at(&["metadata", "uid"])?).ok()
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use serde_json::json;

    use super::*;

    fn set(schemas: &mut FlowSchemas, plural: &str, name: &str, new: Option<serde_json::Value>) {
        let new = new.map(Value::from);
        schemas.update(ObjectChange {
            plural,
            names: Naming::Svc.names(),
            namespace: "",
            name,
            old: None,
            new: new.as_ref(),
            at: quorate_store::Revision::ZERO,
        });
        schemas.finish();
    }

    fn schema(level: &str, precedence: i64) -> serde_json::Value {
        let paths = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
        let rules = json!([{"subjects": [{"kind": "User", "user": {"name": "*"}}], "nonResourceRules": paths}]);
        let level = json!({"name": level});
        json!({
            "metadata": {"uid": format!("{precedence}")},
            "spec": {"priorityLevelConfiguration": level, "matchingPrecedence": precedence, "rules": rules},
        })
    }

    fn level(uid: &str) -> Option<serde_json::Value> {
        Some(json!({"metadata": {"uid": uid}}))
    }

    #[track_caller]
    fn check(schemas: &FlowSchemas, expect: Option<[&str; 2]>) {
        let flow = schemas.classify(&User::anonymous(), &Action::Path { verb: "get", path: "/" });
        let uids =
            flow.map(|flow| [flow.schema, flow.level].map(|uid| uid.to_str().unwrap().to_owned()));
        assert_eq!(uids, expect.map(|uids| uids.map(str::to_owned)));
    }

    #[test]
    fn the_lowest_precedence_with_a_level_matches() {
        let mut schemas = FlowSchemas::default();
        check(&schemas, None);
        set(&mut schemas, SCHEMAS, "b", Some(schema("low", 9)));
        check(&schemas, None);
        set(&mut schemas, LEVELS, "low", level("l"));
        check(&schemas, Some(["9", "l"]));
        set(&mut schemas, SCHEMAS, "c", Some(schema("high", 1)));
        check(&schemas, Some(["9", "l"]));
        set(&mut schemas, LEVELS, "high", level("h"));
        check(&schemas, Some(["1", "h"]));
        set(&mut schemas, LEVELS, "high", None);
        check(&schemas, Some(["9", "l"]));
        set(&mut schemas, SCHEMAS, "b", None);
        check(&schemas, None);
    }

    #[test]
    fn among_equals_the_name_decides() {
        let mut schemas = FlowSchemas::default();
        let with_uid = |uid: &str| {
            let mut object = schema("l", 5);
            object["metadata"]["uid"] = uid.into();
            Some(object)
        };
        set(&mut schemas, LEVELS, "l", level("l"));
        set(&mut schemas, SCHEMAS, "b", with_uid("b"));
        check(&schemas, Some(["b", "l"]));
        set(&mut schemas, SCHEMAS, "a", with_uid("a"));
        check(&schemas, Some(["a", "l"]));
        // Without a uid that a header can hold, a flow schema matches nothing.
        set(&mut schemas, SCHEMAS, "a", with_uid("\n"));
        check(&schemas, Some(["b", "l"]));
    }
}
