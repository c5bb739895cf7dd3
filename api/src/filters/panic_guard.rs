//! The panic guard: turns a panic in a filter or a handler into a failure of that one request.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use http::Response;

use super::error_response::Failure;
use crate::body::Body;
use quorate_registry::error::Error;

/// The answer, or that there is none because of a panic. What the panic left behind is only read by
/// the record's readers.
pub(super) async fn catch(
    answer: impl Future<Output = Result<Response<Body>, Error>>,
) -> Result<Response<Body>, Failure> {
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(answer) => answer.map_err(Failure::Refused),
        Err(_) => Err(Failure::Panicked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_the_failure_of_one_request() {
        let check = async |answer: fn() -> Result<Response<Body>, Error>, expect: &str| {
            let found = match catch(async move { answer() }).await {
                Ok(_) => "answered",
                Err(Failure::Refused(_)) => "refused",
                Err(Failure::Panicked) => "panicked",
                Err(Failure::TimedOut) => "timed out",
            };
            assert_eq!(found, expect);
        };
        check(|| Ok(Response::new(Body::empty())), "answered").await;
        check(|| Err(Error::no_such_path()), "refused").await;
        check(|| panic!("a handler with a defect"), "panicked").await;
    }
}
