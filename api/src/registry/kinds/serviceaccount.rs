//! ServiceAccount: an identity for programs.

use quorate_meta::{Map, Names, Value};

use crate::registry::{Part, Strategy};

/// The semantics of service accounts.
#[derive(Debug)]
pub(super) struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn prepare_create(&self, _: &Names, object: &mut Value) {
        keep_names_of_secrets(object);
    }

    fn prepare_update(&self, _: &Names, _: Part, _: &Value, new: &mut Value) {
        keep_names_of_secrets(new);
    }
}

/// Secrets are named, nothing more: the rest of a reference is dropped.
fn keep_names_of_secrets(object: &mut Value) {
    for secret in object.get_mut("secrets").and_then(Value::as_list_mut).into_iter().flatten() {
        let name = secret.get("name").cloned();
        *secret = Value::Map(name.map(|name| Map::from([("name", name)])).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_names_of_secrets_are_kept() {
        let mut object = Value::from(json!({"secrets": [{"name": "a", "namespace": "n"}, {"kind": "Secret"}]}));
        keep_names_of_secrets(&mut object);
        assert_eq!(object, json!({"secrets": [{"name": "a"}, {}]}).into());
    }
}
