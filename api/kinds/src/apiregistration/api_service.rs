//! APIService: which server serves a version of a group, this one or an extension API server behind
//! a Service.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_meta::{Cause, Map, Names, Time, Value, name, quoted};

use crate::field::Field;
use crate::rules;
use quorate_registry::{NameRule, Strategy};

const MAX_GROUP_PRIORITY: i64 = 20_000;
const MAX_VERSION_PRIORITY: i64 = 1000;

/// The strategy of APIService.
#[derive(Debug)]
pub(super) struct ApiService;

impl Strategy for ApiService {
    fn checks_structure(&self) -> bool {
        false
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn has_status(&self) -> bool {
        true
    }

    fn status_keeps_metadata(&self) -> bool {
        true
    }

    /// Marks a local API service as available.
    fn stamp(&self, _: &Names, old: Option<&Value>, new: &mut Value, now: Time) {
        if old.is_none() && new.at(&["spec", "service"]).is_none() {
            let condition = Map::from([
                ("type", "Available".to_owned()),
                ("status", "True".to_owned()),
                ("lastTransitionTime", now.seconds()),
                ("reason", "Local".to_owned()),
                ("message", "Local APIServices are always available".to_owned()),
            ]);
            new.set_at(&["status", "conditions"], Value::List(vec![condition.into()]));
        }
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let (own, spec) =
            (Field::root(object).get("metadata.name"), Field::root(object).get("spec"));
        let (group, version) = (spec.get("group"), spec.get("version"));
        let wanted = format!("{}.{}", version.text(), group.text());
        if own.text() != wanted {
            let why = format!("must be `spec.version+\".\"+spec.group`: {}", quoted(&wanted));
            causes.push(Cause::invalid(own.path(), own.text(), &why));
        }
        if group.is_empty() && version.text() != "v1" {
            let why = "only v1 may have an empty group and it better be legacy kube";
            causes.push(group.required(why));
        }
        rules::optional_name(&group, name::dns_subdomain, &mut causes);
        let wrong = name::dns_1035_label(version.text());
        causes.extend(wrong.iter().map(|why| Cause::invalid(version.path(), version.text(), why)));
        for (field, max) in [
            ("groupPriorityMinimum", MAX_GROUP_PRIORITY),
            ("versionPriority", MAX_VERSION_PRIORITY),
        ] {
            rules::between(
                &spec.get(field),
                1,
                max,
                &format!("must be positive and less than {max}"),
                &mut causes,
            );
        }
        check_service(&spec, &mut causes);
        causes
    }
}

fn check_service(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let (service, bundle, skip) =
        (spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify"));
    if !service.is_set() {
        if !bundle.is_empty() {
            let bytes = STANDARD.decode(bundle.text()).map_or(0, |bytes| bytes.len());
            causes.push(Cause::invalid(
                bundle.path(),
                format!("{bytes} bytes"),
                "local APIServices may not have a caBundle",
            ));
        }
        if skip.is_true() {
            causes.push(skip.invalid("local APIServices may not have insecureSkipTLSVerify"));
        }
        return;
    }
    for field in ["namespace", "name"] {
        rules::required(&service.get(field), causes);
    }
    let port = service.get("port");
    if port.is_set() {
        rules::between(
            &port,
            1,
            65535,
            "port is not valid: must be between 1 and 65535, inclusive",
            causes,
        );
    }
    if skip.is_true() && !bundle.is_empty() {
        causes.push(skip.invalid("may not be true if caBundle is present"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{patched, shown};
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    fn service() -> Json {
        let spec = json!({
            "group": "x.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "service": {"namespace": "n", "name": "s", "port": 443}, "insecureSkipTLSVerify": true
        });
        json!({"metadata": {"name": "v1.x.example.com"}, "spec": spec, "status": {}})
    }

    #[test]
    fn services() {
        let check = |pointer: &str, value: Json, expect: &[&str]| {
            let causes =
                ApiService.validate(Naming::Svc.names(), &patched(&service(), &[(pointer, value)]));
            assert_eq!(shown(&causes), expect, "{pointer}");
        };
        check("/spec/versionPriority", json!(1000), &[]);
        check("/metadata/name", json!("v2.x.example.com"), &["Invalid metadata.name"]);
        check("/spec/group", json!(""), &["Invalid metadata.name"]);
        let core = |version: &str, expect: &[&str]| {
            let changes = [
                ("/metadata/name", json!(format!("{version}."))),
                ("/spec/version", json!(version)),
                ("/spec/group", json!("")),
            ];
            let object = patched(&service(), &changes);
            assert_eq!(shown(&ApiService.validate(Naming::Svc.names(), &object)), expect);
        };
        core("v1", &[]);
        core("v2", &["Required spec.group"]);
        let local = [
            ("/spec/service", json!(null)),
            ("/spec/insecureSkipTLSVerify", json!(null)),
            ("/spec/caBundle", json!("QUJD")),
        ];
        let causes = ApiService.validate(Naming::Svc.names(), &patched(&service(), &local));
        let text =
            "spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle";
        assert_eq!(causes.iter().map(Cause::text).collect::<Vec<_>>(), [text]);
        check("/spec/version", json!("V 1"), &["Invalid metadata.name", "Invalid spec.version"]);
        for (field, high) in [("groupPriorityMinimum", 20_001), ("versionPriority", 1001)] {
            for value in [json!(null), json!(0), json!(high)] {
                check(&format!("/spec/{field}"), value, &[&format!("Invalid spec.{field}")]);
            }
        }
        check("/spec/service/name", json!(null), &["Required spec.service.name"]);
        check("/spec/service/namespace", json!(null), &["Required spec.service.namespace"]);
        check("/spec/service/port", json!(0), &["Invalid spec.service.port"]);
        check("/spec/caBundle", json!("QUJD"), &["Invalid spec.insecureSkipTLSVerify"]);
        check("/spec/service", json!(null), &["Invalid spec.insecureSkipTLSVerify"]);
    }

    #[test]
    fn what_is_local_is_available() {
        let check = |changes: &[(&str, Json)], expect: Json| {
            let mut object = patched(&service(), changes);
            ApiService.stamp(Naming::Svc.names(), None, &mut object, Time::from_ms(0));
            assert_eq!(object.get("status"), Some(&expect.into()));
        };
        check(&[], json!({}));
        let condition = json!({
            "type": "Available", "status": "True", "reason": "Local", "lastTransitionTime": "1970-01-01T00:00:00Z",
            "message": "Local APIServices are always available"
        });
        check(&[("/spec/service", json!(null))], json!({"conditions": [condition]}));
    }
}
