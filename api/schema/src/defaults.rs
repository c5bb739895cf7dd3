//! Literal defaults of the IDL.
//!
//! A field is unset when it is absent or `null`, and when it is zero unless it is a pointer.
//! In custom resources it is unset when it is absent, and when it is `null` unless it is nullable.
//! Invariant: applying defaults twice changes nothing.
//!
//! Derived defaults (one field from another) are part of the strategy of a kind.

use quorate_meta::{Map, Value};

use crate::decode::{Defaults, canonicalize, is_zero, settle};
use crate::graph::{Field, Graph, Shape, TypeDef, TypeId};

/// Sets unset fields with a default, at every depth. The value is in canonical form before and
/// after.
pub fn apply_defaults(graph: &Graph, ty: TypeId, value: &mut Value) {
    if let Value::Map(map) = value {
        message(graph, graph.ty(ty), map);
    }
}

fn message(graph: &Graph, ty: &TypeDef, map: &mut Map) {
    if ty.custom.is_some() {
        return settle(graph, ty, map, &mut Defaults::filled());
    }
    for field in &ty.properties {
        if field.default.is_some() && is_unset(field, map.get(&field.name)) {
            set_default(graph, field, map);
        }
        if field.shape.message().is_some() {
            descend(graph, ty, field, map);
        }
    }
}

fn set_default(graph: &Graph, field: &Field, map: &mut Map) {
    let Some(mut default) = field.default.clone() else {
        return;
    };
    if let Shape::Message(id) = field.shape {
        canonicalize(graph, id, &mut default);
    }
    let written = field.pointer || field.always || !is_zero(&field.shape, &default);
    if !written {
        return;
    }
    map.insert(field.name.as_ref(), default);
}

/// A message field that is no pointer always exists, so its defaults apply even when it is absent.
fn descend(graph: &Graph, ty: &TypeDef, field: &Field, map: &mut Map) {
    let implied = matches!(field.shape, Shape::Message(id) if !field.pointer && id != ty.id && graph.ty(id).mixed.is_none());
    if let Some(value) = map.get_mut(&field.name) {
        shape(graph, &field.shape, value);
    } else if implied {
        let mut value = Value::Map(Map::new());
        shape(graph, &field.shape, &mut value);
        if !value.is_empty() {
            map.insert(field.name.as_ref(), value);
        }
    }
}

fn shape(graph: &Graph, form: &Shape, value: &mut Value) {
    match (form, value) {
        (Shape::Message(id), Value::Map(map)) => message(graph, graph.ty(*id), map),
        (Shape::List(inner), Value::List(items)) => {
            items.iter_mut().for_each(|item| shape(graph, inner, item))
        }
        (Shape::Map(inner), Value::Map(map)) => {
            map.values_mut().for_each(|item| shape(graph, inner, item))
        }
        _ => {}
    }
}

fn is_unset(field: &Field, value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.is_null() || (!field.pointer && is_zero(&field.shape, value)))
}

#[cfg(test)]
mod tests {
    use crate::decode::decode;
    use crate::testing::{graph, json, text, ty};

    #[test]
    fn literals_are_filled_in() {
        let graph = graph();
        let check = |name: &str, body: &str, expect: &str| {
            let (ty, mut value) = (ty(&graph, name), json(body));
            decode(&graph, ty, &mut value).expect("types fit");
            super::apply_defaults(&graph, ty, &mut value);
            assert_eq!(text(&value), expect);
            let once = value.clone();
            super::apply_defaults(&graph, ty, &mut value);
            assert_eq!(value, once);
        };
        check("core/v1.Secret", "{}", r#"{"metadata":{},"type":"Opaque"}"#);
        check("core/v1.Secret", r#"{"type":""}"#, r#"{"metadata":{},"type":"Opaque"}"#);
        check(
            "core/v1.Namespace",
            "{}",
            r#"{"metadata":{},"spec":{},"status":{"phase":"Active"}}"#,
        );
        check(
            "core/v1.ContainerPort",
            r#"{"containerPort":80}"#,
            r#"{"containerPort":80,"protocol":"TCP"}"#,
        );
        check(
            "core/v1.HTTPGetAction",
            r#"{"port":80}"#,
            r#"{"path":"/","port":80,"scheme":"HTTP"}"#,
        );
        check("core/v1.ReplicationControllerSpec", "{}", r#"{"replicas":1}"#);
        let subject = r#"{"kind":"Role","name":"r"}"#;
        check(
            "rbac.authorization/v1.RoleRef",
            subject,
            r#"{"apiGroup":"rbac.authorization.svc.io","kind":"Role","name":"r"}"#,
        );
    }

    #[test]
    fn an_explicit_zero_of_a_pointer_stays() {
        let graph = graph();
        let ty = ty(&graph, "apps/v1.DeploymentSpec");
        let mut value = json(r#"{"replicas":0}"#);
        super::apply_defaults(&graph, ty, &mut value);
        assert_eq!(value.get("replicas"), Some(&0i64.into()));
        let mut value = json("{}");
        super::apply_defaults(&graph, ty, &mut value);
        assert_eq!(value.get("replicas"), Some(&1i64.into()));
    }
}
