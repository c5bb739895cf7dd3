//! Warnings about Services: fields without effect, deprecated ones, and non-canonical addresses.

use quorate_meta::{Names, Value};

use crate::address_warnings;
use crate::core::service::fields as kind;
use crate::field::Field;

/// Warnings about a Service.
pub(super) fn of(names: &Names, service: &Value) -> Vec<String> {
    let root = Field::root(service);
    let (spec, headless) = (root.get("spec"), kind::address(service) == kind::HEADLESS);
    let mut warnings = Vec::new();
    let hints = format!("service.{}", names.domain_key("topology-aware-hints"));
    if root.get("metadata.annotations").value().get(&hints).is_some() {
        let mode = format!("service.{}", names.domain_key("topology-mode"));
        warnings.push(format!("annotation {hints} is deprecated, please use {mode} instead"));
    }
    if !headless {
        warnings.extend(
            spec.get("clusterIPs").items().filter_map(|own| address_warnings::of_address(&own)),
        );
    } else {
        warnings.extend(ignored_of_headless(&spec));
    }
    warnings.extend(
        spec.get("externalIPs").items().filter_map(|own| address_warnings::of_address(&own)),
    );
    warnings.extend(address_warnings::of_address(&spec.get("loadBalancerIP")));
    warnings.extend(
        spec.get("loadBalancerSourceRanges")
            .items()
            .flat_map(|range| address_warnings::of_range(&range)),
    );
    let elsewhere = kind::kind(service) == "ExternalName";
    if elsewhere && !spec.get("externalIPs").is_empty() {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !elsewhere && !spec.get("externalName").is_empty() {
        warnings
            .push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.get("trafficDistribution").text() == "PreferClose" {
        warnings.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
    warnings
}

fn ignored_of_headless(spec: &Field<'_>) -> Vec<String> {
    let affine = spec.get("sessionAffinity");
    let ignored = [
        ("loadBalancerIP", !spec.get("loadBalancerIP").is_empty()),
        ("externalIPs", !spec.get("externalIPs").is_empty()),
        ("SessionAffinity", affine.is_set() && affine.text() != "None"),
    ];
    let ignored = ignored.into_iter().filter(|(_, given)| *given);
    ignored.map(|(field, _)| format!("spec.{field} is ignored for headless services")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn ineffective_fields_have_warnings() {
        let check = |spec: Json, expect: usize| {
            let object = json!({"spec": spec}).into();
            assert_eq!(of(Naming::Svc.names(), &object).len(), expect);
        };
        check(json!({"type": "ClusterIP", "externalName": "x"}), 1);
        check(json!({"type": "ExternalName", "externalName": "x"}), 0);
        check(json!({"type": "ExternalName", "externalName": "x", "externalIPs": ["1.1.1.1"]}), 1);
        check(
            json!({"type": "ClusterIP", "clusterIP": "None", "sessionAffinity": "ClientIP", "externalIPs": ["x"]}),
            2,
        );
    }

    #[test]
    fn deprecated_fields_have_warnings() {
        let check = |object: Json, expect: &[&str]| {
            let found = of(Naming::Svc.names(), &object.into());
            let begins = found
                .iter()
                .map(|text| text.split(": ").next().unwrap_or_default())
                .collect::<Vec<_>>();
            assert_eq!(begins, expect);
        };
        check(
            json!({"metadata": {"annotations": {"service.svc.io/topology-aware-hints": "auto"}}}),
            &[
                "annotation service.svc.io/topology-aware-hints is deprecated, please use service.svc.io/topology-mode instead",
            ],
        );
        check(
            json!({"spec": {"trafficDistribution": "PreferClose"}}),
            &["spec.trafficDistribution"],
        );
        let spec = json!({"type": "LoadBalancer", "clusterIPs": ["010.1.1.1"], "externalIPs": ["1.1.1.1", "fd00:0::1"],
            "loadBalancerIP": "01.1.1.1", "loadBalancerSourceRanges": ["10.0.0.1/24"]});
        let fields = [
            "spec.clusterIPs[0]",
            "spec.externalIPs[1]",
            "spec.loadBalancerIP",
            "spec.loadBalancerSourceRanges[0]",
        ];
        check(json!({ "spec": spec }), &fields);
    }
}
