//! The strategy of custom objects: what their definition says of them.
//!
//! Invariants: with the status subresource no write reaches both the status and the rest, and a
//! write of the status leaves all but the status and the managed fields. What an update leaves as
//! it was may be invalid.
//!
//! Not here: pruning and defaults, which the engine does by the types of the version.

use std::sync::Arc;

use bytes::Bytes;
use quorate_meta::{Cause, CauseReason, Names, Path, Value};
use quorate_registry::strategy::{intent_differs, status};
use quorate_registry::write::embedded_metadata;
use quorate_registry::{Findings, Part, PrinterColumn, ScalePaths, Strategy};

use quorate_schema::apply_defaults;

use super::definition::DefinitionVersion;
use super::finalizers;
use super::rules;
use super::version::CompiledVersion;

const RULES_SKIPPED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// The semantics of the objects of one version.
#[derive(Debug)]
pub struct CustomStrategy {
    types: Arc<CompiledVersion>,
    has_status: bool,
    columns: Vec<PrinterColumn>,
    scale: Option<ScalePaths>,
}

impl CustomStrategy {
    /// The strategy of a version that `types` has the schema of.
    #[must_use]
    pub fn new(types: Arc<CompiledVersion>, version: &DefinitionVersion) -> Self {
        let scale = version.scale.as_ref().map(|scale| ScalePaths {
            spec_replicas: scale.spec_replicas_path.clone(),
            status_replicas: scale.status_replicas_path.clone(),
            selector: scale.label_selector_path.clone(),
        });
        Self { types, has_status: version.status, columns: columns(version), scale }
    }
}

impl CustomStrategy {
    /// What is wrong with objects inside of an object.
    fn embedded(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let metadata = |path: &Path, metadata: &Value| embedded_metadata(names, path, metadata);
        self.types.compiled().structural().validate_embedded(object, &metadata)
    }
}

/// The columns of a version; the age when it has none.
fn columns(version: &DefinitionVersion) -> Vec<PrinterColumn> {
    if version.columns.is_empty() {
        return vec![PrinterColumn {
            name: "Age".to_owned(),
            ty: "date".to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            json_path: ".metadata.creationTimestamp".to_owned(),
        }];
    }
    let column = |column: &super::definition::DefinitionColumn| PrinterColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        format: column.format.clone(),
        description: column.description.clone(),
        priority: column.priority,
        json_path: column.json_path.clone(),
    };
    version.columns.iter().map(column).collect()
}

/// Whether a failure leaves rules with values that they are not written for.
fn hides_rules(cause: &Cause) -> bool {
    matches!(
        cause.reason,
        CauseReason::FieldValueNotSupported
            | CauseReason::FieldValueRequired
            | CauseReason::FieldValueTooLong
            | CauseReason::FieldValueTooMany
            | CauseReason::FieldValueTypeInvalid
    )
}

impl Strategy for CustomStrategy {
    fn unconditional_update(&self) -> bool {
        false
    }

    fn checks_structure(&self) -> bool {
        false
    }

    fn checks_finalizers(&self) -> bool {
        false
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        finalizers::warnings(names, old, new)
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn changes_intent(&self, old: &Value, new: &Value) -> bool {
        let status_differs = !self.has_status && old.get("status") != new.get("status");
        status_differs || intent_differs(old, new)
    }

    fn has_status(&self) -> bool {
        self.has_status
    }

    fn ignored(&self, part: Part) -> &'static [&'static str] {
        if self.has_status && part == Part::Main { &["status"] } else { &[] }
    }

