//! PodStatus: addresses, conditions, and the states of containers.

use std::collections::HashSet;

use quorate_meta::{Cause, Map, Value, name};

use super::defaults::CONTAINERS;
use crate::field::Field;
use crate::rules;
use quorate_meta::net::{self, NOT_AN_ADDRESS};

/// Conditions without a qualified name.
const KNOWN_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
/// The status list of each of [`CONTAINERS`].
const STATUSES: [&str; 3] =
    ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// Aligns `podIP` and `podIPs`. `podIP` wins where they differ, for clients that know only it.
pub(super) fn align_addresses(status: &mut Map) {
    let one = status.get_str("podIP").unwrap_or_default().to_owned();
    let all = status.get("podIPs").and_then(Value::as_list).unwrap_or_default();
    let first = all.first().and_then(|first| first.str_at(&["ip"])).unwrap_or_default().to_owned();
    if one.is_empty() && !first.is_empty() {
        status.insert("podIP", first);
    } else if one != first {
        status.insert("podIPs", vec![Value::from([("ip", one)])]);
    }
}

/// Keeps the observed generations, of the status and of each condition, that a writer leaves out.
/// Of several conditions of one type each keeps its own, in order.
pub(super) fn keep_observed_generations(old: &Value, new: &mut Value) {
    const FIELD: &str = "observedGeneration";
    let unset = |value: &Value| value.get(FIELD).and_then(Value::as_i64).unwrap_or_default() == 0;
    let Some(status) = new.get_mut("status") else {
        return;
    };
    if let Some(known) = old.at(&["status", FIELD]).filter(|_| unset(status)) {
        status.set_at(&[FIELD], known.clone());
    }
    let before = old.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    let mut before: Vec<&Value> = before.iter().collect();
    for condition in status.get_mut("conditions").and_then(Value::as_list_mut).into_iter().flatten()
    {
        let of_type = |other: &&Value| other.get("type") == condition.get("type");
        let Some(at) = before.iter().position(of_type) else {
            continue;
        };
        if let Some(known) = before.remove(at).get(FIELD).filter(|_| unset(condition)) {
            condition.set_at(&[FIELD], known.clone());
        }
    }
}

/// Checks a change of the status.
pub(super) fn check_change(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (Field::root(old).get("status"), Field::root(new).get("status"));
    check_conditions(&after.get("conditions"), causes);
    rules::optional_name(&after.get("nominatedNodeName"), name::dns_subdomain, causes);
    let (had, has) = (before.get("qosClass"), after.get("qosClass"));
    if had.is_set() {
        rules::immutable(&had, &has, causes);
    }
    let spec = Field::root(old).get("spec");
    for (list, statuses) in CONTAINERS.iter().zip(STATUSES) {
        check_terminated(&spec, list, (&before.get(statuses), &after.get(statuses)), causes);
    }
    check_claims(&spec.get("resourceClaims"), &after.get("resourceClaimStatuses"), causes);
    check_addresses(&before.get("podIPs"), &after.get("podIPs"), causes);
    let (host, hosts) = (after.get("hostIP"), after.get("hostIPs"));
    if let Some(first) = hosts
        .items()
        .next()
        .map(|first| first.get("ip"))
        .filter(|first| first.text() != host.text())
    {
        causes.push(Cause::invalid(first.path(), first.text(), "must be equal to `hostIP`"));
    }
    check_addresses(&before.get("hostIPs"), &hosts, causes);
}

fn check_conditions(conditions: &Field<'_>, causes: &mut Vec<Cause>) {
    for condition in conditions.items() {
        let kind = condition.get("type").text();
        if !KNOWN_CONDITIONS.contains(&kind) {
            // Kubernetes reports this path with a capital letter.
            let path = condition.path().child("Type");
            causes.extend(
                name::qualified_name(kind).iter().map(|why| Cause::invalid(&path, kind, why)),
            );
        }
    }
}

