//! The keys of service account tokens: made once for the cluster, and handed to the API of this
//! node whenever they change.
//!
//! Invariant: a key that has just been added verifies on every node before it signs on any (see
//! [`KeySet`]).

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_access::authentication::token::{KeyMaterial, KeySet};
use quorate_api::Api;
use quorate_store::Revision;
use serde::{Deserialize, Serialize};

use super::Parts;
use super::rotation::{self, Rotating};
use crate::error::Error;
use crate::log_once::LogOnce;
use crate::pki::{names, sealed};
use crate::signing_keys::KeyInfo;

/// How long to wait before trying again.
const RETRY: Duration = Duration::from_millis(100);

/// A key as it lies in the store, sealed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    pkcs8: String,
    created_ms: u64,
}

/// Makes the keys where there are none, and follows them for as long as the node runs.
pub(super) async fn run(parts: Arc<Parts>, api: Arc<Api>) {
    let mut log_once = LogOnce::default();
    loop {
        if let Err(error) = follow(&parts, &api, &mut log_once).await {
            tracing::debug!(%error, "the keys of service account tokens are not available yet");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(parts: &Parts, api: &Api, log_once: &mut LogOnce) -> Result<(), Error> {
    loop {
        let snapshot = api.store.snapshot();
        let mut changes = api
            .store
            .watch(sealed::key_of(names::TOKEN_KEYS), snapshot.revision())
            .map_err(Error::failed)?;
        let found = rotation::read(parts, &snapshot);
        if let Some(error) = log_once.new_error(&found) {
            tracing::warn!(error, "the keys of service account tokens cannot be read");
        }
        match found? {
            Some((material, _)) => {
                let keys = KeySet::new(&material).map_err(Error::failed)?;
                tracing::info!(?keys, "the keys of service account tokens are known");
                api.authentication.service_accounts.set_keys(keys);
            }
            None => {
                let first =
                    KeyMaterial::generate(parts.env.clock.now_ms()).map_err(Error::failed)?;
                rotation::write(parts, &*api.store, &[first], Revision::ZERO).await?;
            }
        }
        changes.next().await.map_err(Error::failed)?;
    }
}

impl Rotating for KeyMaterial {
    const NAME: &'static str = names::TOKEN_KEYS;

    fn decode(plain: &[u8]) -> Result<Vec<Self>, Error> {
        let stored: Vec<Stored> = serde_json::from_slice(plain).map_err(Error::failed)?;
        let key = |stored: Stored| {
            let pkcs8 = STANDARD.decode(&stored.pkcs8).map_err(Error::failed)?;
            Ok::<_, Error>(Self { pkcs8, created_ms: stored.created_ms })
        };
        let mut keys = stored.into_iter().map(key).collect::<Result<Vec<_>, _>>()?;
        keys.sort_by_key(|key| key.created_ms);
        Ok(keys)
    }

    fn encode(keys: &[Self]) -> Result<Vec<u8>, Error> {
        let stored = keys
            .iter()
            .map(|key| Stored { pkcs8: STANDARD.encode(&key.pkcs8), created_ms: key.created_ms });
        serde_json::to_vec(&stored.collect::<Vec<_>>()).map_err(Error::failed)
    }

    fn generate(now_ms: u64) -> Result<Self, Error> {
        Self::generate(now_ms).map_err(Error::failed)
    }

    fn tell(keys: &[Self], now_ms: u64) -> Result<Vec<KeyInfo>, Error> {
        let keys = KeySet::new(keys).map_err(Error::failed)?;
        let info = |(id, created_ms, signs): (&str, u64, bool)| KeyInfo {
            id: id.to_owned(),
            created_ms,
            signs,
        };
        Ok(keys.list(now_ms).map(info).collect())
    }
}
