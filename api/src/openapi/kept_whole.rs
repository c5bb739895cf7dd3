//! The document of version 2 while it is asked for: with thousands of definitions it is large, and
//! few clients want it.
//!
//! Invariants: it is made once, however many requests ask at the same time; it is dropped when no
//! request has asked for [`KEPT`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quorate_env::blocking;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use super::whole::WholeDocument;
use super::{DocumentSet, Served};

/// How long it stays after a request has asked for it.
const KEPT: Duration = Duration::from_secs(60);

/// The newest document in one form.
#[derive(Default)]
pub(super) struct KeptWhole(Mutex<Option<KeptDocument>>);

struct KeptDocument {
    document: Arc<WholeDocument>,
    until: Instant,
}

impl KeptWhole {
    /// The document of a set, made of what the one before has of it.
    pub(super) async fn get(
        self: &Arc<Self>,
        set: &DocumentSet,
        served: Served<'_>,
        in_protobuf: bool,
    ) -> Arc<WholeDocument> {
        let mut kept = self.0.lock().await;
        let until = Instant::now() + KEPT;
        let before = kept.as_mut().map(|kept| {
            kept.until = until;
            &*kept
        });
        if let Some(kept) = before.filter(|kept| kept.document.is_of(set)) {
            return kept.document.clone();
        }
        let before = before.map(|kept| &*kept.document);
        let document = blocking(|| WholeDocument::new(set, served, in_protobuf, before));
        let document = Arc::new(document);
        if kept.is_none() {
            tokio::spawn(self.clone().forget());
        }
        *kept = Some(KeptDocument { document: document.clone(), until });
        document
    }

    /// Drops the document when no request has asked for it for long enough.
    async fn forget(self: Arc<Self>) {
        let mut until = Instant::now() + KEPT;
        loop {
            sleep_until(until).await;
            let mut kept = self.0.lock().await;
            match &*kept {
                Some(kept) if kept.until > Instant::now() => until = kept.until,
                _ => {
                    *kept = None;
                    return;
                }
            }
        }
    }
}

impl fmt::Debug for KeptWhole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptWhole").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use quorate_kinds::builtin;
    use quorate_meta::Naming;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_dropped_when_no_request_asks_for_it() {
        let catalogue = builtin::catalogue_of(Naming::Svc.names());
        let served = Served { catalogue: &catalogue, with_cbor: false };
        let (set, kept) = (DocumentSet::new(&catalogue, None), Arc::new(KeptWhole::default()));
        let first = Arc::downgrade(&kept.get(&set, served, false).await);
        let pass = |time: Duration| tokio::time::sleep(time);
        for _ in 0..2 {
            pass(KEPT / 2 + Duration::from_secs(1)).await;
            let again = kept.get(&set, served, false).await;
            assert!(first.upgrade().is_some_and(|first| Arc::ptr_eq(&first, &again)));
        }
        pass(KEPT + Duration::from_secs(1)).await;
        assert!(first.upgrade().is_none());
        let anew = kept.get(&set, served, false).await;
        assert!(anew.is_of(&set));
    }
}
