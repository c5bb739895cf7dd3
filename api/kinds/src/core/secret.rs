//! Secret: bytes by key, and a type that may require certain keys.

use std::convert::Infallible;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Cause, Map, Names, Path, Value};
use quorate_wire::json;

use super::data;
use quorate_registry::{Part, Strategy};

/// The replacement of the data in messages.
const REDACTED: &str = "<secret contents redacted>";

/// The strategy of Secret.
#[derive(Debug)]
pub(super) struct Secret;

impl Strategy for Secret {
    fn default(&self, _: &Names, object: &mut Value) {
        let Some(map) = object.as_map_mut() else {
            return;
        };
        let Some(Value::Map(texts)) = map.remove("stringData") else {
            return;
        };
        let Some(data) = map.map_mut("data") else {
            return;
        };
        let merged = data.merge_with(texts, |_, _, text| {
            Ok::<_, Infallible>(Some(STANDARD.encode(text.as_str().unwrap_or_default()).into()))
        });
        merged.unwrap_or_else(|never| match never {});
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        data::check_keys(object, "data", &mut causes);
        if data::base64_bytes(object, "data") > data::MAX_CONTENTS_BYTES {
            causes.push(Cause::too_long("data", data::MAX_CONTENTS_BYTES));
        }
        check_type(names, object, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, _: Part, old: &Value, new: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        if old.get("type") != new.get("type") {
            let asked = new.get("type").cloned().unwrap_or_default();
            causes.push(Cause::invalid("type", asked, "field is immutable"));
        }
        data::check_immutable(old, new, &["data"], &mut causes);
        causes
    }
}

/// Checks the keys that the type requires.
fn check_type(names: &Names, object: &Value, causes: &mut Vec<Cause>) {
    let empty = Map::new();
    let contents = object.get("data").and_then(Value::as_map).unwrap_or(&empty);
    let at = |key: &str| Path::new("data").key(key);
    let mut require = |keys: &[&str]| {
        let missing = keys.iter().filter(|key| !contents.contains_key(key));
        causes.extend(missing.map(|key| Cause::required(at(key), "")));
    };
    let kind = object.str_at(&["type"]).unwrap_or_default();
    let Some(kind) = kind.strip_prefix(names.domain).and_then(|rest| rest.strip_prefix('/')) else {
        return;
    };
    match kind {
        "service-account-token" => {
            let annotation = names.domain_key("service-account.name");
            let account =
                object.str_at(&["metadata", "annotations", &annotation]).unwrap_or_default();
            if account.is_empty() {
                causes
                    .push(Cause::required(Path::new("metadata.annotations").key(&annotation), ""));
            }
        }
        "basic-auth"
            if !contents.contains_key("username") && !contents.contains_key("password") =>
        {
            require(&["username", "password"]);
        }
        "ssh-auth" if contents.get_str("ssh-privatekey").is_none_or(str::is_empty) => {
            causes.push(Cause::required(at("ssh-privatekey"), ""));
        }
        "tls" => require(&["tls.crt", "tls.key"]),
        "dockercfg" => check_object(contents, ".dockercfg", causes),
        "dockerconfigjson" => check_object(contents, ".dockerconfigjson", causes),
        _ => {}
    }
}

/// Checks that the value is a JSON object or `null`; its fields are not checked.
fn check_object(contents: &Map, key: &str, causes: &mut Vec<Cause>) {
    let path = Path::new("data").key(key);
    let Some(text) = contents.get_str(key) else {
        causes.push(Cause::required(&path, ""));
        return;
    };
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let found = match json::parse(&bytes) {
        Err(error) => {
            causes.push(Cause::invalid(&path, REDACTED, &error.to_string()));
            return;
        }
        Ok((Value::Map(_) | Value::Null, _)) => return,
        Ok((Value::List(_), _)) => "array",
        Ok((Value::String(_), _)) => "string",
        Ok((Value::Bool(_), _)) => "bool",
        Ok(_) => "number",
    };
    let why =
        format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
    causes.push(Cause::invalid(&path, REDACTED, &why));
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::json;

    #[test]
    fn string_data_replaces_data() {
        let mut object = Value::from(
            json!({"data": {"a": "b25l", "b": "dHdv"}, "stringData": {"b": "three", "c": "four"}}),
        );
        Secret.default(Naming::Svc.names(), &mut object);
        assert_eq!(object, json!({"data": {"a": "b25l", "b": "dGhyZWU=", "c": "Zm91cg=="}}).into());
    }

    #[test]
    fn types_require_keys() {
        let check = |kind: &str, data: serde_json::Value, expect: &[&str]| {
            let object = json!({"type": kind, "data": data}).into();
            let causes = Secret.validate(Naming::Svc.names(), &object);
            assert_eq!(
                causes
                    .iter()
                    .map(|c| format!("{} {}", c.reason.as_str(), c.field))
                    .collect::<Vec<_>>(),
                expect,
                "{kind}"
            );
        };
        check("Opaque", json!({}), &[]);
        check("Opaque", json!({"a/b": ""}), &["FieldValueInvalid data[a/b]"]);
        check("svc.io/basic-auth", json!({"username": "dQ=="}), &[]);
        check(
            "svc.io/basic-auth",
            json!({}),
            &["FieldValueRequired data[username]", "FieldValueRequired data[password]"],
        );
        check("svc.io/tls", json!({"tls.crt": ""}), &["FieldValueRequired data[tls.key]"]);
        check("kubernetes.io/tls", json!({}), &[]);
        check("svc.io/dockerconfigjson", json!({".dockerconfigjson": "e30="}), &[]);
        check(
            "svc.io/dockerconfigjson",
            json!({".dockerconfigjson": "ew=="}),
            &["FieldValueInvalid data[.dockerconfigjson]"],
        );
        for wrong in ["W10=", "MQ==", "dHJ1ZQ==", "Ingi", "Ing="] {
            check(
                "svc.io/dockercfg",
                json!({".dockercfg": wrong}),
                &["FieldValueInvalid data[.dockercfg]"],
            );
        }
        check("svc.io/dockercfg", json!({".dockercfg": "bnVsbA=="}), &[]);
        check("svc.io/ssh-auth", json!({"ssh-privatekey": "eA=="}), &[]);
        for empty in [json!({}), json!({"ssh-privatekey": ""})] {
            check("svc.io/ssh-auth", empty, &["FieldValueRequired data[ssh-privatekey]"]);
        }
        check("svc.io/dockercfg", json!({}), &["FieldValueRequired data[.dockercfg]"]);
        let annotation = "metadata.annotations[svc.io/service-account.name]";
        check(
            "svc.io/service-account-token",
            json!({}),
            &[&format!("FieldValueRequired {annotation}")],
        );
    }

    #[test]
    fn the_type_stays() {
        let check = |old: &str, new: &str, expect: usize| {
            let (old, new) = (json!({"type": old}).into(), json!({"type": new}).into());
            assert_eq!(
                Secret.validate_update(Naming::Svc.names(), Part::Main, &old, &new).len(),
                expect
            );
        };
        check("a", "a", 0);
        check("a", "Opaque", 1);
    }
}
