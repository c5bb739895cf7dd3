//! The end of a resource: the signal by which its watches end when a version of its definition goes,
//! or when its objects are read in another way from then on.
//!
//! Invariants: a removal is closed at most once and stays closed; its clones are one signal. It says
//! up to which revision changes belong to the resource: what comes later is another one's, that may
//! have the same name.
//!
//! Not here: which resources end, and what a watch tells its client then.

use std::future::pending;
use std::sync::Arc;

use quorate_store::Revision;
use tokio::sync::watch;

/// Whether a resource has ended, for those that wait for it.
#[derive(Debug, Clone)]
pub struct Removal {
    /// The last revision of the resource; `None` before its end.
    last: Arc<watch::Sender<Option<Revision>>>,
}

impl Default for Removal {
    fn default() -> Self {
        Self { last: Arc::new(watch::Sender::new(None)) }
    }
}

impl Removal {
    /// Tells everything that waits, now and later, that the resource has ended with this revision.
    pub fn close(&self, last: Revision) {
        self.last.send_if_modified(|closed| {
            let is_first = closed.is_none();
            closed.get_or_insert(last);
            is_first
        });
    }

    /// The last revision of the resource; `None` before its end.
    #[must_use]
    pub fn last(&self) -> Option<Revision> {
        *self.last.borrow()
    }

    /// Returns once the resource has ended; safe to drop and to call again.
    pub async fn closed(&self) {
        let mut last = self.last.subscribe();
        // The sender lives as long as this borrow of its owner, so the wait cannot fail.
        let _ = last.wait_for(Option::is_some).await;
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
        assert_eq!(clone.last(), None);
        let waiting = tokio::spawn(async move { clone.closed().await });
        removal.close(Revision::new(7));
        waiting.await.expect("the wait ends");
        removal.close(Revision::new(9));
        assert_eq!(removal.last(), Some(Revision::new(7)));
        removal.closed().await;
    }
}
