//! Reads the rules when the node starts, and takes in changes as they come, so that requests rarely have to.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Rules;
use crate::authorization::Authorizer;

/// How long to wait after a failure before the rules are read again.
const RETRY: Duration = Duration::from_millis(100);

/// What the feed needs.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    /// Whose rules they are.
    pub authorizer: Arc<Authorizer>,
}

/// Feeds the rules of one node.
#[derive(Debug)]
pub struct RuleFeed {
    options: FeedOptions,
    stop: CancellationToken,
}

/// Stops the feed.
#[derive(Debug, Clone)]
pub struct RuleFeedHandle {
    stop: CancellationToken,
}

impl RuleFeedHandle {
    /// Ends [`RuleFeed::run`], at once.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

impl RuleFeed {
    /// The service and what stops it.
    #[must_use]
    pub fn new(options: FeedOptions) -> (Self, RuleFeedHandle) {
        let stop = CancellationToken::new();
        (Self { options, stop: stop.clone() }, RuleFeedHandle { stop })
    }

    /// Feeds until stopped; returns at once when the node decides without rules.
    pub async fn run(self) {
        let Some(rules) = self.options.authorizer.rules() else { return };
        tokio::select! {
            biased;
            () = self.stop.cancelled() => {}
            () = feed(rules) => {}
        }
    }
}

async fn feed(rules: &Rules) {
    loop {
        if let Err(error) = follow(rules).await {
            tracing::warn!(%error, "the rules of roles and bindings are read anew");
        }
        sleep(RETRY).await;
    }
}

/// Returns when the rules have to be read anew.
async fn follow(rules: &Rules) -> Result<(), quorate_store::HistoryError> {
    rules.read().await?;
    let mut bell = rules.bell()?;
    loop {
        bell.next().await?;
        if !rules.catch_up() {
            return Ok(());
        }
    }
}
