//! The table of health checks: their names in each naming profile, in the order of the report.
//!
//! Invariant: a name occurs once in a profile.

use quorate_meta::Naming;

/// A health check that the server knows.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its name, as components register it; the one of the profile `kubernetes`.
    pub(super) name: &'static str,
    /// Its name in the profile `svc`, which has fewer.
    svc: Option<&'static str>,
    /// Whether only `/readyz` has it.
    pub(crate) of_readiness: bool,
    /// Whether it is about something that happens once after the start.
    pub(super) is_of_start: bool,
}

/// The process answers.
pub(crate) const PING: &str = "ping";
/// Log lines can be written.
pub const LOG: &str = "log";
/// The store of this node works.
pub const STORE: &str = "etcd";
/// The quorum answers.
pub(crate) const QUORUM: &str = "etcd-readiness";
/// Everything that this node derives from stored objects is known.
pub const INFORMERS: &str = "informer-sync";
/// The process is not about to end.
pub(crate) const SHUTDOWN: &str = "shutdown";
/// Every group version has an APIService, and is available.
pub const AUTOREGISTER_COMPLETION: &str = "autoregister-completion";

const fn both(name: &'static str) -> Row {
    Row { name, svc: Some(name), of_readiness: false, is_of_start: false }
}

const fn readiness(name: &'static str, svc: Option<&'static str>) -> Row {
    Row { name, svc, of_readiness: true, is_of_start: false }
}

const fn start(name: &'static str) -> Row {
    Row { is_of_start: true, ..both(name) }
}

const fn kubernetes(name: &'static str) -> Row {
    Row { svc: None, ..start(name) }
}

const fn renamed(name: &'static str, svc: &'static str) -> Row {
    Row { svc: Some(svc), ..start(name) }
}

/// Every check.
pub(crate) const CHECKS: [Row; 33] = [
    both(PING),
    both(LOG),
    both(STORE),
    readiness(QUORUM, None),
    readiness(INFORMERS, None),
    renamed(
        "poststarthook/start-apiserver-admission-initializer",
        "poststarthook/start-kube-apiserver-admission-initializer",
    ),
    start("poststarthook/generic-apiserver-start-informers"),
    kubernetes("poststarthook/priority-and-fairness-config-consumer"),
    kubernetes("poststarthook/priority-and-fairness-filter"),
    kubernetes("poststarthook/storage-object-count-tracker-hook"),
    start("poststarthook/start-apiextensions-informers"),
    start("poststarthook/start-apiextensions-controllers"),
    start("poststarthook/crd-informer-synced"),
    kubernetes("poststarthook/start-system-namespaces-controller"),
    start("poststarthook/start-cluster-authentication-info-controller"),
    kubernetes("poststarthook/start-kube-apiserver-identity-lease-controller"),
    kubernetes("poststarthook/start-kube-apiserver-identity-lease-garbage-collector"),
    kubernetes("poststarthook/start-legacy-token-tracking-controller"),
    kubernetes("poststarthook/start-service-ip-repair-controllers"),
    start("poststarthook/rbac/bootstrap-roles"),
    start("poststarthook/scheduling/bootstrap-system-priority-classes"),
    kubernetes("poststarthook/priority-and-fairness-config-producer"),
    start("poststarthook/bootstrap-controller"),
    kubernetes("poststarthook/start-kubernetes-service-cidr-controller"),
    start("poststarthook/start-kube-aggregator-informers"),
    renamed(
        "poststarthook/apiservice-status-local-available-controller",
        "poststarthook/apiservice-status-available-controller",
    ),
    kubernetes("poststarthook/apiservice-status-remote-available-controller"),
    start("poststarthook/apiservice-registration-controller"),
    kubernetes("poststarthook/apiservice-discovery-controller"),
    start("poststarthook/kube-apiserver-autoregistration"),
    start(AUTOREGISTER_COMPLETION),
    start("poststarthook/apiservice-openapi-controller"),
    kubernetes("poststarthook/apiservice-openapiv3-controller"),
];

/// The last check of `/readyz`.
pub(crate) const LAST: Row = readiness(SHUTDOWN, Some(SHUTDOWN));

impl Row {
    /// Every check, in the order of the report.
    pub(crate) fn all() -> impl Iterator<Item = &'static Self> {
        CHECKS.iter().chain([&LAST])
    }

    /// Its name as components register it.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// The name in a profile; `None` where it has none.
    pub(crate) fn name_in(&self, naming: Naming) -> Option<&'static str> {
        match naming {
            Naming::Svc => self.svc,
            Naming::Kubernetes => Some(self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_occur_once() {
        for naming in [Naming::Svc, Naming::Kubernetes] {
            let names: Vec<_> = Row::all().filter_map(|row| row.name_in(naming)).collect();
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        }
    }

    /// Holds the table against the recorded facts about the release, where those are there.
    #[test]
    fn the_order_is_that_of_the_release() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/facts/health_checks.json");
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (endpoint, of_readiness) in [("livez", false), ("healthz", false), ("readyz", true)] {
            let own = Row::all().filter(|row| of_readiness || !row.of_readiness);
            let names: Vec<_> = own.filter_map(|row| row.name_in(Naming::Kubernetes)).collect();
            assert_eq!(facts["default_sequence"][endpoint], serde_json::json!(names), "{endpoint}");
        }
    }
}
