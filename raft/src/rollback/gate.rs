//! The gate that keeps a starting member from voting and following until its rollback check is
//! over.
//!
//! Invariant: once open it never closes; a gate that refuses never opens.

use std::sync::OnceLock;

use tokio::sync::watch;

/// Closed until this member may take part in the cluster.
#[derive(Debug)]
pub(crate) struct StartGate {
    open: watch::Sender<bool>,
    /// The reason why it never opens.
    refusal: OnceLock<String>,
}

impl StartGate {
    /// A closed gate.
    pub(crate) fn closed() -> Self {
        Self { open: watch::Sender::new(false), refusal: OnceLock::new() }
    }

    /// Waits until it is open.
    pub(crate) async fn passed(&self) {
        self.open
            .subscribe()
            .wait_for(|open| *open)
            .await
            .map(drop)
            .expect("self keeps the sender alive");
    }

    /// Opens it.
    pub(super) fn open(&self) {
        self.open.send_replace(true);
    }

    /// Says why it never opens. The first reason counts.
    pub(super) fn refuse(&self, reason: String) {
        self.refusal.set(reason).ok();
    }

    /// The reason why it never opens.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.get().cloned()
    }
}