/// Checks that a terminated container only runs again where it may restart.
fn check_terminated(
    spec: &Field<'_>,
    list: &str,
    (before, after): (&Field<'_>, &Field<'_>),
    causes: &mut Vec<Cause>,
) {
    let has_ended = |status: &Field<'_>| status.get("state.terminated").is_set();
    for status in before.items().filter(has_ended) {
        let own = status.get("name").text();
        let runs =
            after.items().any(|status| status.get("name").text() == own && !has_ended(&status));
        let code = status.get("state.terminated.exitCode").int().unwrap_or_default();
        let containers = spec.get(list);
        let container = containers.items().find(|container| container.get("name").text() == own);
        let restarts = list != "ephemeralContainers" && restarts(spec, container.as_ref(), code);
        if runs && !restarts {
            causes.push(
                status.get("state").forbidden("may not be transitioned to non-terminated state"),
            );
        }
    }
}

/// Whether a container restarts after this exit code: its restart rules come first, then its
/// restart policy, then that of the pod.
fn restarts(spec: &Field<'_>, container: Option<&Field<'_>>, code: i64) -> bool {
    let own = container
        .map(|container| container.get("restartPolicy"))
        .filter(|policy| !policy.is_empty());
    if let (Some(container), Some(_)) = (container, &own) {
        let matches = |rule: &Field<'_>| {
            let listed =
                rule.get("exitCodes.values").items().any(|value| value.int() == Some(code));
            match rule.get("exitCodes.operator").text() {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        };
        let rule = container
            .get("restartPolicyRules")
            .items()
            .find(matches)
            .map(|rule| rule.get("action").text());
        if rule == Some("Restart") {
            return true;
        }
    }
    match own.unwrap_or_else(|| spec.get("restartPolicy")).text() {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

/// Checks the names of generated resource claims.
fn check_claims(claims: &Field<'_>, statuses: &Field<'_>, causes: &mut Vec<Cause>) {
    let known: HashSet<&str> = claims.items().map(|claim| claim.get("name").text()).collect();
    let mut seen = HashSet::new();
    for status in statuses.items() {
        let (own, claim) = (status.get("name"), status.get("resourceClaimName"));
        if !known.contains(own.text()) {
            causes.push(own.invalid("must match the name of an entry in `spec.resourceClaims`"));
        }
        if !seen.insert(own.text()) {
            causes.push(own.duplicate());
        }
        if claim.is_set() {
            let wrong = name::dns_subdomain(claim.text());
            causes.extend(wrong.iter().map(|why| Cause::invalid(own.path(), claim.text(), why)));
        }
    }
}

/// Checks that there is at most one address of each IP family; unchanged addresses may stay.
fn check_addresses(before: &Field<'_>, after: &Field<'_>, causes: &mut Vec<Cause>) {
    let known: HashSet<&str> = before.items().map(|entry| entry.get("ip").text()).collect();
    let mut versions = Vec::new();
    for entry in after.items() {
        let text = entry.get("ip").text();
        let address = net::address(text);
        if address.is_none() && !known.contains(text) {
            causes.push(Cause::invalid(entry.path(), text, NOT_AN_ADDRESS));
        }
        versions.extend(address.map(|address| address.is_ipv4()));
    }
    let count = after.items().len();
    let differ = versions.len() == 2 && versions[0] != versions[1];
    if count > 2 || (count == 2 && !differ) {
        causes.push(after.invalid("may specify no more than one IP for each IP family"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use serde_json::{Value as Json, json};

    #[track_caller]
    fn check(spec: Json, old: Json, new: Json, expect: &[&str]) {
        let mut causes = Vec::new();
        let object = |status: Json| Value::from(json!({"spec": spec, "status": status}));
        check_change(&object(old), &object(new.clone()), &mut causes);
        assert_eq!(shown(&causes), expect, "{new}");
    }

    #[test]
    fn addresses() {
        let pod = |all: &[&str], expect: &[&str]| {
            let ips: Vec<Json> = all.iter().map(|ip| json!({"ip": ip})).collect();
            check(json!({}), json!({"podIPs": [{"ip": "old"}]}), json!({"podIPs": ips}), expect);
        };
        pod(&["10.0.0.1", "fd00::1"], &[]);
        pod(&["old"], &[]);
        pod(&["x"], &["Invalid status.podIPs[0]"]);
        pod(&["10.0.0.1", "10.0.0.2"], &["Invalid status.podIPs"]);
        pod(&["10.0.0.1", "fd00::1", "fd00::2"], &["Invalid status.podIPs"]);
        let host = |one: &str, expect: &[&str]| {
            check(
                json!({}),
                json!({}),
                json!({"hostIP": one, "hostIPs": [{"ip": "10.0.0.1"}]}),
                expect,
            );
        };
        host("10.0.0.1", &[]);
        host("10.0.0.2", &["Invalid status.hostIPs[0].ip"]);
    }

    #[test]
    fn pod_ip_wins() {
        let run = |status: Json, expect: Json| {
            let mut status = Value::from(status);
            align_addresses(status.as_map_mut().unwrap());
            assert_eq!(status, expect.into());
        };
        run(json!({}), json!({}));
        let both = |one: &str, first: &str| json!({"podIP": one, "podIPs": [{"ip": first}, {"ip": "fd00::1"}]});
        run(both("10.0.0.1", "10.0.0.1"), both("10.0.0.1", "10.0.0.1"));
        run(
            both("10.0.0.9", "10.0.0.1"),
            json!({"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}),
        );
        run(
            json!({"podIP": "10.0.0.9"}),
            json!({"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.9"}]}),
        );
        run(
            json!({"podIPs": [{"ip": "fd00::1"}]}),
            json!({"podIP": "fd00::1", "podIPs": [{"ip": "fd00::1"}]}),
        );
    }

    #[test]
    fn conditions_and_claims() {
        let spec = || json!({"resourceClaims": [{"name": "c"}]});
        let condition = |kind: &str, expect: &[&str]| {
            check(spec(), json!({}), json!({"conditions": [{"type": kind}]}), expect);
        };
        condition("Ready", &[]);
        condition("example.com/x", &[]);
        condition("a b", &["Invalid status.conditions[0].Type"]);
        let claims = |claims: Json, expect: &[&str]| {
            check(spec(), json!({}), json!({"resourceClaimStatuses": claims}), expect);
        };
        let (at, claim) = (
            "status.resourceClaimStatuses",
            |name: &str, claim: &str| json!({"name": name, "resourceClaimName": claim}),
        );
        claims(json!([claim("c", "x")]), &[]);
        claims(json!([claim("d", "x")]), &[&format!("Invalid {at}[0].name")]);
        claims(json!([claim("c", "A")]), &[&format!("Invalid {at}[0].name")]);
        claims(json!([claim("c", "x"), claim("c", "y")]), &[&format!("Duplicate {at}[1].name")]);
    }

    #[test]
    fn observed_generations_stay() {
        let run = |old: Json, new: Json, expect: Json| {
            let of = |status: Json| Value::from(json!({ "status": status }));
            let mut kept = of(new);
            keep_observed_generations(&of(old), &mut kept);
            assert_eq!(kept, of(expect));
        };
        let with = |generation: i64| json!({"observedGeneration": generation, "conditions": [{"type": "A", "observedGeneration": generation}]});
        run(with(3), json!({"conditions": [{"type": "A"}]}), with(3));
        run(with(3), with(4), with(4));
        run(
            with(3),
            json!({"conditions": [{"type": "B"}]}),
            json!({"observedGeneration": 3, "conditions": [{"type": "B"}]}),
        );
        run(json!({}), json!({}), json!({}));
    }

    #[test]
    fn terminated_containers() {
        let run = |spec: Json, list: &str, code: i64, expect: bool| {
            let of = |state: Json| json!({list: [{"name": "c", "state": state}]});
            let at = format!("Forbidden status.{list}[0].state");
            let expect = if expect { vec![] } else { vec![at.as_str()] };
            check(
                spec,
                of(json!({"terminated": {"exitCode": code}})),
                of(json!({"running": {}})),
                &expect,
            );
        };
        let pod = |policy: &str| json!({"restartPolicy": policy, "containers": [{"name": "c"}]});
        run(pod("Always"), "containerStatuses", 0, true);
        run(pod("Never"), "containerStatuses", 1, false);
        run(pod("OnFailure"), "containerStatuses", 1, true);
        run(pod("OnFailure"), "containerStatuses", 0, false);
        run(pod("Always"), "ephemeralContainerStatuses", 0, false);
        let beside = json!({"restartPolicy": "Never", "initContainers": [{"name": "c", "restartPolicy": "Always"}]});
        run(beside, "initContainerStatuses", 0, true);
        let rule = json!({"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}});
        let ruled = json!({"containers": [{"name": "c", "restartPolicy": "Never", "restartPolicyRules": [rule]}]});
        run(ruled.clone(), "containerStatuses", 42, true);
        run(ruled, "containerStatuses", 1, false);
    }
}
