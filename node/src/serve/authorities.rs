//! The first start of a founder: its authorities' keys go from its data folder into the store,
//! sealed.
//!
//! Invariant: the keys on disk are removed only after the store has them.

use std::sync::Arc;
use std::time::Duration;

use quorate_store::Store;

use super::Parts;
use crate::error::{Error, at};
use crate::pki::{Authority, Identity, names, sealed};

/// How long to wait before trying again.
const RETRY: Duration = Duration::from_secs(1);

/// Publishes what lies in the data folder, until it is done.
pub(super) async fn publish(parts: Arc<Parts>, store: Arc<dyn Store>) {
    for name in [names::AUTHORITY, names::PEER_AUTHORITY] {
        while let Err(error) = publish_one(&parts, &*store, name).await {
            tracing::warn!(%error, name, "cannot put the authority into the store yet");
            tokio::time::sleep(RETRY).await;
        }
    }
}

async fn publish_one(parts: &Parts, store: &dyn Store, name: &str) -> Result<(), Error> {
    let folder = parts.dir.pki();
    let key = folder.join(format!("{name}.key"));
    if !key.exists() {
        return Ok(());
    }
    let authority = Authority::from_identity(Identity::read(&folder, name)?);
    sealed::publish(store, &parts.secret, &*parts.env.entropy, name, &authority).await?;
    std::fs::remove_file(&key).map_err(at(&key))
}
