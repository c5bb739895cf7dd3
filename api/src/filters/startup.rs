//! The startup filter: nothing but health checks is served until the node has caught up with its
//! quorum.

use quorate_meta::Status;

use super::Exchange;
use crate::health::Endpoint;
use crate::lifecycle::Phase;
use quorate_registry::error::Error;

/// When a client may come back that came before the node was ready.
const RETRY_SECONDS: u32 = 1;

/// 503 until the node is ready.
pub(super) fn admit(x: &Exchange<'_>) -> Result<(), Error> {
    if x.api.lifecycle.phase() != Phase::Starting || Endpoint::find(&x.record.info().path).is_some()
    {
        return Ok(());
    }
    let status = Status::service_unavailable("the server is starting and waits for a quorum");
    Err(status.with_retry_after(RETRY_SECONDS).into())
}
