//! Service: a name, cluster IPs and ports for a set of endpoints.
//!
//! Checks are in `validation`, allocation is in `allocation`. Endpoints are written by controllers.

mod addresses;
mod allocation;
mod annotations;
mod fields;
mod ranges;
mod update;
mod validation;
mod warnings;

use quorate_meta::{Cause, Map, Names, Value};

use crate::core::service::allocation::ServiceAllocator;
use crate::core::service::fields as kind;
use quorate_registry::allocation::Allocator;
use quorate_registry::strategy::status;
use quorate_registry::{NameRule, Part, Strategy};

/// The default timeout of `ClientIP` session affinity, in seconds.
const AFFINITY_SECONDS: i64 = 10_800;

/// The strategy of Service.
#[derive(Debug)]
pub(super) struct Service;

impl Strategy for Service {
    fn checks_structure(&self) -> bool {
        false
    }

    fn name_rule(&self) -> NameRule {
        NameRule::HostName
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        default_affinity(object);
        let (addressable, external, kind) =
            (kind::needs_address(object), kind::is_external(object), kind::kind(object));
        let balanced = kind == "LoadBalancer";
        let Some(spec) = object.get_mut("spec") else {
            return;
        };
        let mut fill = |field: &str, wanted: bool, value: Value| {
            if wanted && spec.get(field).is_none_or(Value::is_empty) {
                spec.set_at(&[field], value);
            }
        };
        fill("externalTrafficPolicy", external, "Cluster".into());
        fill("internalTrafficPolicy", addressable, "Cluster".into());
        fill("allocateLoadBalancerNodePorts", balanced, true.into());
        for port in spec.get_mut("ports").and_then(Value::as_list_mut).into_iter().flatten() {
            let target = port.get("targetPort");
            if target.is_none_or(|target| target.is_empty() || target.as_i64() == Some(0)) {
                let same = port.get("port").cloned().unwrap_or_else(|| 0.into());
                port.set_at(&["targetPort"], same);
            }
        }
        let ingress =
            object.at_mut(&["status", "loadBalancer", "ingress"]).and_then(Value::as_list_mut);
        for entry in ingress.into_iter().flatten().filter(|_| balanced) {
            if entry.get("ipMode").is_none() && entry.get("ip").is_some_and(|ip| !ip.is_empty()) {
                entry.set_at(&["ipMode"], "VIP");
            }
        }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn prepare_create(&self, _: &Names, object: &mut Value) {
        object.set_at(&["status"], Map::from([("loadBalancer", Map::new())]));
        let address = kind::address(object).to_owned();
        if !address.is_empty() && update::is_empty(object, "clusterIPs") {
            object.set_at(&["spec", "clusterIPs"], Value::List(vec![address.into()]));
        }
    }

    fn prepare_update(&self, _: &Names, part: Part, old: &Value, new: &mut Value) {
        status::restore(part, old, new);
        if part == Part::Main {
            update::prepare(old, new);
        }
    }

    fn validate(&self, names: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = validation::check(object);
        annotations::check(names, object, &mut causes);
        causes
    }

    fn validate_update(&self, _: &Names, part: Part, old: &Value, new: &Value) -> Vec<Cause> {
        if part == Part::Main { validation::check_change(old, new) } else { Vec::new() }
    }

    fn warnings(&self, names: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        warnings::of(names, new)
    }

    fn allocator(&self) -> Option<&dyn Allocator> {
        Some(&ServiceAllocator)
    }
}

fn default_affinity(object: &mut Value) {
    const SECONDS: [&str; 3] = ["sessionAffinityConfig", "clientIP", "timeoutSeconds"];
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    match spec.str_at(&["sessionAffinity"]) {
        Some("ClientIP") if spec.at(&SECONDS).is_none_or(Value::is_null) => {
            spec.set_at(
                &["sessionAffinityConfig"],
                Map::from([("clientIP", Map::from([("timeoutSeconds", AFFINITY_SECONDS)]))]),
            );
        }
        Some("None") => drop(spec.remove_at(&["sessionAffinityConfig"])),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn defaults_follow_the_type() {
        let check = |spec: Json, expect: Json| {
            let mut object = json!({"spec": spec}).into();
            Service.default(Naming::Svc.names(), &mut object);
            assert_eq!(object, json!({"spec": expect}).into());
        };
        check(
            json!({"type": "ClusterIP"}),
            json!({"type": "ClusterIP", "internalTrafficPolicy": "Cluster"}),
        );
        let outside = json!({"type": "ClusterIP", "externalIPs": ["192.0.2.1"], "externalTrafficPolicy": "Cluster", "internalTrafficPolicy": "Cluster"});
        check(json!({"type": "ClusterIP", "externalIPs": ["192.0.2.1"]}), outside);
        let balanced = json!({
            "type": "LoadBalancer", "externalTrafficPolicy": "Local", "internalTrafficPolicy": "Cluster",
            "allocateLoadBalancerNodePorts": true
        });
        check(json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}), balanced);
        check(json!({"type": "ExternalName"}), json!({"type": "ExternalName"}));
        let ports = |target: Json| json!({"type": "ExternalName", "ports": [{"port": 80, "targetPort": target}]});
        check(ports(json!(0)), ports(json!(80)));
        check(ports(json!("")), ports(json!(80)));
        check(ports(json!("http")), ports(json!("http")));
        let affine = json!({"type": "ExternalName", "sessionAffinity": "ClientIP"});
        let config = json!({"clientIP": {"timeoutSeconds": 10_800}});
        check(
            affine.clone(),
            json!({"type": "ExternalName", "sessionAffinity": "ClientIP", "sessionAffinityConfig": config}),
        );
        check(
            json!({"type": "ExternalName", "sessionAffinity": "None", "sessionAffinityConfig": config}),
            json!({"type": "ExternalName", "sessionAffinity": "None"}),
        );
    }
}
