//! ServiceAccount: an identity of pods.

use quorate_meta::{Map, Names, Value};

use quorate_registry::{Part, Strategy};

/// The strategy of ServiceAccount.
#[derive(Debug)]
pub(super) struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn prepare_create(&self, _: &Names, object: &mut Value) {
        keep_names_of_secrets(object);
    }

    fn prepare_update(&self, _: &Names, _: Part, _: &Value, new: &mut Value) {
        keep_names_of_secrets(new);
    }

    fn warnings(&self, names: &Names, old: Option<&Value>, new: &Value) -> Vec<String> {
        let key = names.annotation_enforce_mountable_secrets;
        let has = |object: &Value| object.at(&["metadata", "annotations", key]).is_some();
        if !has(new) || old.is_some_and(has) {
            return Vec::new();
        }
        vec![format!(
            "metadata.annotations[{key}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )]
    }
}

/// Keeps only the names of references to secrets.
fn keep_names_of_secrets(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_list_mut).into_iter().flatten() {
        let name = secret.get("name").cloned();
        *secret = Value::Map(name.map(|name| Map::from([("name", name)])).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn only_names_of_secrets_are_kept() {
        let mut object =
            Value::from(json!({"secrets": [{"name": "a", "namespace": "n"}, {"kind": "Secret"}]}));
        keep_names_of_secrets(&mut object);
        assert_eq!(object, json!({"secrets": [{"name": "a"}, {}]}).into());
    }

    #[test]
    fn new_deprecated_annotations_have_a_warning() {
        let check = |old: Option<serde_json::Value>, new: serde_json::Value, expect: usize| {
            let warnings = ServiceAccount.warnings(
                Naming::Svc.names(),
                old.map(Value::from).as_ref(),
                &new.into(),
            );
            assert_eq!(warnings.len(), expect);
        };
        let annotated =
            || json!({"metadata": {"annotations": {"svc.io/enforce-mountable-secrets": "true"}}});
        check(None, annotated(), 1);
        check(None, json!({"metadata": {}}), 0);
        check(Some(annotated()), annotated(), 0);
        check(Some(json!({"metadata": {}})), annotated(), 1);
    }
}
