//! The static tokens of a node while it runs: read again when their file changes.
//!
//! Invariant: a file with a mistake changes nothing, and the log says which line it is, never what stands there.

use std::path::PathBuf;
use std::sync::Arc;

use quorate_api::Api;

use crate::access;
use crate::watched::{Looks, Seen};

/// Looks after the tokens of a file for as long as the node runs.
pub(super) async fn run(file: PathBuf, api: Arc<Api>) {
    let mut looks = match Looks::new() {
        Ok(looks) => looks,
        Err(error) => {
            tracing::error!(%error, "static tokens are not reloaded: cannot listen for SIGHUP");
            return;
        }
    };
    // What the node has read at its start may be older than this look: it is read once more.
    let mut seen = Seen::default();
    loop {
        let current = Seen::of([file.clone()]);
        if current != seen {
            match access::static_tokens(&file) {
                Ok(tokens) => {
                    tracing::info!(?tokens, "the static tokens were read");
                    api.authentication.set_static_tokens(tokens);
                }
                Err(error) => tracing::warn!(%error, "the changed static tokens cannot be used; the old ones stay"),
            }
            seen = current;
        }
        looks.next().await;
    }
}
