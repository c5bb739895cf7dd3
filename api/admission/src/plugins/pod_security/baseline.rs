//! Baseline checks of the Pod Security Standards, except the profiles of [`super::profiles`].
//!
//! Invariant: a check reports everything that is wrong in one text, with containers in the pod's
//! order and values sorted.
//!
//! Not here: which version of the standard has which check ([`super::checks`]).

use quorate_meta::Value;

use super::checks::Violation;
use super::pod::{Found, Pod, context, field, flag, items, listed, name, plural, who};

/// The default capabilities, which every container has unless it drops them.
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// Safe sysctls, which affect only the pod, in the order in which releases allowed them.
const SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];
/// The probes and lifecycle handlers of a container that the kubelet may run over the network.
const HANDLERS: [&[&str]; 5] = [
    &["livenessProbe"],
    &["readinessProbe"],
    &["startupProbe"],
    &["lifecycle", "postStart"],
    &["lifecycle", "preStop"],
];

pub(super) fn capabilities(pod: &Pod<'_>) -> Option<Violation> {
    let detail = capabilities_beyond(pod, &CAPABILITIES)?;
    Some(Violation { reason: "non-default capabilities", detail })
}

/// The containers that add capabilities besides the allowed ones, in words.
pub(super) fn capabilities_beyond(pod: &Pod<'_>, allowed: &[&str]) -> Option<String> {
    let found = Found::in_containers(pod, |container| {
        let added = context(container, &["capabilities"])
            .map(|lists| items(lists, &["add"]))
            .unwrap_or_default();
        added.iter().filter_map(Value::as_str).filter(|name| !allowed.contains(name)).collect()
    });
    let who = found.who();
    if who.is_empty() {
        return None;
    }
    Some(format!(
        "{who} must not include {} in securityContext.capabilities.add",
        listed(found.what)
    ))
}

pub(super) fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared = shared.filter(|field| pod.spec.get(field).and_then(Value::as_bool) == Some(true));
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    (!shared.is_empty()).then(|| Violation { reason: "host namespaces", detail: shared.join(", ") })
}

pub(super) fn host_paths(pod: &Pod<'_>) -> Option<Violation> {
    let volumes = items(pod.spec, &["volumes"])
        .iter()
        .filter(|volume| field(volume, &["hostPath"]).is_some());
    let volumes: Vec<&str> = volumes.map(name).collect();
    if volumes.is_empty() {
        return None;
    }
    let which = plural(volumes.len(), "volume", "volumes");
    Some(Violation { reason: "hostPath volumes", detail: format!("{which} {}", listed(volumes)) })
}

pub(super) fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    let found = Found::in_containers(pod, |container| {
        let ports =
            items(container, &["ports"]).iter().filter_map(|port| port.get("hostPort")?.as_i64());
        ports.filter(|port| *port != 0).map(|port| port.to_string()).collect()
    });
    let uses = plural(found.containers.len(), "uses", "use");
    let ports: Vec<&str> = found.what.iter().map(String::as_str).collect();
    let which = plural(ports.len(), "hostPort", "hostPorts");
    Violation::by(&found.who(), "hostPort", &format!("{uses} {which} {}", ports.join(", ")))
}

pub(super) fn handler_hosts(pod: &Pod<'_>) -> Option<Violation> {
    let mut found = Found::in_containers(pod, hosts);
    found.containers.sort_unstable();
    let who = found.who();
    let uses = plural(found.containers.len(), "uses", "use");
    let which = plural(found.what.len(), "probe or lifecycle host", "probe or lifecycle hosts");
    Violation::by(
        &who,
        "probe or lifecycle host",
        &format!("{uses} {which} {}", listed(found.what)),
    )
}

/// The hosts that probes and lifecycle handlers name in place of the pod.
fn hosts(container: &Value) -> Vec<&str> {
    let handlers = HANDLERS.into_iter().filter_map(|path| field(container, path));
    let hosts = handlers.flat_map(|handler| {
        ["httpGet", "tcpSocket"].map(|action| handler.str_at(&[action, "host"]))
    });
    hosts.flatten().filter(|host| !host.is_empty()).collect()
}

pub(super) fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let found = pod.containers_that(|container| flag(container, &["privileged"]) == Some(true));
    Violation::by(&who(false, &found), "privileged", "must not set securityContext.privileged=true")
}

