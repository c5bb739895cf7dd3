//! Warnings about container ports of a pod that are the same or overlap, whichever containers have
//! them.

use std::collections::HashMap;

use quorate_meta::{Path, quoted};

use crate::core::pod::defaults::CONTAINERS;
use crate::field::Field;

/// Where a port is defined.
struct Defined<'v> {
    path: Path,
    host: i64,
    address: &'v str,
}

/// Warnings about all ports of a specification, and then about all of their names.
pub(super) fn of_ports(spec: &Field<'_>, warnings: &mut Vec<String>) {
    let lists = CONTAINERS.map(|list| spec.get(list));
    let containers: Vec<_> = lists.iter().flat_map(Field::items).collect();
    let ports: Vec<_> = containers.iter().map(|container| container.get("ports")).collect();
    let ports: Vec<Field<'_>> = ports.iter().flat_map(Field::items).collect();
    let mut defined: HashMap<(i64, &str), Vec<Defined<'_>>> = HashMap::new();
    for port in &ports {
        let number = |field: &str| port.get(field).int().unwrap_or_default();
        let (own, protocol) = (number("containerPort"), port.get("protocol").text());
        let new = Defined {
            path: port.path().clone(),
            host: number("hostPort"),
            address: port.get("hostIP").text(),
        };
        if !new.address.is_empty() && new.host == 0 {
            warnings.push(format!("{}: hostIP set without hostPort: {}", new.path, shown(port)));
        }
        let others = defined.entry((own, protocol)).or_default();
        for other in others.iter() {
            let how = clash(&new, other).map(|how| (how, &other.path));
            warnings.extend(
                how.map(|(how, with)| format!("{}: {how} port definition with {with}", new.path)),
            );
        }
        others.push(new);
    }
    of_names(&ports, warnings);
}

/// How two definitions of a port with the same number and protocol clash.
fn clash(new: &Defined<'_>, other: &Defined<'_>) -> Option<&'static str> {
    if new.address == other.address && new.host == other.host {
        Some("duplicate")
    } else if new.host == 0 || other.host == 0 {
        Some("overlapping")
    } else if new.host == other.host && new.address.is_empty() != other.address.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

fn of_names(ports: &[Field<'_>], warnings: &mut Vec<String>) {
    let mut first: HashMap<&str, &Path> = HashMap::new();
    for port in ports {
        let name = port.get("name").text();
        if name.is_empty() {
            continue;
        }
        if let Some(other) = first.get(name) {
            let why = "services and probes that select ports by name will use";
            let (path, name) = (port.path(), quoted(name));
            warnings
                .push(format!("{path}: duplicate port name {name} with {other}, {why} {other}"));
        } else {
            first.insert(name, port.path());
        }
    }
}

/// A port as a warning shows it.
fn shown(port: &Field<'_>) -> String {
    let (text, number) =
        (|field: &str| port.get(field).text(), |field: &str| port.get(field).int().unwrap_or(0));
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        text("name"),
        number("hostPort"),
        number("containerPort"),
        text("protocol"),
        text("hostIP")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::Value;
    use serde_json::{Value as Json, json};

    fn port(host: i64, address: &str) -> Json {
        json!({"containerPort": 80, "protocol": "TCP", "hostPort": host, "hostIP": address})
    }

    #[track_caller]
    fn check(first: Json, second: Json, expect: &[&str]) {
        let spec =
            json!({"initContainers": [{"ports": [first]}], "containers": [{"ports": [second]}]});
        let (object, mut warnings) = (Value::from(json!({ "spec": spec })), Vec::new());
        of_ports(&Field::root(&object).get("spec"), &mut warnings);
        assert_eq!(warnings, expect);
    }

    #[test]
    fn ports_of_all_containers() {
        let with = |how: &str| {
            let other = "spec.initContainers[0].ports[0]";
            format!("spec.containers[0].ports[0]: {how} port definition with {other}")
        };
        check(port(0, ""), port(0, ""), &[&with("duplicate")]);
        check(port(1, ""), port(0, ""), &[&with("overlapping")]);
        check(port(1, "1.1.1.1"), port(1, ""), &[&with("dangerously ambiguous")]);
        check(port(1, "1.1.1.1"), port(1, "1.1.1.2"), &[]);
        check(port(1, ""), port(2, ""), &[]);
        let mut other = port(0, "");
        other["protocol"] = "UDP".into();
        check(port(0, ""), other, &[]);
    }

    #[test]
    fn names_and_addresses() {
        let named = |number: i64| json!({"name": "a", "containerPort": number, "protocol": "TCP"});
        let other = "spec.initContainers[0].ports[0]";
        let why = format!("services and probes that select ports by name will use {other}");
        let warning =
            format!("spec.containers[0].ports[0]: duplicate port name \"a\" with {other}, {why}");
        check(named(1), named(2), &[&warning]);
        let shown = "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.1.1.1}";
        let warning = format!("{other}: hostIP set without hostPort: {shown}");
        check(port(0, "1.1.1.1"), json!({}), &[&warning]);
    }
}
