//! The health checks of the process: those that are built in, and those that components bring
//! along.
//!
//! Invariant: a check of a component never blocks. Not here: how the endpoints answer, which is the
//! handler's part.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

/// A check that a component brings along: whether it is healthy now. Must not block.
pub type Probe = Arc<dyn Fn() -> bool + Send + Sync>;

/// The checks of components.
#[derive(Default)]
pub struct Health {
    checks: RwLock<Vec<Check>>,
}

struct Check {
    name: String,
    probe: Probe,
    /// Whether it decides about readiness only; elsewhere it is named and passes.
    of_readiness: bool,
}

impl Health {
    /// Adds a check to `/livez`, `/readyz` and `/healthz`, for example
    /// `poststarthook/rbac/bootstrap-roles`.
    pub fn add(&self, name: impl Into<String>, probe: Probe) {
        self.checks.write().push(Check { name: name.into(), probe, of_readiness: false });
    }

    /// Adds a check that may wait for other nodes, as liveness never does: it decides about
    /// `/readyz` only.
    pub fn add_to_readiness(&self, name: impl Into<String>, probe: Probe) {
        self.checks.write().push(Check { name: name.into(), probe, of_readiness: true });
    }

    /// The names of the checks, in the order in which they were added.
    pub(crate) fn names(&self) -> Vec<String> {
        self.checks.read().iter().map(|check| check.name.clone()).collect()
    }

    /// Whether the check of this name passes for an endpoint; an unknown one does not.
    pub(crate) fn passes(&self, endpoint: Endpoint, name: &str) -> bool {
        let checks = self.checks.read();
        let check = checks.iter().find(|check| check.name == name);
        check.is_some_and(|check| {
            (check.of_readiness && endpoint != Endpoint::Ready) || (check.probe)()
        })
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The endpoint that a probe asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/livez`.
    Live,
    /// `/readyz`.
    Ready,
    /// `/healthz`, the old one: as live.
    Health,
}

impl Endpoint {
    /// Every endpoint.
    pub(crate) const ALL: [Self; 3] = [Self::Live, Self::Ready, Self::Health];

    /// The endpoint of a path and, below it, the one check that is asked for.
    pub(crate) fn find(path: &str) -> Option<(Self, Option<&str>)> {
        let path = path.strip_prefix('/')?;
        Self::ALL.into_iter().find_map(|endpoint| match path.strip_prefix(endpoint.name())? {
            "" | "/" => Some((endpoint, None)),
            check => Some((endpoint, Some(check.strip_prefix('/')?))),
        })
    }

    /// The first segment of its paths.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Live => "livez",
            Self::Ready => "readyz",
            Self::Health => "healthz",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let check = |path: &str, expect: Option<(Endpoint, Option<&str>)>| {
            assert_eq!(Endpoint::find(path), expect)
        };
        check("/livez", Some((Endpoint::Live, None)));
        check("/readyz/", Some((Endpoint::Ready, None)));
        check("/livez/ping", Some((Endpoint::Live, Some("ping"))));
        check("/livez/poststarthook/rbac/x", Some((Endpoint::Live, Some("poststarthook/rbac/x"))));
        check("/livezz", None);
        check("/", None);
    }
}
