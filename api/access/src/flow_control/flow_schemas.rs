//! All flow schemas and priority levels of the cluster, compiled; the schemas in the order in which
//! they are matched.
//!
//! Invariants: a flow schema whose priority level does not exist matches nothing, and so does one
//! that cannot be read. The lowest `matchingPrecedence` comes first; among equals, the name
//! decides. The mandatory schemas and levels are always there, whatever is stored.

use std::sync::Arc;

use http::HeaderValue;
use imbl::OrdMap;
use quorate_meta::{Value, flow_control as mandatory};

use super::flow_schema::FlowSchema;
use super::level_config::LevelConfig;
use quorate_registry::derived::{Derived, ObjectChange};

/// Plural name of the resource of flow schemas.
pub(super) const SCHEMAS: &str = "flowschemas";
/// Plural name of the resource of priority levels.
pub(super) const LEVELS: &str = "prioritylevelconfigurations";

/// The flow schemas and priority levels at one revision.
#[derive(Debug, Clone)]
pub(super) struct FlowSchemas {
    stored_schemas: OrdMap<Arc<str>, Arc<FlowSchema>>,
    stored_levels: OrdMap<Arc<str>, Arc<LevelConfig>>,
    levels: OrdMap<Arc<str>, Arc<LevelConfig>>,
    matched: Arc<[Arc<FlowSchema>]>,
}

impl Derived for FlowSchemas {
    fn update(&mut self, change: ObjectChange<'_>) {
        let ObjectChange { plural, name, new, .. } = change;
        // Without a uid that a header can hold, an object counts as absent.
        let new = new.filter(|object| uid(object).is_some());
        if plural == SCHEMAS {
            let schema = new.map(|schema| Arc::new(FlowSchema::compile(name, schema)));
            put(&mut self.stored_schemas, name, schema);
        } else {
            put(&mut self.stored_levels, name, new.map(|level| Arc::new(LevelConfig::read(level))));
        }
    }

    fn finish(&mut self) {
        let (mut schemas, mut levels) = (self.stored_schemas.clone(), self.stored_levels.clone());
        for name in mandatory::NAMES {
            let object = |spec| Value::from([("spec", Value::Map(spec))]);
            if let (None, Some(spec)) = (levels.get(name), mandatory::level(name)) {
                levels.insert(name.into(), Arc::new(LevelConfig::read(&object(spec))));
            }
            // No client can store one that leads elsewhere.
            let is_stored = schemas.get(name).is_some_and(|schema| schema.level == name);
            if let (false, Some(spec)) = (is_stored, mandatory::schema(name)) {
                let schema = FlowSchema::compile(name, &object(spec));
                schemas.insert(name.into(), Arc::new(schema));
            }
        }
        let mut matched: Vec<_> = schemas.values().cloned().collect();
        matched.retain(|schema| levels.contains_key(&*schema.level));
        matched.sort_by_key(|schema| schema.precedence);
        (self.matched, self.levels) = (matched.into(), levels);
    }
}

impl Default for FlowSchemas {
    /// Those that every cluster has.
    fn default() -> Self {
        let mut schemas = Self {
            stored_schemas: OrdMap::new(),
            stored_levels: OrdMap::new(),
            levels: OrdMap::new(),
            matched: Arc::default(),
        };
        schemas.finish();
        schemas
    }
}

impl FlowSchemas {
    /// The flow schemas that match requests, in their order.
    pub(super) fn matched(&self) -> &[Arc<FlowSchema>] {
        &self.matched
    }

    /// The priority levels.
    pub(super) fn levels(&self) -> &OrdMap<Arc<str>, Arc<LevelConfig>> {
        &self.levels
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
    use crate::authentication::User;
    use crate::authorization::Action;

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
    fn check(schemas: &FlowSchemas, expect: &str) {
        let action = Action::Path { verb: "get", path: "/" };
        let anonymous = User::anonymous();
        let mut matching = schemas.matched().iter().filter(|one| one.matches(&anonymous, &action));
        assert_eq!(matching.next().map(|schema| &*schema.name), Some(expect));
        assert!(
            schemas.matched().iter().all(|schema| schemas.levels().contains_key(&*schema.level))
        );
    }

    #[test]
    fn the_lowest_precedence_with_a_level_matches() {
        let mut schemas = FlowSchemas::default();
        check(&schemas, "catch-all");
        set(&mut schemas, SCHEMAS, "b", Some(schema("low", 9)));
        check(&schemas, "catch-all");
        set(&mut schemas, LEVELS, "low", level("l"));
        check(&schemas, "b");
        set(&mut schemas, SCHEMAS, "c", Some(schema("high", 1)));
        check(&schemas, "b");
        set(&mut schemas, LEVELS, "high", level("h"));
        check(&schemas, "c");
        set(&mut schemas, LEVELS, "high", None);
        check(&schemas, "b");
        set(&mut schemas, SCHEMAS, "b", None);
        check(&schemas, "catch-all");
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
        check(&schemas, "b");
        set(&mut schemas, SCHEMAS, "a", with_uid("a"));
        check(&schemas, "a");
        // Without a uid that a header can hold, a flow schema matches nothing.
        set(&mut schemas, SCHEMAS, "a", with_uid("\n"));
        check(&schemas, "b");
    }

    #[test]
    fn the_mandatory_ones_are_always_there() {
        let mut schemas = FlowSchemas::default();
        let names = |schemas: &FlowSchemas| {
            let matched = schemas.matched().iter().map(|schema| schema.name.to_string());
            let levels = schemas.levels().keys().map(ToString::to_string);
            (matched.collect::<Vec<_>>(), levels.collect::<Vec<_>>())
        };
        let both = |matched: [&str; 2], levels: [&str; 2]| {
            (matched.map(str::to_owned).to_vec(), levels.map(str::to_owned).to_vec())
        };
        let expect = both(["exempt", "catch-all"], ["catch-all", "exempt"]);
        assert_eq!(names(&schemas), expect);
        set(&mut schemas, SCHEMAS, "catch-all", Some(schema("catch-all", 0)));
        assert_eq!(names(&schemas), both(["catch-all", "exempt"], ["catch-all", "exempt"]));
        // One that leads nowhere is as good as none.
        set(&mut schemas, SCHEMAS, "catch-all", Some(schema("nowhere", 0)));
        assert_eq!(names(&schemas), expect);
        set(&mut schemas, SCHEMAS, "catch-all", None);
        assert_eq!(names(&schemas), expect);
    }
}
