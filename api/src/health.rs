//! The health checks of the process: those that are built in, and those that components answer.
//!
//! Invariants: a check of a component never blocks; a check that no component answers is not
//! listed; what has to happen once after the start has happened once it passed.
//!
//! Not here: how the endpoints answer, which is the handler's part.

mod table;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use thiserror::Error;
use tokio::time::Instant;

pub use table::{AUTOREGISTER_COMPLETION, INFORMERS, LOG, STORE};
pub(crate) use table::{PING, QUORUM, Row, SHUTDOWN};

/// Whether something holds now. Must not block.
pub type Probe = Arc<dyn Fn() -> bool + Send + Sync>;

/// What a component says about one check.
#[derive(Clone)]
pub struct Probes {
    /// Whether it has done its part: `/readyz` asks this.
    pub done: Probe,
    /// Whether it is still at work: enough for `/livez`, which must not fail a node that waits for
    /// others.
    pub alive: Probe,
}

/// The checks of one server.
#[derive(Default)]
pub struct Health {
    checks: RwLock<Vec<Check>>,
    /// Until then `/livez` forgives what has not happened yet.
    grace_until: OnceLock<Instant>,
}

struct Check {
    row: &'static Row,
    probes: Probes,
    /// Whether something that happens once has happened.
    has_passed: AtomicBool,
}

/// The endpoint and the reason why a name cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no health check {0}")]
pub struct UnknownCheck(pub String);

impl Health {
    /// Adds a component's answer to the check of this name, which the table of checks has.
    pub fn add(&self, name: &str, probes: Probes) -> Result<(), UnknownCheck> {
        let row = Row::all().find(|row| row.name == name);
        let row = row.ok_or_else(|| UnknownCheck(name.to_owned()))?;
        self.checks.write().push(Check { row, probes, has_passed: AtomicBool::new(false) });
        Ok(())
    }

    /// From now on for so long `/livez` forgives what has to happen after the start.
    pub fn begin_grace(&self, grace: Duration) {
        self.grace_until.get_or_init(|| Instant::now() + grace);
    }

    /// Whether a component has registered this check.
    pub(crate) fn has(&self, row: &Row) -> bool {
        self.checks.read().iter().any(|check| check.row.name == row.name)
    }

    /// Whether every component that has registered this check passes it for an endpoint; a check
    /// without one does not pass.
    pub(crate) fn passes(&self, endpoint: Endpoint, row: &Row) -> bool {
        let checks = self.checks.read();
        let mut own = checks.iter().filter(|check| check.row.name == row.name).peekable();
        own.peek().is_some()
            && own.all(|check| check.passes(endpoint) || self.forgives(endpoint, row))
    }

    fn forgives(&self, endpoint: Endpoint, row: &Row) -> bool {
        let until =
            self.grace_until.get().filter(|_| endpoint == Endpoint::Live && row.is_of_start);
        until.is_some_and(|until| Instant::now() < *until)
    }
}

impl Check {
    fn passes(&self, endpoint: Endpoint) -> bool {
        if self.row.is_of_start && self.has_passed.load(Ordering::Relaxed) {
            return true;
        }
        if (self.probes.done)() {
            self.has_passed.store(true, Ordering::Relaxed);
            return true;
        }
        endpoint != Endpoint::Ready && (self.probes.alive)()
    }
}

impl Probes {
    /// A component that is at work exactly while its check passes.
    #[must_use]
    pub fn of(done: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { done: Arc::new(done), alive: Arc::new(|| false) }
    }

    /// The same for a component that is at work while `alive` says so.
    #[must_use]
    pub fn while_alive(self, alive: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { alive: Arc::new(alive), ..self }
    }
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probes").finish_non_exhaustive()
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.checks.read().iter().map(|check| check.row.name)).finish()
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
            "" => Some((endpoint, None)),
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
        check("/readyz", Some((Endpoint::Ready, None)));
        // No check has an empty name, so this path is nothing's.
        check("/readyz/", Some((Endpoint::Ready, Some(""))));
        check("/livez//ping", Some((Endpoint::Live, Some("/ping"))));
        check("/livez/ping/", Some((Endpoint::Live, Some("ping/"))));
        check("//livez", None);
        check("/livez/ping", Some((Endpoint::Live, Some("ping"))));
        check("/livez/poststarthook/rbac/x", Some((Endpoint::Live, Some("poststarthook/rbac/x"))));
        check("/livezz", None);
        check("/", None);
    }
}