pub(super) fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    let found = Found::in_containers(pod, |container| {
        let kind = context(container, &["procMount"]).and_then(Value::as_str);
        kind.filter(|kind| *kind != "Default").into_iter().collect()
    });
    let who = found.who();
    Violation::by(
        &who,
        "procMount",
        &format!("must not set securityContext.procMount to {}", listed(found.what)),
    )
}

pub(super) fn sysctls_1_0(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SYSCTLS[..5])
}

pub(super) fn sysctls_1_27(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SYSCTLS[..6])
}

pub(super) fn sysctls_1_29(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SYSCTLS[..10])
}

pub(super) fn sysctls_1_32(pod: &Pod<'_>) -> Option<Violation> {
    sysctls(pod, &SYSCTLS)
}

fn sysctls(pod: &Pod<'_>, safe: &[&str]) -> Option<Violation> {
    let all = items(pod.spec, &["securityContext", "sysctls"]).iter().map(name);
    let wrong: Vec<&str> = all.filter(|name| !safe.contains(name)).collect();
    (!wrong.is_empty()).then(|| Violation { reason: "forbidden sysctls", detail: wrong.join(", ") })
}

pub(super) fn host_process(pod: &Pod<'_>) -> Option<Violation> {
    let is_one = |owner: &Value| flag(owner, &["windowsOptions", "hostProcess"]) == Some(true);
    let found = who(is_one(pod.spec), &pod.containers_that(is_one));
    Violation::by(
        &found,
        "hostProcess",
        "must not set securityContext.windowsOptions.hostProcess=true",
    )
}

#[cfg(test)]
mod tests {
    use super::super::pod::testing::check;
    use super::*;
    use serde_json::{Value as Json, json};

    /// A pod of containers by name, each with further fields.
    fn containers(list: &[(&str, Json)]) -> Json {
        let with_name = |(name, fields): &(&str, Json)| {
            let mut container = fields.clone();
            container["name"] = json!(name);
            container
        };
        json!({"containers": list.iter().map(with_name).collect::<Vec<_>>()})
    }

    /// A pod of containers by name, each with a security context.
    fn contexts(list: &[(&str, Json)]) -> Json {
        let list = list.iter().map(|(name, context)| (*name, json!({"securityContext": context})));
        containers(&list.collect::<Vec<_>>())
    }

    #[test]
    fn capabilities_that_are_added() {
        let add = |names: Json| json!({"capabilities": {"add": names, "drop": ["NET_RAW"]}});
        check(capabilities, json!({"containers": [{"name": "a"}]}), "", "");
        check(
            capabilities,
            contexts(&[("a", add(json!(["CHOWN", "KILL"]))), ("b", add(json!(null)))]),
            "",
            "",
        );
        let bad = [
            ("a", add(json!(["FOO", "BAR", "CHOWN"]))),
            ("b", add(json!(["BAR", "BAZ"]))),
            ("c", json!(null)),
        ];
        let expect = r#"containers "a", "b" must not include "BAR", "BAZ", "FOO" in securityContext.capabilities.add"#;
        check(capabilities, contexts(&bad), "non-default capabilities", expect);
        check(
            capabilities,
            contexts(&[("a", add(json!(["ALL"])))]),
            "non-default capabilities",
            r#"container "a" must not include "ALL" in securityContext.capabilities.add"#,
        );
    }

