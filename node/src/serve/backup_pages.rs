//! The pages of backups at this node: its store's state and changes as frames.
//!
//! Invariant: what lies sealed in the state stays sealed; the secret that opens it is a page of its
//! own, so that a right on the others does not give it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use quorate_api::backup_pages::{BackupPage, BackupPages, BackupRefusal};
use quorate_api::body::Chunks;
use quorate_backup::{
    Credentials, Frame, Identity, Source, SourceError, StoreSource, encode_frame,
};
use quorate_store::Store;

use super::Parts;

/// The pages of a node.
pub(super) struct NodeBackupPages {
    source: StoreSource,
}

impl NodeBackupPages {
    pub(super) fn new(parts: &Parts, store: &Arc<dyn Store>) -> Self {
        Self { source: source(parts, store) }
    }
}

/// The state of this node's cluster.
pub(super) fn source(parts: &Parts, store: &Arc<dyn Store>) -> StoreSource {
    let identity = Identity {
        cluster: parts.config.cluster.to_string(),
        naming: parts.config.naming.to_string(),
    };
    let credentials = Some(Credentials(Bytes::copy_from_slice(parts.secret.as_bytes())));
    StoreSource {
        store: store.clone(),
        clock: parts.env.clock.clone(),
        identity,
        credentials,
        digested_ms: Arc::default(),
    }
}

#[async_trait]
impl BackupPages for NodeBackupPages {
    async fn open(&self, page: BackupPage) -> Result<Chunks, BackupRefusal> {
        let one = |frame: Frame| futures::stream::iter([Ok(frame)]).boxed();
        let frames = match page {
            BackupPage::Identity => self.source.identity().await.map(Frame::Identity).map(one),
            BackupPage::Credentials => {
                self.source.credentials().await.map(Frame::Credentials).map(one)
            }
            BackupPage::State(resume) => self.source.state(resume).await,
            BackupPage::Changes(after) => self.source.changes(after).await,
        };
        let frames = frames.map_err(|error| match error {
            SourceError::Gone => BackupRefusal::Gone(error.to_string()),
            SourceError::Unavailable(why) | SourceError::Refused(why) => {
                BackupRefusal::Unavailable(why)
            }
        })?;
        Ok(Box::pin(frames.map(|frame| Ok(encode_frame(&frame)))))
    }
}
