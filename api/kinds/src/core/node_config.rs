//! NodeConfigSource: the retired dynamic configuration of kubelets. Nothing uses it; what is written
//! is checked all the same.

use quorate_meta::{Cause, name};

use super::data;
use crate::field::Field;
use crate::rules;

/// The fields of the identity of the ConfigMap, which are set in a status and not in a specification.
const IDENTITY: [&str; 2] = ["uid", "resourceVersion"];

/// Checks the source in a specification.
pub(super) fn check(source: &Field<'_>, causes: &mut Vec<Cause>) {
    check_source(source, causes, |map, field, causes| {
        let part = map.get(field);
        if !part.is_empty() {
            causes.push(part.forbidden(&format!("{field} must not be set in spec")));
        }
    });
}

/// Checks the sources in a status.
pub(super) fn check_status(config: &Field<'_>, causes: &mut Vec<Cause>) {
    for source in ["assigned", "active", "lastKnownGood"] {
        check_source(&config.get(source), causes, |map, field, causes| {
            let part = map.get(field);
            if part.is_empty() {
                causes.push(part.required(&format!("{field} must be set in status")));
            }
        });
    }
}

fn check_source(
    source: &Field<'_>,
    causes: &mut Vec<Cause>,
    identity: fn(&Field<'_>, &str, &mut Vec<Cause>),
) {
    if !source.is_set() {
        return;
    }
    let map = source.get("configMap");
    if !map.is_set() {
        causes.push(source.invalid("exactly one reference subfield must be non-nil"));
        return;
    }
    IDENTITY.iter().for_each(|field| identity(&map, field, causes));
    for (field, rule) in [
        ("namespace", name::dns_label as fn(&str) -> Vec<String>),
        ("name", name::dns_subdomain),
        ("kubeletConfigKey", data::key_problems),
    ] {
        let part = map.get(field);
        if part.is_empty() {
            causes.push(part.required(&format!("{field} must be set")));
        } else {
            rules::name(&part, rule, causes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::{Value as Json, json};

    fn map(more: Json) -> Json {
        let mut map = json!({"namespace": "n", "name": "m", "kubeletConfigKey": "k"});
        map.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "configMap": map })
    }

    #[test]
    fn sources() {
        let run = |source: Json, expect: &[&str]| {
            let (object, mut causes) = (Value::from(json!({ "c": source })), Vec::new());
            check(&Field::root(&object).get("c"), &mut causes);
            assert_eq!(shown(&causes), expect, "{object:?}");
        };
        run(json!(null), &[]);
        run(map(json!({})), &[]);
        run(json!({}), &["Invalid c"]);
        run(
            map(json!({"uid": "u", "resourceVersion": "1"})),
            &["Forbidden c.configMap.uid", "Forbidden c.configMap.resourceVersion"],
        );
        run(
            map(json!({"namespace": "", "name": "A", "kubeletConfigKey": "a/b"})),
            &[
                "Required c.configMap.namespace",
                "Invalid c.configMap.name",
                "Invalid c.configMap.kubeletConfigKey",
            ],
        );
    }

    #[test]
    fn sources_of_a_status() {
        let (known, unknown) = (map(json!({"uid": "u", "resourceVersion": "1"})), map(json!({})));
        let object = Value::from(json!({"c": {"assigned": known, "active": unknown}}));
        let mut causes = Vec::new();
        check_status(&Field::root(&object).get("c"), &mut causes);
        let at = |field: &str| format!("Required c.active.configMap.{field}");
        assert_eq!(shown(&causes), [at("uid"), at("resourceVersion")]);
    }
}
