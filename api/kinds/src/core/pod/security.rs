//! Security contexts of pods and containers, and host namespaces.

use std::collections::HashSet;

use quorate_meta::{Cause, name};

use super::ports;
use crate::field::Field;
use crate::rules;

const MAX_ID: i64 = 2_147_483_647;
const MAX_SYSCTL: usize = 253;
const SYSCTL_FORM: &str = "must have at most 253 characters and match regex \
                           ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// Checks the security context of a container; `host_users` is whether its pod has the users of the
/// host.
pub(super) fn check_container(context: &Field<'_>, host_users: bool, causes: &mut Vec<Cause>) {
    check_ids(context, causes);
    let mount = context.get("procMount");
    rules::optional_one_of(&mount, &["Default", "Unmasked"], causes);
    if host_users && mount.text() == "Unmasked" {
        causes.push(mount.invalid("`hostUsers` must be false to use `Unmasked`"));
    }
    let escalation = context.get("allowPrivilegeEscalation");
    if escalation.value().as_bool() == Some(false) {
        if context.get("privileged").is_true() {
            causes.push(context.invalid(
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            ));
        }
        if context
            .get("capabilities.add")
            .items()
            .any(|capability| capability.text() == "CAP_SYS_ADMIN")
        {
            causes.push(
                context.invalid("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"),
            );
        }
    }
    check_profiles(context, causes);
    check_windows(&context.get("windowsOptions"), causes);
}

/// Checks the security context of a pod and its host namespaces.
pub(super) fn check_pod(spec: &Field<'_>, template: bool, causes: &mut Vec<Cause>) {
    let context = spec.get("securityContext");
    if spec.get("hostNetwork").is_true() {
        for list in ["containers", "initContainers"] {
            ports::check_host_network(&spec.get(list), template, causes);
        }
    }
    let (shared, host) = (spec.get("shareProcessNamespace"), spec.get("hostPID"));
    if shared.is_true() && host.is_true() {
        causes.push(shared.invalid("ShareProcessNamespace and HostPID cannot both be enabled"));
    }
    if spec.get("hostUsers").value().as_bool() == Some(false) {
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            if spec.get(field).is_true() {
                causes.push(spec.get(field).forbidden("when `hostUsers` is false"));
            }
        }
    }
    check_id(&context.get("fsGroup"), causes);
    check_ids(&context, causes);
    for group in context.get("supplementalGroups").items() {
        check_id(&group, causes);
    }
    check_sysctls(spec, &context.get("sysctls"), causes);
    for (field, known) in [
        ("fsGroupChangePolicy", &["Always", "OnRootMismatch"]),
        ("supplementalGroupsPolicy", &["Merge", "Strict"]),
        ("seLinuxChangePolicy", &["MountOption", "Recursive"]),
    ] {
        rules::optional_one_of(&context.get(field), known, causes);
    }
    check_profiles(&context, causes);
    check_windows(&context.get("windowsOptions"), causes);
}

fn check_ids(context: &Field<'_>, causes: &mut Vec<Cause>) {
    for field in ["runAsUser", "runAsGroup"] {
        check_id(&context.get(field), causes);
    }
}

fn check_id(id: &Field<'_>, causes: &mut Vec<Cause>) {
    if id.int().is_some_and(|id| !(0..=MAX_ID).contains(&id)) {
        causes.push(id.invalid(&format!("must be between 0 and {MAX_ID}, inclusive")));
    }
}

fn check_sysctls(spec: &Field<'_>, list: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for sysctl in list.items() {
        let name = sysctl.get("name");
        if name.is_empty() {
            causes.push(name.required(""));
        } else if !is_sysctl(name.text()) {
            causes.push(name.invalid(SYSCTL_FORM));
        } else if !seen.insert(name.text()) {
            causes.push(name.duplicate());
        }
        if let Some(host) = host_namespace(name.text()).filter(|host| spec.get(host).is_true()) {
            causes.push(name.invalid(&format!("may not be specified when '{host}' is true")));
        }
    }
}

/// The field that gives a pod the namespace of the host which a kernel parameter belongs to.
fn host_namespace(sysctl: &str) -> Option<&'static str> {
    const IPC: [&str; 4] = ["kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue."];
    // The first separator says which of both forms of a name this is.
    let name = match sysctl.find(['.', '/']) {
        Some(at) if sysctl[at..].starts_with('/') => sysctl.replace('/', "."),
        _ => sysctl.to_owned(),
    };
    if name.starts_with("net.") {
        return Some("hostNetwork");
    }
    let is_ipc = name == IPC[0] || IPC[1..].iter().any(|begin| name.starts_with(begin));
    is_ipc.then_some("hostIPC")
}

fn is_sysctl(text: &str) -> bool {
    let inner = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
    };
    let part = |part: &str| {
        let ends = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        part.bytes().all(inner) && ends(part.as_bytes().first()) && ends(part.as_bytes().last())
    };
    text.len() <= MAX_SYSCTL && text.split(['.', '/']).all(part)
}

