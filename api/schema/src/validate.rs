//! Structural validation: required fields and enumerations of the schema, for kinds whose strategy
//! asks for it.
//!
//! Types are checked in `decode`; rules between fields are part of strategies.

use std::sync::Arc;

use quorate_meta::{Cause, Map, Value};

use crate::fieldset::shortened;
use crate::graph::{Field, Graph, Shape, TypeDef, TypeId};
use crate::path::FieldPath;

/// Field errors that are listed, at most.
const MAX_TOLD: usize = 1000;

/// Checks a decoded value. Field errors are in key order, at most `MAX_TOLD`; of very long paths
/// the end after `...`. Object metadata has rules of its own elsewhere.
pub fn validate_structure(graph: &Graph, ty: TypeId, value: &Value) -> Vec<Cause> {
    let mut walk = ValidationWalk { graph, path: FieldPath::default(), causes: Vec::new() };
    if let Value::Map(map) = value {
        let ty = graph.ty(ty);
        walk.properties(
            ty.properties.iter().filter(|field| !ty.object || field.name != "metadata"),
            map,
        );
    }
    walk.causes
}

struct ValidationWalk<'g> {
    graph: &'g Graph,
    path: FieldPath,
    causes: Vec<Cause>,
}

impl ValidationWalk<'_> {
    fn message(&mut self, ty: &TypeDef, map: &Map) {
        self.properties(ty.properties.iter(), map);
    }

    fn properties<'f>(&mut self, fields: impl Iterator<Item = &'f Arc<Field>>, map: &Map) {
        for field in fields {
            let mark = self.path.push_key(&field.name);
            match map.get(&field.name) {
                Some(value) if !self.is_missing(field, value) => self.field(field, value),
                _ if field.required => self.tell(|path| Cause::required(path, "")),
                _ => {}
            }
            self.path.truncate(mark);
        }
    }

    /// Whether a required field is missing: an empty string, or a list or map that is `null`;
    /// messages are checked field by field.
    fn is_missing(&self, field: &Field, value: &Value) -> bool {
        match field.shape {
            Shape::Message(_) => value.is_null(),
            _ => {
                value.is_null() || (field.required && !field.pointer && value.as_str() == Some(""))
            }
        }
    }

    fn field(&mut self, field: &Field, value: &Value) {
        match value {
            Value::List(items) if !field.allowed.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    let mark = self.path.push_index(index);
                    self.allowed(field, item);
                    self.path.truncate(mark);
                }
            }
            value => self.allowed(field, value),
        }
        self.shape(&field.shape, value);
    }

    fn allowed(&mut self, field: &Field, value: &Value) {
        let text = value.as_str().filter(|text| !text.is_empty() && !field.allowed.is_empty());
        if let Some(text) = text.filter(|text| !field.allowed.iter().any(|allowed| allowed == text))
        {
            self.tell(|path| {
                let supported: Vec<&str> = field.allowed.iter().map(AsRef::as_ref).collect();
                Cause::not_supported(path, text, &supported)
            });
        }
    }

    fn tell(&mut self, cause: impl FnOnce(&str) -> Cause) {
        if self.causes.len() < MAX_TOLD {
            self.causes.push(cause(&shortened(self.path.as_str())));
        }
    }

    fn shape(&mut self, shape: &Shape, value: &Value) {
        match (shape, value) {
            (Shape::Message(id), Value::Map(map)) if self.graph.ty(*id).mixed.is_none() => {
                self.message(self.graph.ty(*id), map)
            }
            (Shape::List(inner), Value::List(items)) if inner.message().is_some() => {
                for (index, item) in items.iter().enumerate() {
                    let mark = self.path.push_index(index);
                    self.shape(inner, item);
                    self.path.truncate(mark);
                }
            }
            (Shape::Map(inner), Value::Map(map)) if inner.message().is_some() => {
                for (key, item) in map.iter() {
                    let mark = self.path.push_index_key(key);
                    self.shape(inner, item);
                    self.path.truncate(mark);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{graph, json, ty};

    #[test]
    fn causes() {
        let graph = graph();
        let check = |name: &str, body: &str, expect: &[(&str, &str)]| {
            let causes = validate_structure(&graph, ty(&graph, name), &json(body));
            let found: Vec<_> =
                causes.iter().map(|cause| (cause.reason.as_str(), cause.field.as_str())).collect();
            assert_eq!(found, expect, "{body}");
        };
        check(
            "rbac.authorization/v1.RoleRef",
            r#"{"apiGroup":"g","kind":"","name":"n"}"#,
            &[("FieldValueRequired", "kind")],
        );
        check(
            "core/v1.PodSpec",
            r#"{"containers":[{"name":"c"},{}]}"#,
            &[("FieldValueRequired", "containers[1].name")],
        );
        check("core/v1.PodSpec", "{}", &[("FieldValueRequired", "containers")]);
        check(
            "core/v1.NamespaceStatus",
            r#"{"phase":"Gone"}"#,
            &[("FieldValueNotSupported", "phase")],
        );
        check(
            "meta/v1.DeleteOptions",
            r#"{"dryRun":["All","Some"]}"#,
            &[("FieldValueNotSupported", "dryRun[1]")],
        );
        check("core/v1.ConfigMap", r#"{"metadata":{"ownerReferences":[{}]}}"#, &[]);
    }

    #[test]
    fn a_long_key_above_many_findings_is_not_repeated() {
        let graph = graph();
        let check = |count: usize, key: &str, expect: (usize, &str)| {
            let rules = vec!["{}"; count].join(",");
            let body = format!(r#"{{"properties":{{"{key}":{{"x-svc-validations":[{rules}]}}}}}}"#);
            let causes = validate_structure(
                &graph,
                ty(&graph, "apiextensions/v1.JSONSchemaProps"),
                &json(&body),
            );
            assert_eq!((causes.len(), causes[0].field.as_str()), expect);
            assert!(causes.iter().all(|cause| cause.field.len() <= 1027));
        };
        check(2, "a", (2, "properties[a].x-svc-validations[0].rule"));
        let end = format!("...{}].x-svc-validations[0].rule", "é".repeat(498));
        check(MAX_TOLD + 1, &"é".repeat(1 << 20), (MAX_TOLD, end.as_str()));
    }
}
