//! The keys of service account tokens: made once for the cluster, kept sealed in the store, and handed to the API of this
//! node whenever they change.
//!
//! Invariants: there is one list for the whole cluster, changed by comparing and swapping; a key that has just been added
//! verifies on every node before it signs on any (see [`KeySet`]); at least one key stays.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_api::Api;
use quorate_api::authentication::token::{KeyMaterial, KeySet};
use quorate_store::{Revision, Snapshot, Store};
use serde::{Deserialize, Serialize};

use super::Parts;
use crate::error::Error;
use crate::pki::{names, vault};
use crate::signing_keys::{KeyAnswer, KeyInfo, KeyRequest};

/// How long to wait before trying again.
const RETRY: Duration = Duration::from_millis(100);
/// Keys at one time: all are published, and every relying party reads them.
const MAX_KEYS: usize = 16;
/// How often a change is made again because another one came first.
const MAX_ATTEMPTS: usize = 8;

/// A key as it lies in the store, sealed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    pkcs8: String,
    created_ms: u64,
}

/// Makes the keys where there are none, and follows them for as long as the node runs.
pub(super) async fn run(parts: Arc<Parts>, api: Arc<Api>) {
    loop {
        if let Err(error) = follow(&parts, &api).await {
            tracing::debug!(%error, "the keys of service account tokens are not available yet");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(parts: &Parts, api: &Api) -> Result<(), Error> {
    loop {
        let snapshot = api.store.snapshot();
        let mut changes =
            api.store.watch(vault::key_of(names::TOKEN_KEYS), snapshot.revision()).map_err(Error::failed)?;
        match read(parts, &snapshot)? {
            Some((material, _)) => {
                let keys = KeySet::new(&material).map_err(Error::failed)?;
                tracing::info!(?keys, "the keys of service account tokens are known");
                api.authentication.service_accounts.set_keys(keys);
            }
            None => {
                let first = KeyMaterial::generate(parts.env.clock.now_ms()).map_err(Error::failed)?;
                write(parts, &*api.store, &[first], Revision::ZERO).await?;
            }
        }
        changes.next().await.map_err(Error::failed)?;
    }
}

/// Carries out what an operator wants. Runs on the leader.
pub(super) async fn answer(parts: &Parts, store: &dyn Store, request: KeyRequest) -> Result<KeyAnswer, Error> {
    let now = parts.env.clock.now_ms();
    for _ in 0..MAX_ATTEMPTS {
        store.read_index().await.map_err(Error::failed)?;
        let found = read(parts, &store.snapshot())?;
        let (mut material, at) = found.ok_or_else(|| Error::failed("the cluster has no keys yet"))?;
        match &request {
            KeyRequest::List => return list(&material, now),
            KeyRequest::Rotate => {
                if material.len() >= MAX_KEYS {
                    return Err(Error::failed(format_args!(
                        "there are {MAX_KEYS} keys already: remove one whose tokens have ended"
                    )));
                }
                material.push(KeyMaterial::generate(now).map_err(Error::failed)?);
            }
            KeyRequest::Remove(id) => {
                let keys = list(&material, now)?.0;
                let at = keys.iter().position(|key| key.id == *id);
                let at = at.ok_or_else(|| Error::failed(format_args!("there is no key {id}")))?;
                if keys[at].signs {
                    return Err(Error::failed("this key signs new tokens: rotate first, and wait until another signs"));
                }
                material.sort_by_key(|key| key.created_ms);
                material.remove(at);
            }
        }
        if write(parts, store, &material, at).await? {
            return list(&material, now);
        }
    }
    Err(Error::failed("others change the keys all the time"))
}

fn list(material: &[KeyMaterial], now: u64) -> Result<KeyAnswer, Error> {
    let keys = KeySet::new(material).map_err(Error::failed)?;
    let info = |(id, created_ms, signs): (&str, u64, bool)| KeyInfo { id: id.to_owned(), created_ms, signs };
    Ok(KeyAnswer(keys.list(now).map(info).collect()))
}

fn read(parts: &Parts, snapshot: &Snapshot) -> Result<Option<(Vec<KeyMaterial>, Revision)>, Error> {
    let Some((plain, revision)) = vault::get(snapshot, &parts.secret, names::TOKEN_KEYS)? else { return Ok(None) };
    let stored: Vec<Stored> = serde_json::from_slice(&plain).map_err(Error::failed)?;
    let key = |stored: Stored| {
        let pkcs8 = STANDARD.decode(&stored.pkcs8).map_err(Error::failed)?;
        Ok::<_, Error>(KeyMaterial { pkcs8, created_ms: stored.created_ms })
    };
    Ok(Some((stored.into_iter().map(key).collect::<Result<_, _>>()?, revision)))
}

async fn write(parts: &Parts, store: &dyn Store, keys: &[KeyMaterial], at: Revision) -> Result<bool, Error> {
    let stored = keys.iter().map(|key| Stored { pkcs8: STANDARD.encode(&key.pkcs8), created_ms: key.created_ms });
    let plain = serde_json::to_vec(&stored.collect::<Vec<_>>()).map_err(Error::failed)?;
    vault::put(store, &parts.secret, &*parts.env.entropy, names::TOKEN_KEYS, &plain, at).await
}