/// Checks seccomp and AppArmor profiles.
fn check_profiles(context: &Field<'_>, causes: &mut Vec<Cause>) {
    for field in ["seccompProfile", "appArmorProfile"] {
        let profile = context.get(field);
        if !profile.is_set() {
            continue;
        }
        let (kind, local) = (profile.get("type"), profile.get("localhostProfile"));
        rules::one_of(&kind, &["Localhost", "RuntimeDefault", "Unconfined"], causes);
        if kind.text() == "Localhost" {
            if local.is_empty() {
                causes.push(local.required(&format!("must be set when {field} type is Localhost")));
            } else if field == "seccompProfile" {
                causes.extend(
                    local.invalid_for(&super::volume_files::local_path_problems(local.text())),
                );
            } else if local.text().trim() != local.text() {
                causes.push(local.invalid("must not be padded with whitespace"));
            }
        } else if local.is_set() {
            causes.push(local.invalid("can only be set when type is Localhost"));
        }
    }
}

fn check_windows(options: &Field<'_>, causes: &mut Vec<Cause>) {
    rules::optional_name(&options.get("gmsaCredentialSpecName"), name::dns_subdomain, causes);
    for (field, max) in [("runAsUserName", 512), ("gmsaCredentialSpec", 64 * 1024)] {
        let text = options.get(field);
        if text.is_set() && text.is_empty() {
            causes.push(text.invalid(&format!("{field} cannot be an empty string")));
        } else if text.text().len() > max {
            causes.push(text.invalid(&format!("{field} size must be under {max}")));
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
    fn settings_of_a_pod() {
        let check = |spec: serde_json::Value, expect: &[&str]| {
            let object = Value::from(spec);
            let mut causes = Vec::new();
            check_pod(&Field::root(&object), false, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        let context = |context: serde_json::Value| json!({"securityContext": context});
        check(
            context(
                json!({"fsGroup": 2000, "supplementalGroups": [7], "sysctls": [{"name": "net.core/so_max"}]}),
            ),
            &[],
        );
        check(
            context(
                json!({"runAsUser": -1, "fsGroup": 2_147_483_648_i64, "supplementalGroups": [-7]}),
            ),
            &[
                "Invalid securityContext.fsGroup",
                "Invalid securityContext.runAsUser",
                "Invalid securityContext.supplementalGroups[0]",
            ],
        );
        let sysctls = json!([{"name": "Bad Name"}, {"name": ""}, {"name": "a.b"}, {"name": "a.b"}]);
        check(
            context(json!({"sysctls": sysctls})),
            &[
                "Invalid securityContext.sysctls[0].name",
                "Required securityContext.sysctls[1].name",
                "Duplicate securityContext.sysctls[3].name",
            ],
        );
        check(
            json!({"shareProcessNamespace": true, "hostPID": true}),
            &["Invalid shareProcessNamespace"],
        );
        check(json!({"hostUsers": false, "hostIPC": true}), &["Forbidden hostIPC"]);
        let of = |name: &str, host: &str, on: bool| json!({host: on, "securityContext": {"sysctls": [{"name": name}]}});
        let refused = &["Invalid securityContext.sysctls[0].name"];
        for name in ["net.core.somaxconn", "net/core/somaxconn"] {
            check(of(name, "hostNetwork", true), refused);
            check(of(name, "hostNetwork", false), &[]);
            check(of(name, "hostIPC", true), &[]);
        }
        for name in ["kernel.sem", "kernel.shmmax", "kernel/msgmax", "fs.mqueue.queues_max"] {
            check(of(name, "hostIPC", true), refused);
            check(of(name, "hostNetwork", true), &[]);
        }
        check(of("kernel.semaphores", "hostIPC", true), &[]);
    }

    #[test]
    fn settings_of_a_container() {
        let check = |context: serde_json::Value, expect: &[&str]| {
            let object = Value::from(json!({"s": context}));
            let mut causes = Vec::new();
            check_container(&Field::root(&object).get("s"), true, &mut causes);
            assert_eq!(shown(&causes), expect);
        };
        check(json!({"runAsUser": 0, "privileged": true}), &[]);
        check(json!({"allowPrivilegeEscalation": false, "privileged": true}), &["Invalid s"]);
        check(
            json!({"allowPrivilegeEscalation": false, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}),
            &["Invalid s"],
        );
        check(
            json!({"seccompProfile": {"type": "Localhost"}}),
            &["Required s.seccompProfile.localhostProfile"],
        );
        check(
            json!({"seccompProfile": {"type": "Unconfined", "localhostProfile": "x"}}),
            &["Invalid s.seccompProfile.localhostProfile"],
        );
        check(
            json!({"appArmorProfile": {"type": "Odd"}}),
            &["NotSupported s.appArmorProfile.type"],
        );
    }
}