    fn only(&self, part: Part) -> Option<&'static [&'static str]> {
        (part == Part::Status).then_some(&["status"])
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        if self.has_status {
            object.remove_at(&["status"]);
            // A default of the status is there from the beginning.
            let compiled = self.types.compiled();
            let structural = compiled.structural();
            if structural.has_status_defaults() {
                apply_defaults(structural.graph(), structural.ty(), object);
            }
        }
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        if part == Part::Status {
            let mut next = old.clone();
            for path in
                [&["status"][..], &["metadata", "managedFields"], &["metadata", "resourceVersion"]]
            {
                status::keep_at(path, new, &mut next);
            }
            *new = next;
        } else if self.has_status {
            status::keep("status", old, new);
        }
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = self.types.compiled().problems().to_vec();
        if let Some(scale) = &self.scale {
            causes.extend(scale.check_wanted(object));
            causes.extend(scale.check_observed(object));
        }
        causes
    }

    fn validate_create(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let compiled = self.types.compiled();
        let structural = compiled.structural();
        let mut causes = structural.validate(object);
        causes.extend(self.embedded(names, object));
        causes.extend(structural.duplicates(object));
        causes
    }

    fn validate_update(&self, names: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let compiled = self.types.compiled();
        let structural = compiled.structural();
        let mut causes = if part == Part::Status {
            structural.validate_status(new, Some(old))
        } else {
            let mut causes = structural.validate_update(new, old);
            causes.extend(self.embedded(names, new));
            causes
        };
        let duplicates = structural.duplicates(new);
        if !duplicates.is_empty() && structural.duplicates(old).is_empty() {
            causes.extend(duplicates);
        }
        causes
    }

    fn evaluate_rules(&self, old: Option<&Value>, new: &Value, found: &[Cause]) -> Findings {
        let compiled = self.types.compiled();
        let rules = compiled.rules();
        if rules.is_empty() {
            return Findings::default();
        }
        if found.iter().any(hides_rules) {
            let causes = vec![Cause::invalid("<nil>", Value::Null, RULES_SKIPPED)];
            return Findings { causes, warnings: Vec::new() };
        }
        rules::check(rules, compiled.structural(), new, old)
    }

    fn published_schema(&self) -> Option<Bytes> {
        self.types.schema().map(|schema| schema.text().clone())
    }

    fn printer_columns(&self) -> &[PrinterColumn] {
        &self.columns
    }

    fn scale_paths(&self) -> Option<&ScalePaths> {
        self.scale.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use quorate_meta::Naming;
    use quorate_schema::MAX_DEFAULT_BYTES;
    use serde_json::json;

    use super::*;
    use crate::crd::testing;

    fn strategy() -> CustomStrategy {
        let definition = testing::definition(json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}, "m": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}}}));
        let version = definition.version("v1").expect("v1");
        CustomStrategy::new(testing::compiled(&testing::base(), version), version)
    }

    #[test]
    fn each_part_keeps_the_other() {
        let check = |part: Part, expect: serde_json::Value| {
            let old =
                json!({"metadata": {"labels": {"a": "1"}}, "spec": {"n": 1}, "status": {"n": 1}});
            let new = json!({"metadata": {"labels": {"a": "2"}, "managedFields": [2]}, "spec": {"n": 2}, "status": {"n": 2}});
            let mut new = Value::from(new);
            strategy().prepare_update(Naming::Svc.names(), part, &old.into(), &mut new);
            assert_eq!(new, expect.into());
        };
        check(
            Part::Main,
            json!({"metadata": {"labels": {"a": "2"}, "managedFields": [2]}, "spec": {"n": 2}, "status": {"n": 1}}),
        );
        check(
            Part::Status,
            json!({"metadata": {"labels": {"a": "1"}, "managedFields": [2]}, "spec": {"n": 1}, "status": {"n": 2}}),
        );
        let mut created = Value::from(json!({"spec": {}, "status": {}}));
        strategy().prepare_create(Naming::Svc.names(), &mut created);
        assert_eq!(created, json!({"spec": {}}).into());
    }

    #[test]
    fn a_default_of_the_status_is_there_from_the_beginning() {
        let definition = testing::definition(json!({"type": "object", "properties": {
            "status": {"type": "object", "default": {"seen": -1}, "properties": {"seen": {"type": "integer"}}}}}));
        let version = definition.version("v1").expect("v1");
        let compiled = testing::compiled(&testing::base(), version);
        let mut object = Value::from(json!({"metadata": {}, "status": {"seen": 5}}));
        CustomStrategy::new(compiled, version).prepare_create(Naming::Svc.names(), &mut object);
        assert_eq!(object, json!({"metadata": {}, "status": {"seen": -1}}).into());
    }

    #[test]
    fn defaults_take_so_much_room_and_no_more() {
        const LONG: usize = 100 << 10;
        const ITEMS: usize = 1000;
        let item = json!({"type": "object", "properties": {
            "d": {"type": "string", "default": "x".repeat(LONG)}, "n": {"type": "integer", "default": 1}}});
        let spec = json!({"type": "array", "items": item});
        let types = testing::version(json!({"type": "object", "properties": {"spec": spec}}));
        let compiled = types.compiled();
        let (graph, ty) = (compiled.structural().graph(), compiled.structural().ty());
        let check = |items: serde_json::Value, least: usize| {
            let mut object = Value::from(json!({"metadata": {}, "spec": items}));
            apply_defaults(graph, ty, &mut object);
            let filled = quorate_wire::json::to_vec(&object).len();
            assert!((least..=MAX_DEFAULT_BYTES + least).contains(&filled), "{filled}");
        };
        check(json!([{}]), LONG);
        check(json!(vec![json!({}); ITEMS]), MAX_DEFAULT_BYTES - LONG);
    }

    #[test]
    fn updates_are_asked_about_what_they_change() {
        let check =
            |part: Part, old: serde_json::Value, new: serde_json::Value, expect: &[&str]| {
                let (old, new) = (old.into(), new.into());
                let causes = strategy().validate_update(Naming::Svc.names(), part, &old, &new);
                let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
                assert_eq!(fields, expect);
            };
        let (good, bad) = (json!({"spec": {"n": 1}}), json!({"spec": {"n": 9}}));
        check(Part::Main, good.clone(), bad.clone(), &["spec.n"]);
        check(Part::Main, bad, json!({"spec": {"n": 9, "m": 1}}), &[]);
        check(Part::Status, good, json!({"spec": {"n": 1}, "status": {"n": 9}}), &["status.n"]);
    }
}
