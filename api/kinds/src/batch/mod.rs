//! The kinds of the batch group: workloads that run to completion.

mod completion_indexes;
mod cron_job;
mod cron_schedule;
mod job;
mod job_spec;
mod job_status;
mod job_update;

use std::sync::Arc;

use quorate_registry::Strategy;

/// The strategy of a kind of this group; `None` for a kind without one.
pub(super) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "CronJob" => Arc::new(cron_job::CronJob),
        "Job" => Arc::new(job::Job),
        _ => return None,
    })
}
