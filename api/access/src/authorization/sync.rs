//! Reads what the authorizer decides by when the node starts, and takes in changes as they come, so that requests rarely
//! have to.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Authorizer;

/// What the feed needs.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    /// Who is fed.
    pub authorizer: Arc<Authorizer>,
}

/// Feeds the authorizer of one node.
#[derive(Debug)]
pub struct Feed {
    options: FeedOptions,
    stop: CancellationToken,
}

/// Stops the feed.
#[derive(Debug, Clone)]
pub struct FeedHandle {
    stop: CancellationToken,
}

impl FeedHandle {
    /// Ends [`Feed::run`], at once.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl Feed {
    /// The service and what stops it.
    #[must_use]
    pub fn new(options: FeedOptions) -> (Self, FeedHandle) {
        let stop = CancellationToken::new();
        (Self { options, stop: stop.clone() }, FeedHandle { stop })
    }

    /// Feeds until stopped; returns at once when nothing that is stored matters.
    pub async fn run(self) {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = self.options.authorizer.follow() => {}
        }
    }
}
