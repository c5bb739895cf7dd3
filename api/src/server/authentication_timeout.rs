//! The authentication timeout: ends connections of HTTP/2 whose client does not authenticate.
//!
//! Invariant: a peer whose requests are all answered with 401, or that sends none, keeps its place
//! no longer than a limit, and once more as long to close. A client that has had another response,
//! be it to a health check that needs no credentials, may be silent: informers and kubectl keep
//! their connections. HTTP/1.1 needs none of this, its idle connections end in any case.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::time::sleep;

/// Whether a request on a connection has authenticated. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct AuthenticationTimeout(Arc<AtomicBool>);

impl AuthenticationTimeout {
    /// Notes the status of a response.
    pub(super) fn answered(&self, status: StatusCode) {
        if status != StatusCode::UNAUTHORIZED {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Resolves when the limit is over and no request has authenticated until then; otherwise
    /// never.
    pub(super) async fn missed(&self, limit: Duration) {
        sleep(limit).await;
        if self.0.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    async fn check(answers: &[u16], expect: Option<Duration>) {
        let (authentication, begun) = (AuthenticationTimeout::default(), Instant::now());
        for code in answers {
            authentication.clone().answered(StatusCode::from_u16(*code).unwrap());
        }
        let missed =
            timeout(LIMIT * 10, authentication.missed(LIMIT)).await.ok().map(|()| begun.elapsed());
        assert_eq!(
            missed.map(|time| time.as_secs()),
            expect.map(|time| time.as_secs()),
            "{answers:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_had_an_answer_may_stay() {
        check(&[], Some(LIMIT)).await;
        check(&[401, 401], Some(LIMIT)).await;
        check(&[200], None).await;
        check(&[403], None).await;
        check(&[200, 401], None).await;
        check(&[401, 200], None).await;
    }
}
