//! Default IngressClass: a new Ingress that names no class gets the one that is marked as the
//! default.
//!
//! Invariant: an Ingress that names a class, in `spec.ingressClassName` or in the deprecated
//! annotation, keeps it.

use quorate_meta::{Names, Value};

use super::storage_class::default_of;
use crate::plugin::Plugin;
use crate::snapshot_view::SnapshotView;
use quorate_registry::Attributes;
use quorate_registry::error::Error;

/// The plugin that gives ingresses their class.
pub(super) struct DefaultIngressClass;

impl Plugin for DefaultIngressClass {
    fn mutate(
        &self,
        view: &SnapshotView<'_>,
        _: &Attributes<'_>,
        object: &mut Value,
    ) -> Result<(), Error> {
        if has_class(view.names, object) {
            return Ok(());
        }
        let Some(classes) = view.resource("networking", "v1", "ingressclasses") else {
            return Ok(());
        };
        let mark = format!("ingressclass.{}", view.names.domain_key("is-default-class"));
        if let Some(class) = default_of(view, classes, &[mark]) {
            object.set_at(&["spec", "ingressClassName"], class);
        }
        Ok(())
    }
}

/// Whether an Ingress sets its class, an empty one included.
fn has_class(names: &Names, ingress: &Value) -> bool {
    let key = names.domain_key("ingress.class");
    let class = ingress.str_at(&["spec", "ingressClassName"]);
    class.or_else(|| ingress.str_at(&["metadata", "annotations", &key])).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn who_names_a_class() {
        let check = |ingress: serde_json::Value, expect: bool| {
            assert_eq!(has_class(Naming::Svc.names(), &ingress.into()), expect);
        };
        check(json!({"spec": {}}), false);
        check(json!({"spec": {"ingressClassName": null}}), false);
        check(json!({"spec": {"ingressClassName": "c"}}), true);
        check(json!({"spec": {"ingressClassName": ""}}), true);
        check(json!({"metadata": {"annotations": {"svc.io/ingress.class": ""}}}), true);
        check(json!({"metadata": {"annotations": {"kubernetes.io/ingress.class": "c"}}}), false);
    }
}
