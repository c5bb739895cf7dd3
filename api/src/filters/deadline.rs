//! The deadline filter: ends a request that takes longer than it may, with 504.
//!
//! Invariant: the deadline is over the filters and the handler, not over a body that is made while
//! the client reads: a watch and a long list go on at the client's pace.

use http::Response;
use tokio::time::{Instant, timeout_at};

use super::Exchange;
use super::error_response::Failure;
use crate::body::Body;
use quorate_registry::error::Error;

/// Refuses a `timeout` parameter that is no duration.
pub(super) fn check_parameter(x: &Exchange<'_>) -> Result<(), Error> {
    x.record.info().timeout()?;
    Ok(())
}

/// The answer, if it comes in time.
pub(super) async fn enforce(
    end: Instant,
    answer: impl Future<Output = Result<Response<Body>, Failure>>,
) -> Result<Response<Body>, Failure> {
    timeout_at(end, answer).await.unwrap_or(Err(Failure::TimedOut))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_too_late_is_a_timeout() {
        let check = async |takes: u64, expect: bool| {
            let answer = async {
                sleep(Duration::from_secs(takes)).await;
                Ok(Response::new(Body::empty()))
            };
            let answer = enforce(Instant::now() + Duration::from_secs(60), answer).await;
            let in_time = match answer {
                Ok(_) => true,
                Err(Failure::TimedOut) => false,
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(in_time, expect, "{takes} s");
        };
        check(0, true).await;
        check(59, true).await;
        check(61, false).await;
    }
}
