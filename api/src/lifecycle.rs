//! The phases of the process between start and end, as requests need to know them.
//!
//! Invariant: phases only go forward.

use tokio::sync::watch;

/// Where the process stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The store may still be behind what this node served before it was restarted: nothing but
    /// health checks.
    Starting,
    /// Normal service.
    Serving,
    /// Still serving, but not to be sent new clients.
    NotReady,
    /// Streams end, so that connections can close.
    Ending,
}

/// The phase, shared by the server, health checks and watches.
#[derive(Debug)]
pub struct Lifecycle {
    phase: watch::Sender<Phase>,
}

impl Lifecycle {
    /// A process that stands here.
    #[must_use]
    pub fn new(phase: Phase) -> Self {
        Self { phase: watch::Sender::new(phase) }
    }

    /// The phase now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Normal service from here on.
    pub fn serve(&self) {
        self.advance(Phase::Serving);
    }

    /// Readiness is false from here on.
    pub fn stop_being_ready(&self) {
        self.advance(Phase::NotReady);
    }

    /// Every watch ends from here on.
    pub fn end_watches(&self) {
        self.advance(Phase::Ending);
    }

    /// Resolves once watches are to end.
    pub async fn ending(&self) {
        let mut phase = self.phase.subscribe();
        // An error means that the sender is gone, and with it the server: the end as well.
        let _ = phase.wait_for(|phase| *phase == Phase::Ending).await;
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = to > *phase;
            *phase = (*phase).max(to);
            forward
        });
    }
}
