//! NetworkPolicy: the ingress and egress traffic of pods.

use quorate_meta::{Cause, Names, Value};

use crate::field::Field;
use crate::{address_warnings, rules};
use quorate_meta::net::{NOT_A_RANGE, Range};
use quorate_registry::Strategy;

/// The strategy of NetworkPolicy.
#[derive(Debug)]
pub(super) struct NetworkPolicy;

impl Strategy for NetworkPolicy {
    fn checks_structure(&self) -> bool {
        false
    }

    fn counts_generations(&self) -> bool {
        true
    }

    fn default(&self, _: &Names, object: &mut Value) {
        let empty = |field| object.at(&["spec", field]).is_none_or(Value::is_empty);
        if empty("policyTypes") {
            let mut types = vec![Value::from("Ingress")];
            if !empty("egress") {
                types.push("Egress".into());
            }
            object.set_at(&["spec", "policyTypes"], Value::List(types));
        }
    }

    fn warnings(&self, _: &Names, _: Option<&Value>, new: &Value) -> Vec<String> {
        let spec = Field::root(new).get("spec");
        let mut warnings = Vec::new();
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for rule in spec.get(direction).items() {
                for block in rule.get(peers).items().map(|peer| peer.get("ipBlock")) {
                    warnings.extend(address_warnings::of_range(&block.get("cidr")));
                    warnings.extend(
                        block
                            .get("except")
                            .items()
                            .flat_map(|range| address_warnings::of_range(&range)),
                    );
                }
            }
        }
        warnings
    }

    fn validate(&self, _: &Names, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        let spec = Field::root(object).get("spec");
        rules::selector(&spec.get("podSelector"), &mut causes);
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            for rule in spec.get(direction).items() {
                rule.get("ports").items().for_each(|port| check_port(&port, &mut causes));
                rule.get(peers).items().for_each(|peer| check_peer(&peer, &mut causes));
            }
        }
        let types = spec.get("policyTypes");
        if types.items().len() > 2 {
            causes.push(types.invalid("may not specify more than two policyTypes"));
        } else {
            types.items().for_each(|one| rules::one_of(&one, &["Ingress", "Egress"], &mut causes));
        }
        causes
    }
}

fn check_port(entry: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::optional_one_of(&entry.get("protocol"), &rules::PROTOCOLS, causes);
    let (port, end) = (entry.get("port"), entry.get("endPort"));
    if port.is_set() {
        rules::port_or_name(&port, causes);
    }
    match (port.value(), end.int()) {
        (_, None) => {}
        (Value::Null, _) => {
            causes.push(end.invalid("may not be specified when `port` is not specified"))
        }
        (Value::String(_), _) => {
            causes.push(end.invalid("may not be specified when `port` is non-numeric"))
        }
        (_, Some(last)) if port.int().is_some_and(|first| last < first) => {
            causes.push(end.invalid("must be greater than or equal to `port`"));
        }
        _ => rules::port(&end, causes),
    }
}

fn check_peer(peer: &Field<'_>, causes: &mut Vec<Cause>) {
    let selectors = [peer.get("podSelector"), peer.get("namespaceSelector")];
    for selector in &selectors {
        rules::selector(selector, causes);
    }
    let (selected, block) = (selectors.iter().any(Field::is_set), peer.get("ipBlock"));
    if block.is_set() {
        check_block(&block, causes);
    }
    match (selected, block.is_set()) {
        (false, false) => causes.push(peer.required("must specify a peer")),
        (true, true) => {
            causes.push(peer.forbidden("may not specify both ipBlock and another peer"))
        }
        _ => {}
    }
}

fn check_block(block: &Field<'_>, causes: &mut Vec<Cause>) {
    let cidr = block.get("cidr");
    if cidr.is_empty() {
        causes.push(cidr.required(""));
        return;
    }
    let Some(range) = Range::parse(cidr.text()) else {
        causes.push(cidr.invalid(NOT_A_RANGE));
        return;
    };
    for except in block.get("except").items() {
        match Range::parse(except.text()) {
            None => causes.push(except.invalid(NOT_A_RANGE)),
            Some(inner) if inner == range || !range.covers(&inner) => {
                causes.push(except.invalid("must be a strict subset of `cidr`"));
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Naming;
    use serde_json::{Value as Json, json};

    #[test]
    fn the_types_follow_the_rules() {
        let check = |spec: Json, expect: Json| {
            let mut object = Value::from(json!({"spec": spec}));
            NetworkPolicy.default(Naming::Svc.names(), &mut object);
            assert_eq!(object.at(&["spec", "policyTypes"]), Some(&expect.into()));
        };
        check(json!({}), json!(["Ingress"]));
        check(json!({"egress": [{}]}), json!(["Ingress", "Egress"]));
        check(json!({"policyTypes": ["Egress"]}), json!(["Egress"]));
    }

    #[track_caller]
    fn check(spec: Json, expect: &[&str]) {
        let causes = NetworkPolicy.validate(Naming::Svc.names(), &json!({"spec": spec}).into());
        assert_eq!(shown(&causes), expect);
    }

    #[test]
    fn specs() {
        check(json!({}), &[]);
        check(
            json!({"podSelector": {"matchLabels": {"a b": "c"}}}),
            &["Invalid spec.podSelector.matchLabels"],
        );
        check(json!({"policyTypes": ["Both"]}), &["NotSupported spec.policyTypes[0]"]);
        check(
            json!({"policyTypes": ["Ingress", "Egress", "Ingress"]}),
            &["Invalid spec.policyTypes"],
        );
    }

    #[test]
    fn peers() {
        let peer =
            |peer: Json, expect: &[&str]| check(json!({"ingress": [{"from": [peer]}]}), expect);
        peer(json!({"podSelector": {}, "namespaceSelector": {}}), &[]);
        peer(json!({}), &["Required spec.ingress[0].from[0]"]);
        peer(
            json!({"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}),
            &["Forbidden spec.ingress[0].from[0]"],
        );
        peer(json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}), &[]);
        peer(json!({"ipBlock": {}}), &["Required spec.ingress[0].from[0].ipBlock.cidr"]);
        peer(json!({"ipBlock": {"cidr": "x"}}), &["Invalid spec.ingress[0].from[0].ipBlock.cidr"]);
        for except in ["11.0.0.0/16", "10.0.0.0/8", "x"] {
            let block = json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": [except]}});
            check(
                json!({"egress": [{"to": [block]}]}),
                &["Invalid spec.egress[0].to[0].ipBlock.except[0]"],
            );
        }
    }

    #[test]
    fn ports() {
        let port =
            |port: Json, expect: &[&str]| check(json!({"ingress": [{"ports": [port]}]}), expect);
        port(json!({}), &[]);
        port(json!({"port": 1000, "endPort": 2000, "protocol": "SCTP"}), &[]);
        port(json!({"protocol": "ICMP"}), &["NotSupported spec.ingress[0].ports[0].protocol"]);
        for bad in [json!("A_b"), json!(70000)] {
            port(json!({"port": bad}), &["Invalid spec.ingress[0].ports[0].port"]);
        }
        for bad in [
            json!({"port": 5, "endPort": 4}),
            json!({"endPort": 4}),
            json!({"port": "x", "endPort": 4}),
            json!({"port": 5, "endPort": 70000}),
        ] {
            port(bad, &["Invalid spec.ingress[0].ports[0].endPort"]);
        }
    }
}
