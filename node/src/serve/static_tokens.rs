//! The static tokens of a node while it runs: read again when their file changes.
//!
//! Invariants: a file with a mistake changes nothing, and the log says which line it is, never what
//! stands there; a file that is just being written is not taken for a whole one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quorate_api::Api;
use tokio::time::sleep;

use crate::cli;
use crate::file_watch::{CheckTimer, FileStamps};

/// How long a changed file has to stay as it is before it is read.
const SETTLED: Duration = Duration::from_millis(200);

/// Reloads the tokens of a file for as long as the node runs.
pub(super) async fn run(file: PathBuf, api: Arc<Api>) {
    let mut timer = match CheckTimer::new() {
        Ok(timer) => timer,
        Err(error) => {
            tracing::error!(%error, "static tokens are not reloaded: cannot listen for SIGHUP");
            return;
        }
    };
    // The node has read the file before this task began to watch it: it is read once more.
    let mut seen = FileStamps::default();
    loop {
        let current = settled(&file).await;
        if current != seen {
            match cli::static_tokens(&file) {
                Ok(tokens) => {
                    tracing::info!(?tokens, "the static tokens were read");
                    api.authentication.set_static_tokens(tokens);
                }
                Err(error) => {
                    tracing::warn!(%error, "the changed static tokens cannot be used; the old ones stay")
                }
            }
            seen = current;
        }
        timer.next().await;
    }
}

/// The stamp of the file once it has not changed for [`SETTLED`].
async fn settled(file: &Path) -> FileStamps {
    let look = || FileStamps::of([file.to_owned()]);
    let mut last = look();
    loop {
        sleep(SETTLED).await;
        let current = look();
        if current == last {
            return current;
        }
        last = current;
    }
}
