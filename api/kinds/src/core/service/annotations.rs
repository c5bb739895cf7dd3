//! Annotations of Services that predate fields.

use quorate_meta::{Cause, Names, Path, Value};

use crate::core::service::fields as kind;
use quorate_meta::net::{NOT_A_RANGE, Range};

/// Checks these annotations.
pub(super) fn check(names: &Names, service: &Value, causes: &mut Vec<Cause>) {
    let of = |name: &str| {
        let key = format!("service.{}", names.domain_key(name));
        let text = service.str_at(&["metadata", "annotations", &key]);
        (key, text)
    };
    let ((hints, hinted), (mode, chosen)) = (of("topology-aware-hints"), of("topology-mode"));
    if let (Some(hinted), Some(chosen)) = (hinted, chosen)
        && hinted != chosen
    {
        let why = format!("must match annotations[{hints}] when both are specified");
        causes.push(Cause::invalid(at(&mode), chosen, &why));
    }
    let key = format!("service.beta.{}", names.domain_key("load-balancer-source-ranges"));
    let ranges = service.str_at(&["metadata", "annotations", &key]);
    let by_field =
        service.at(&["spec", "loadBalancerSourceRanges"]).is_some_and(|ranges| !ranges.is_empty());
    if let Some(ranges) = ranges.filter(|_| !by_field) {
        check_ranges(&at(&key), ranges, kind::kind(service) == "LoadBalancer", causes);
    }
}

fn at(key: &str) -> Path {
    Path::new("metadata.annotations").key(key)
}

/// Checks the source ranges of a load balancer, separated by commas.
fn check_ranges(path: &Path, ranges: &str, balanced: bool, causes: &mut Vec<Cause>) {
    if !balanced {
        causes.push(Cause::forbidden(path, "may only be used when `type` is 'LoadBalancer'"));
    }
    let all = ranges.trim().split(',').map(str::trim);
    let wrong = all.filter(|range| !ranges.trim().is_empty() && Range::parse(range).is_none());
    causes.extend(wrong.map(|range| Cause::invalid(path, range, NOT_A_RANGE)));
}

#[cfg(test)]
mod tests {
    use super::check as wrong_annotations;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn annotations() {
        let check = |kind: &str, annotations: Json, expect: &[&str]| {
            let object =
                json!({"metadata": {"annotations": annotations}, "spec": {"type": kind}}).into();
            let mut causes = Vec::new();
            wrong_annotations(Naming::Svc.names(), &object, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let topology = |hints: &str, mode: &str| json!({"service.svc.io/topology-aware-hints": hints, "service.svc.io/topology-mode": mode});
        check("ClusterIP", topology("auto", "auto"), &[]);
        let mode = "Invalid metadata.annotations[service.svc.io/topology-mode]";
        check("ClusterIP", topology("auto", "disabled"), &[mode]);
        let ranges = |text: &str| json!({"service.beta.svc.io/load-balancer-source-ranges": text});
        let key = "metadata.annotations[service.beta.svc.io/load-balancer-source-ranges]";
        check("LoadBalancer", ranges(" 10.0.0.0/8, 1.2.3.4/32 "), &[]);
        check("LoadBalancer", ranges(" "), &[]);
        check("LoadBalancer", ranges("10.0.0.0/8,x"), &[&format!("Invalid {key}")]);
        check("ClusterIP", ranges("10.0.0.0/8"), &[&format!("Forbidden {key}")]);
    }
}
