//! The operating system of a pod (KEP-2802), and the fields that it excludes.

use quorate_meta::Cause;

use super::defaults::CONTAINERS;
use crate::field::Field;
use crate::rules;

/// Linux-only fields: of a pod, of its security context, and of those of its containers.
const LINUX_POD: [&str; 4] = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];
const LINUX_POD_SETTINGS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
];
const LINUX_SETTINGS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Checks the fields against the operating system of a pod.
pub(super) fn check(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let system = spec.get("os");
    if !system.is_set() {
        return;
    }
    rules::one_of(&system.get("name"), &["linux", "windows"], causes);
    match system.get("name").text() {
        "linux" => check_linux(spec, causes),
        "windows" => check_windows(spec, causes),
        _ => {}
    }
}

fn check_linux(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut refuse = |owner: &Field<'_>| {
        let options = owner.get("securityContext.windowsOptions");
        if options.is_set() {
            causes.push(options.forbidden("windows options cannot be set for a linux pod"));
        }
    };
    refuse(spec);
    for list in CONTAINERS {
        spec.get(list).items().for_each(|container| refuse(&container));
    }
}

fn check_windows(spec: &Field<'_>, causes: &mut Vec<Cause>) {
    let mut refuse = |owner: &Field<'_>, fields: &[&str]| {
        let given = fields.iter().map(|field| owner.get(field)).filter(Field::is_set);
        causes.extend(given.map(|field| field.forbidden("cannot be set for a windows pod")));
    };
    refuse(&spec.get("securityContext"), &LINUX_POD_SETTINGS);
    refuse(spec, &LINUX_POD);
    for list in CONTAINERS {
        spec.get(list)
            .items()
            .for_each(|container| refuse(&container.get("securityContext"), &LINUX_SETTINGS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::shown;
    use quorate_meta::Value;
    use serde_json::json;

    #[test]
    fn systems() {
        let run = |name: &str, mut spec: serde_json::Value, expect: &[&str]| {
            spec["os"] = json!({"name": name});
            let spec = Value::from(spec);
            let mut causes = Vec::new();
            check(&Field::root(&spec), &mut causes);
            assert_eq!(shown(&causes), expect, "{spec:?}");
        };
        let options = || json!({"windowsOptions": {"runAsUserName": "u"}});
        let of_windows = json!({"securityContext": options(), "initContainers": [{"securityContext": options()}]});
        run("windows", of_windows.clone(), &[]);
        run(
            "linux",
            of_windows,
            &[
                "Forbidden securityContext.windowsOptions",
                "Forbidden initContainers[0].securityContext.windowsOptions",
            ],
        );
        let of_linux = json!({"hostPID": true, "hostUsers": false, "securityContext": {"fsGroup": 1, "sysctls": [{}]},
            "containers": [{"securityContext": {"privileged": false, "runAsUser": 0}}]});
        run("linux", of_linux.clone(), &[]);
        run(
            "windows",
            of_linux,
            &[
                "Forbidden securityContext.fsGroup",
                "Forbidden securityContext.sysctls",
                "Forbidden hostUsers",
                "Forbidden hostPID",
                "Forbidden containers[0].securityContext.privileged",
                "Forbidden containers[0].securityContext.runAsUser",
            ],
        );
        run("", json!({}), &["Required os.name"]);
        run("beos", json!({"hostPID": true}), &["NotSupported os.name"]);
    }
}
