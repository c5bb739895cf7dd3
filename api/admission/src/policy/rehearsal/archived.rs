//! A rehearsal over the archive: writes with who made them, for as long as the archive reaches.
//!
//! Invariant: what the archive does not have is passed over and counted.

use quorate_env::blocking;
use quorate_meta::Status;
use quorate_registry::Origin;
use quorate_registry::error::Error;
use quorate_store::{Past, PastError, Revision};

use super::place::Place;
use super::write::WriteAbout;
use super::{Rehearsal, Step, WRITES_PER_STEP};

/// Bytes of changes that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// How often one step reads.
const READS_PER_STEP: usize = 32;

impl Rehearsal<'_> {
    /// Looks at archived changes after a revision, or from a time on.
    pub(super) async fn archived(
        &self,
        past: &dyn Past,
        after: Option<Revision>,
        since_ms: u64,
    ) -> Result<Step, Error> {
        let catalogue = self.admission.catalogue.load();
        let mut step = Step::default();
        let mut after = match after {
            Some(after) => after,
            None => beginning(past, since_ms)?,
        };
        for _ in 0..READS_PER_STEP {
            let batches = match blocking(|| past.changes(after, READ_BYTES)) {
                Ok(batches) => batches,
                Err(PastError::Missing { gap }) if gap.last > after => {
                    step.missing += gap.last.get() - after.get();
                    after = gap.last;
                    continue;
                }
                Err(error) => return Err(failure(error)),
            };
            if batches.is_empty() {
                step.next = Some(Place::Objects { after: bytes::Bytes::new() });
                return Ok(step);
            }
            for batch in batches {
                after = batch.revision;
                if batch.time_ms < since_ms {
                    continue;
                }
                step.oldest_ms.get_or_insert(batch.time_ms);
                let origin = Origin::decode(&batch.origin);
                for event in batch.events.iter() {
                    let (revision, time_ms) = (batch.revision, batch.time_ms);
                    let about = WriteAbout { revision, time_ms, origin: origin.as_ref() };
                    self.look(&catalogue, event, about, &mut step).await?;
                }
                if step.writes >= WRITES_PER_STEP {
                    step.next = Some(Place::Changes { after: Some(after), since_ms });
                    return Ok(step);
                }
            }
        }
        step.next = Some(Place::Changes { after: Some(after), since_ms });
        Ok(step)
    }
}

/// The revision after which changes are looked at: that of the time, or where the archive begins.
fn beginning(past: &dyn Past, since_ms: u64) -> Result<Revision, Error> {
    let extent = past.extent();
    if since_ms <= extent.oldest_ms {
        return Ok(extent.oldest);
    }
    // Changes of that very millisecond are after the newest revision before it.
    match blocking(|| past.revision_at(since_ms - 1)) {
        Err(PastError::Expired { oldest, .. }) => Ok(oldest),
        found => found.map_err(failure),
    }
}

fn failure(error: PastError) -> Error {
    match error {
        PastError::Expired { oldest, .. } => {
            Status::expired(format!("the archive begins with revision {oldest}")).into()
        }
        error => {
            Status::service_unavailable(format!("the past cannot be read at present: {error}"))
                .into()
        }
    }
}
