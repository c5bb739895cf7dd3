//! Rotation of signing keys while the cluster runs: a sealed list in the store.
//!
//! Invariants: there is one list of a kind for the whole cluster, changed by comparing and
//! swapping, oldest first; a key that has just been added verifies on every node before it signs on
//! any; the one that signs stays, so there is always one.

use quorate_store::{Revision, Snapshot, Store};

use super::Parts;
use crate::error::Error;
use crate::pki::sealed;
use crate::signing_keys::{KeyAction, KeyAnswer, KeyInfo};

/// Keys at one time: every node reads them all.
const MAX_KEYS: usize = 16;
/// How often a change is made again because another one came first.
const MAX_ATTEMPTS: usize = 8;

/// A key of one kind.
pub(super) trait Rotating: Sized {
    /// The name of the list in the store.
    const NAME: &'static str;

    /// The keys of a list as it is stored, oldest first.
    fn decode(plain: &[u8]) -> Result<Vec<Self>, Error>;

    /// The list as it is stored.
    fn encode(keys: &[Self]) -> Result<Vec<u8>, Error>;

    /// A new key.
    fn generate(now_ms: u64) -> Result<Self, Error>;

    /// What an operator sees of keys, in their order.
    fn tell(keys: &[Self], now_ms: u64) -> Result<Vec<KeyInfo>, Error>;
}

/// The keys in a state of the store, and their revision; `None` when there are none yet.
pub(super) fn read<K: Rotating>(
    parts: &Parts,
    snapshot: &Snapshot,
) -> Result<Option<(Vec<K>, Revision)>, Error> {
    let Some((plain, revision)) = sealed::get(snapshot, &parts.secret, K::NAME)? else {
        return Ok(None);
    };
    Ok(Some((K::decode(&plain)?, revision)))
}

/// Puts keys in place of those of this revision (zero for none). False when others are there.
pub(super) async fn write<K: Rotating>(
    parts: &Parts,
    store: &dyn Store,
    keys: &[K],
    at: Revision,
) -> Result<bool, Error> {
    let plain = K::encode(keys)?;
    sealed::put(store, &parts.secret, &*parts.env.entropy, K::NAME, &plain, at).await
}

/// Carries out a request of an operator. Runs on the leader.
pub(super) async fn answer<K: Rotating + Send + Sync>(
    parts: &Parts,
    store: &dyn Store,
    action: &KeyAction,
) -> Result<KeyAnswer, Error> {
    let now = parts.env.clock.now_ms();
    for _ in 0..MAX_ATTEMPTS {
        store.read_index().await.map_err(Error::failed)?;
        let found = read::<K>(parts, &store.snapshot())?;
        let (mut keys, at) = found.ok_or_else(|| Error::failed("the cluster has no keys yet"))?;
        match action {
            KeyAction::List => return Ok(KeyAnswer(K::tell(&keys, now)?)),
            KeyAction::Rotate => {
                if keys.len() >= MAX_KEYS {
                    return Err(Error::failed(format_args!(
                        "there are {MAX_KEYS} keys already: remove one that is no longer needed"
                    )));
                }
                keys.push(K::generate(now)?);
            }
            KeyAction::Remove(id) => {
                let told = K::tell(&keys, now)?;
                let at = told.iter().position(|key| key.id == *id);
                let at = at.ok_or_else(|| Error::failed(format_args!("there is no key {id}")))?;
                if told[at].signs {
                    return Err(Error::failed(
                        "this key signs: rotate first, and wait until another signs",
                    ));
                }
                keys.remove(at);
            }
        }
        if write(parts, store, &keys, at).await? {
            return Ok(KeyAnswer(K::tell(&keys, now)?));
        }
    }
    Err(Error::failed("others change the keys all the time"))
}