    #[test]
    fn parts_of_the_host() {
        check(host_namespaces, json!({"hostNetwork": false, "hostPID": null}), "", "");
        let all = json!({"hostNetwork": true, "hostIPC": true, "hostPID": true});
        check(
            host_namespaces,
            all,
            "host namespaces",
            "hostNetwork=true, hostPID=true, hostIPC=true",
        );
        let volumes = |list: Json| json!({"volumes": list});
        check(host_paths, volumes(json!([{"name": "a", "emptyDir": {}}])), "", "");
        let one = json!([{"name": "a", "hostPath": {"path": "/"}}]);
        check(host_paths, volumes(one), "hostPath volumes", r#"volume "a""#);
        let two = json!([{"name": "b", "hostPath": {}}, {"name": "c", "secret": {}}, {"name": "a", "hostPath": {}}]);
        check(host_paths, volumes(two), "hostPath volumes", r#"volumes "b", "a""#);
    }

    #[test]
    fn ports_of_the_host() {
        let ports = |list: &[i64]| {
            let ports = list
                .iter()
                .map(|port| json!({"containerPort": 80, "hostPort": port}))
                .collect::<Vec<_>>();
            json!({"ports": ports})
        };
        check(
            host_ports,
            containers(&[("a", json!({"ports": [{"containerPort": 80}]})), ("b", ports(&[0]))]),
            "",
            "",
        );
        check(
            host_ports,
            containers(&[("a", ports(&[0, 20]))]),
            "hostPort",
            r#"container "a" uses hostPort 20"#,
        );
        let many = containers(&[("b", ports(&[9, 10])), ("a", ports(&[10, 30]))]);
        check(host_ports, many, "hostPort", r#"containers "b", "a" use hostPorts 10, 30, 9"#);
    }

    #[test]
    fn hosts_of_handlers() {
        let reason = "probe or lifecycle host";
        let probe = |host: &str| json!({"livenessProbe": {"httpGet": {"host": host, "port": 80}}});
        check(
            handler_hosts,
            containers(&[("a", probe("")), ("b", json!({"livenessProbe": {"exec": {}}}))]),
            "",
            "",
        );
        let expect = r#"container "a" uses probe or lifecycle host "h""#;
        check(handler_hosts, containers(&[("a", probe("h"))]), reason, expect);
        for fields in [
            json!({"readinessProbe": {"tcpSocket": {"host": "h"}}}),
            json!({"startupProbe": {"httpGet": {"host": "h"}}}),
            json!({"lifecycle": {"postStart": {"httpGet": {"host": "h"}}}}),
            json!({"lifecycle": {"preStop": {"tcpSocket": {"host": "h"}}}}),
        ] {
            check(handler_hosts, containers(&[("a", fields)]), reason, expect);
        }
        let many = containers(&[("b", probe("y")), ("a", probe("x"))]);
        check(
            handler_hosts,
            many,
            reason,
            r#"containers "a", "b" use probe or lifecycle hosts "x", "y""#,
        );
    }

    #[test]
    fn settings_of_containers() {
        let masks = contexts(&[
            ("a", json!({"procMount": "Default"})),
            ("b", json!({"procMount": "Unmasked"})),
        ]);
        let expect = r#"container "b" must not set securityContext.procMount to "Unmasked""#;
        check(proc_mount, masks, "procMount", expect);
        let rights =
            contexts(&[("a", json!({"privileged": false})), ("b", json!({"privileged": true}))]);
        let expect = r#"container "b" must not set securityContext.privileged=true"#;
        check(privileged, rights, "privileged", expect);
        let process = json!({"windowsOptions": {"hostProcess": true}});
        let mut spec = contexts(&[
            ("a", process.clone()),
            ("b", json!({"windowsOptions": {}})),
            ("c", process.clone()),
        ]);
        let what = "must not set securityContext.windowsOptions.hostProcess=true";
        check(host_process, spec.clone(), "hostProcess", &format!(r#"containers "a", "c" {what}"#));
        spec["securityContext"] = process;
        check(host_process, spec, "hostProcess", &format!(r#"pod and containers "a", "c" {what}"#));
        for rule in [proc_mount, privileged, host_process] {
            check(
                rule,
                json!({"containers": [{"name": "a", "securityContext": {}}, {"name": "b"}]}),
                "",
                "",
            );
        }
    }

    #[test]
    fn parameters_of_the_kernel() {
        let spec = json!({"securityContext": {"sysctls": [{"name": "b"}, {"name": "kernel.shm_rmid_forced"}, {"name": "a"}]}});
        check(sysctls_1_0, spec, "forbidden sysctls", "b, a");
        let spec = |names: &[&str]| {
            let sysctls =
                names.iter().map(|name| json!({"name": name, "value": "1"})).collect::<Vec<_>>();
            json!({"securityContext": {"sysctls": sysctls}})
        };
        check(sysctls_1_0, spec(&SYSCTLS[..5]), "", "");
        check(sysctls_1_27, spec(&SYSCTLS[..6]), "", "");
        check(sysctls_1_29, spec(&SYSCTLS[..10]), "", "");
        check(sysctls_1_32, spec(&SYSCTLS), "", "");
    }
}
