//! Container ports, and conflicts of host ports.

use std::collections::HashSet;

use quorate_meta::Cause;

use crate::field::Field;
use crate::rules;

/// Checks the ports of a container.
pub(super) fn check(ports: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut names = HashSet::new();
    for port in ports.items() {
        let name = port.get("name");
        if !name.is_empty() {
            let wrong = rules::port_name(name.text());
            if !names.insert(name.text()) && wrong.is_empty() {
                causes.push(name.duplicate());
            }
            causes.extend(name.invalid_for(&wrong));
        }
        let (own, host) = (port.get("containerPort"), port.get("hostPort"));
        if own.int().unwrap_or_default() == 0 {
            causes.push(own.required(""));
        } else {
            rules::port(&own, causes);
        }
        if host.int().unwrap_or_default() != 0 {
            rules::port(&host, causes);
        }
        rules::one_of(&port.get("protocol"), &rules::PROTOCOLS, causes);
    }
}

/// Checks that no two containers of a list have the same host port.
pub(super) fn check_host_conflicts(containers: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut taken: HashSet<String> = HashSet::new();
    for container in containers.items() {
        for port in container.get("ports").items() {
            let host = port.get("hostPort");
            let Some(number) = host.int().filter(|number| *number != 0) else {
                continue;
            };
            let wanted =
                format!("{}/{}/{number}", port.get("protocol").text(), port.get("hostIP").text());
            if taken.contains(&wanted) {
                causes.push(Cause::duplicate(host.path(), wanted.as_str()));
            }
            taken.insert(wanted);
        }
    }
}

/// Checks that host ports equal container ports with `hostNetwork`; a template may omit them.
pub(super) fn check_host_network(containers: &Field<'_>, template: bool, causes: &mut Vec<Cause>) {
    for container in containers.items() {
        for port in container.get("ports").items() {
            let (own, host) = (port.get("containerPort"), port.get("hostPort"));
            let given = host.int().unwrap_or_default();
            if Some(given) != own.int() && !(template && given == 0) {
                causes.push(Cause::invalid(
                    host.path(),
                    given,
                    "must match `containerPort` when `hostNetwork` is true",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn ports() {
        let check = |port: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"p": [port]}));
            let mut causes = Vec::new();
            check(&Field::root(&object).get("p"), &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"containerPort": 80, "protocol": "TCP", "name": "http"}), &[]);
        check(json!({"containerPort": 70000, "protocol": "TCP"}), &["Invalid p[0].containerPort"]);
        check(json!({"containerPort": 0, "protocol": "TCP"}), &["Required p[0].containerPort"]);
        check(json!({"containerPort": 1, "protocol": "ICMP"}), &["NotSupported p[0].protocol"]);
        check(
            json!({"containerPort": 1, "protocol": "UDP", "name": "Has_Upper"}),
            &["Invalid p[0].name"],
        );
        check(
            json!({"containerPort": 1, "hostPort": 65536, "protocol": "UDP"}),
            &["Invalid p[0].hostPort"],
        );
    }

    #[test]
    fn ports_of_the_host() {
        let port = |own: i64, host: i64| json!({"containerPort": own, "hostPort": host, "protocol": "TCP"});
        let object = Value::from(
            json!({"c": [{"ports": [port(1, 80)]}, {"ports": [port(2, 80), port(3, 0), port(4, 81)]}]}),
        );
        let containers = Field::root(&object).get("c");
        let mut causes = Vec::new();
        check_host_conflicts(&containers, &mut causes);
        assert_eq!(shown(&causes), ["Duplicate c[1].ports[0].hostPort"]);
        let count = |template: bool| {
            let mut causes = Vec::new();
            check_host_network(&containers, template, &mut causes);
            causes.len()
        };
        assert_eq!((count(false), count(true)), (4, 3));
    }
}
