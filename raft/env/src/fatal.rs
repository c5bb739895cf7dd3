//! The fatal signal: this process must stop, because its disk can no longer be trusted or the node
//! is no member any more.
//!
//! Invariants: the first report counts and stays; it cannot be taken back. The process that awaits
//! it stops with that one line; nothing here retries or exits.

use tokio::sync::watch;

/// Reports and awaits the condition that ends the process. Clones share one signal.
#[derive(Debug, Clone)]
pub struct Fatal {
    reason: watch::Sender<Option<String>>,
}

impl Fatal {
    /// A signal that was not given yet.
    #[must_use]
    pub fn new() -> Self {
        Self { reason: watch::Sender::new(None) }
    }

    /// Gives the signal. Later reports are only logged.
    pub fn report(&self, reason: impl Into<String>) {
        let reason = reason.into();
        tracing::error!(%reason, "this node cannot go on");
        self.reason.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(reason);
            }
            first
        });
    }

    /// The reason, if the signal has been given.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.reason.borrow().clone()
    }

    /// Waits for the signal and answers its reason, a line for the operator.
    pub async fn wait(&self) -> String {
        let mut receiver = self.reason.subscribe();
        let reason = receiver.wait_for(Option::is_some).await.expect("self keeps the sender alive");
        reason.clone().expect("waited for a reason")
    }
}

impl Default for Fatal {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_wins_for_every_clone() {
        let fatal = Fatal::new();
        assert_eq!(fatal.reason(), None);
        fatal.clone().report("first");
        fatal.report("second");
        assert_eq!(fatal.wait().await, "first");
        assert_eq!(fatal.clone().reason().as_deref(), Some("first"));
    }
}
