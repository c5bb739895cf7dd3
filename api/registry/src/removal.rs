//! The end of a resource: the signal by which its watches end when its definition goes.
//!
//! Invariants: a removal is closed at most once and stays closed; its clones are one signal.
//!
//! Not here: which resources end, and what a watch tells its client then.

use std::future::pending;
use std::sync::Arc;

use tokio::sync::watch;

/// Whether a resource is no longer served, for those that wait for it.
#[derive(Debug, Clone)]
pub struct Removal {
    is_closed: Arc<watch::Sender<bool>>,
}

impl Default for Removal {
    fn default() -> Self {
        Self { is_closed: Arc::new(watch::Sender::new(false)) }
    }
}

impl Removal {
    /// Tells everything that waits, now and later, that the resource is gone.
    pub fn close(&self) {
        self.is_closed.send_replace(true);
    }

    /// Whether the resource is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self.is_closed.borrow()
    }

    /// Returns once the resource is gone; safe to drop and to call again.
    pub async fn closed(&self) {
        let mut closed = self.is_closed.subscribe();
        // The sender lives as long as this borrow of its owner, so the wait cannot fail.
        let _ = closed.wait_for(|closed| *closed).await;
    }

    /// As [`Removal::closed`]; never returns for a resource without a removal.
    pub async fn closed_if_any(removal: Option<&Self>) {
        match removal {
            Some(removal) => removal.closed().await,
            None => pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_hears_of_the_end() {
        let removal = Removal::default();
        let clone = removal.clone();
        assert!(!clone.is_closed());
        let waiting = tokio::spawn(async move { clone.closed().await });
        removal.close();
        waiting.await.expect("the wait ends");
        assert!(removal.is_closed());
        removal.closed().await;
    }
}
