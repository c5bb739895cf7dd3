//! The table of Pod Security Standards checks: the level of each, and the minor releases of its
//! rules.
//!
//! Invariants: the checks of a level come in the order of their names, those of the baseline first,
//! and so do messages; a level has every check of the level below, except those that it replaces by
//! a stricter one.
//!
//! Not here: the rules themselves.

use super::level::{Level, Standard, Version};
use super::pod::{self, Pod};
use super::{baseline, profiles, restricted};

/// A field of a pod that the level forbids.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation {
    /// The rule that is violated, in the words of the standard.
    pub(super) reason: &'static str,
    /// The pod and containers that violate it, and the values.
    pub(super) detail: String,
}

impl Violation {
    /// A violation by the pod and containers in `who`; `None` when `who` is empty.
    pub(super) fn by(who: &str, reason: &'static str, what: &str) -> Option<Self> {
        (!who.is_empty()).then(|| Self { reason, detail: format!("{who} {what}") })
    }
}

type CheckFn = fn(&Pod<'_>) -> Option<Violation>;
type Spared = fn(&Pod<'_>) -> bool;

struct Check {
    /// The name by which checks are ordered.
    name: &'static str,
    level: Level,
    /// The rules, each with the minor release since which it holds, in order.
    rules: &'static [(i64, CheckFn)],
    /// The pods that are exempt, and since which minor release.
    spares: Option<(i64, Spared)>,
    /// The name of the check of the level below that this one replaces.
    replaces: &'static str,
}

const BASELINE: Check =
    Check { name: "", level: Level::Baseline, rules: &[], spares: None, replaces: "" };
const RESTRICTED: Check = Check { level: Level::Restricted, ..BASELINE };

const WINDOWS: Option<(i64, Spared)> = Some((25, pod::is_of_windows));
const OWN_USERS: Option<(i64, Spared)> = Some((35, pod::has_its_own_users));

const CHECKS: &[Check] = &[
    Check { name: "appArmorProfile", rules: &[(0, profiles::app_armor)], ..BASELINE },
    Check { name: "capabilities_baseline", rules: &[(0, baseline::capabilities)], ..BASELINE },
    Check { name: "hostNamespaces", rules: &[(0, baseline::host_namespaces)], ..BASELINE },
    Check { name: "hostPathVolumes", rules: &[(0, baseline::host_paths)], ..BASELINE },
    Check { name: "hostPorts", rules: &[(0, baseline::host_ports)], ..BASELINE },
    Check {
        name: "hostProbesAndHostLifecycle",
        rules: &[(34, baseline::handler_hosts)],
        ..BASELINE
    },
    Check { name: "privileged", rules: &[(0, baseline::privileged)], ..BASELINE },
    Check { name: "procMount", rules: &[(0, baseline::proc_mount)], spares: OWN_USERS, ..BASELINE },
    Check {
        name: "seLinuxOptions",
        rules: &[(0, profiles::se_linux_1_0), (31, profiles::se_linux_1_31)],
        ..BASELINE
    },
    Check {
        name: "seccompProfile_baseline",
        rules: &[(0, profiles::seccomp_annotations), (19, profiles::seccomp)],
        ..BASELINE
    },
    Check {
        name: "sysctls",
        rules: &[
            (0, baseline::sysctls_1_0),
            (27, baseline::sysctls_1_27),
            (29, baseline::sysctls_1_29),
            (32, baseline::sysctls_1_32),
        ],
        ..BASELINE
    },
    Check { name: "windowsHostProcess", rules: &[(0, baseline::host_process)], ..BASELINE },
    Check {
        name: "allowPrivilegeEscalation",
        rules: &[(8, restricted::privilege_escalation)],
        spares: WINDOWS,
        ..RESTRICTED
    },
    Check {
        name: "capabilities_restricted",
        rules: &[(22, restricted::capabilities)],
        spares: WINDOWS,
        replaces: "capabilities_baseline",
        ..RESTRICTED
    },
    Check {
        name: "procMount_restricted",
        rules: &[(35, baseline::proc_mount)],
        replaces: "procMount",
        ..RESTRICTED
    },
    Check {
        name: "restrictedVolumes",
        rules: &[(0, restricted::volumes)],
        replaces: "hostPathVolumes",
        ..RESTRICTED
    },
    Check {
        name: "runAsNonRoot",
        rules: &[(0, restricted::run_as_non_root)],
        spares: OWN_USERS,
        ..RESTRICTED
    },
    Check {
        name: "runAsUser",
        rules: &[(23, restricted::run_as_user)],
        spares: OWN_USERS,
        ..RESTRICTED
    },
    Check {
        name: "seccompProfile_restricted",
        rules: &[(19, restricted::seccomp)],
        spares: WINDOWS,
        replaces: "seccompProfile_baseline",
        ..RESTRICTED
    },
];

impl Check {
    /// The rule of the check in a version; `None` in versions before it.
    fn rule(&self, version: Version) -> Option<CheckFn> {
        self.rules.iter().rev().find(|(since, _)| version.has(*since)).map(|(_, rule)| *rule)
    }

    fn look(&self, version: Version, pod: &Pod<'_>) -> Option<Violation> {
        let rule = self.rule(version)?;
        let spared = self.spares.is_some_and(|(since, spared)| version.has(since) && spared(pod));
        if spared { None } else { rule(pod) }
    }
}

/// The violations of a standard by a pod.
pub(super) fn violations(standard: Standard, pod: &Pod<'_>) -> Vec<Violation> {
    let Standard { level, version } = standard;
    if level == Level::Privileged {
        return Vec::new();
    }
    let asked =
        || CHECKS.iter().filter(move |check| check.level <= level && check.rule(version).is_some());
    let is_replaced = |check: &Check| asked().any(|other| other.replaces == check.name);
    asked()
        .filter(|check| !is_replaced(check))
        .filter_map(|check| check.look(version, pod))
        .collect()
}

/// `REASON (DETAIL), REASON (DETAIL)`.
pub(super) fn in_detail(violations: &[Violation]) -> String {
    let each =
        violations.iter().map(|violation| format!("{} ({})", violation.reason, violation.detail));
    each.collect::<Vec<_>>().join(", ")
}

/// `REASON, REASON`.
pub(super) fn in_short(violations: &[Violation]) -> String {
    violations.iter().map(|violation| violation.reason).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_meta::{Naming, Value};
    use serde_json::json;

    const LATEST: Version = Version::Latest;

    fn found(level: Level, version: Version, spec: serde_json::Value) -> Vec<Violation> {
        let object = Value::from(json!({ "spec": spec }));
        violations(Standard { level, version }, &Pod::new(Naming::Svc.names(), &object))
    }

    #[track_caller]
    fn check(level: Level, version: Version, spec: &serde_json::Value, expect: &str) {
        assert_eq!(
            in_short(&found(level, version, spec.clone())),
            expect,
            "{level:?} {version:?} {spec}"
        );
    }

    #[test]
    fn the_table() {
        for pair in CHECKS.windows(2) {
            assert!(
                (pair[0].level, pair[0].name) < (pair[1].level, pair[1].name),
                "{}",
                pair[1].name
            );
        }
        for check in CHECKS {
            assert!(
                !check.rules.is_empty() && check.rules.windows(2).all(|pair| pair[0].0 < pair[1].0)
            );
            let replaced = CHECKS.iter().find(|other| other.name == check.replaces);
            assert!(
                check.replaces.is_empty()
                    || replaced.is_some_and(|other| other.level < check.level)
            );
        }
    }

    #[test]
    fn a_plain_pod() {
        let plain = json!({"containers": [{"name": "c"}]});
        check(Level::Privileged, LATEST, &plain, "");
        check(Level::Baseline, LATEST, &plain, "");
        let all = "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile";
        for (version, expect) in [
            (Version::Minor(0), "runAsNonRoot != true"),
            (Version::Minor(8), "allowPrivilegeEscalation != false, runAsNonRoot != true"),
            (
                Version::Minor(19),
                "allowPrivilegeEscalation != false, runAsNonRoot != true, seccompProfile",
            ),
            (Version::Minor(22), all),
            (LATEST, all),
        ] {
            check(Level::Restricted, version, &plain, expect);
        }
        let good = json!({"allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"}});
        check(
            Level::Restricted,
            LATEST,
            &json!({"containers": [{"name": "c", "securityContext": good}]}),
            "",
        );
    }

    #[test]
    fn pods_of_which_less_is_asked() {
        let windows = json!({"os": {"name": "windows"}, "containers": [{"name": "c"}]});
        let all = "allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile";
        check(Level::Restricted, Version::Minor(24), &windows, all);
        check(Level::Restricted, Version::Minor(25), &windows, "runAsNonRoot != true");
        let context = json!({"procMount": "Unmasked", "runAsUser": 0, "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "Localhost"}});
        let own =
            json!({"hostUsers": false, "containers": [{"name": "c", "securityContext": context}]});
        check(Level::Baseline, Version::Minor(34), &own, "procMount");
        check(Level::Baseline, Version::Minor(35), &own, "");
        check(
            Level::Restricted,
            Version::Minor(34),
            &own,
            "procMount, runAsNonRoot != true, runAsUser=0",
        );
        check(Level::Restricted, Version::Minor(35), &own, "procMount");
    }

    #[test]
    fn what_is_replaced_is_told_once() {
        let context = json!({"runAsNonRoot": true, "allowPrivilegeEscalation": false,
            "capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}, "seccompProfile": {"type": "Unconfined"}});
        let spec = json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}],
            "containers": [{"name": "c", "securityContext": context}]});
        check(
            Level::Baseline,
            LATEST,
            &spec,
            "non-default capabilities, hostPath volumes, seccompProfile",
        );
        let expect = "unrestricted capabilities, restricted volume types, seccompProfile";
        check(Level::Restricted, LATEST, &spec, expect);
        let expect = "non-default capabilities, restricted volume types, seccompProfile";
        check(Level::Restricted, Version::Minor(21), &spec, expect);
    }

    #[test]
    fn versions_of_the_baseline() {
        let probed =
            json!({"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "h"}}}]});
        check(Level::Baseline, Version::Minor(33), &probed, "");
        check(Level::Baseline, Version::Minor(34), &probed, "probe or lifecycle host");
        check(Level::Baseline, Version::Minor(99), &probed, "probe or lifecycle host");
        let labelled =
            json!({"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}});
        check(Level::Baseline, Version::Minor(30), &labelled, "seLinuxOptions");
        check(Level::Baseline, Version::Minor(31), &labelled, "");
        for (since, name) in
            [(27, "ip_local_reserved_ports"), (29, "tcp_fin_timeout"), (32, "tcp_wmem")]
        {
            let spec = json!({"securityContext": {"sysctls": [{"name": format!("net.ipv4.{name}"), "value": "1"}]}});
            check(Level::Baseline, Version::Minor(since - 1), &spec, "forbidden sysctls");
            check(Level::Baseline, Version::Minor(since), &spec, "");
        }
    }

    #[test]
    fn texts() {
        let spec = json!({"hostNetwork": true, "containers": [{"name": "c", "securityContext": {"privileged": true}}]});
        let found = found(Level::Baseline, LATEST, spec);
        let expect = "host namespaces (hostNetwork=true), \
                      privileged (container \"c\" must not set securityContext.privileged=true)";
        assert_eq!(
            (in_detail(&found).as_str(), in_short(&found).as_str()),
            (expect, "host namespaces, privileged")
        );
        assert_eq!((in_detail(&[]), in_short(&[])), (String::new(), String::new()));
    }
}
