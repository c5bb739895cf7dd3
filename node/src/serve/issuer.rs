//! The authorities of the well-known signers: the first is made once for a cluster, all are in the
//! store, and every node trusts each of them.
//!
//! Invariants: nothing but certificates for requests is signed with them; an authority that has
//! just been added is trusted by every node before any certificate is signed with it; a node keeps
//! a copy of their certificates beside its own, so that it trusts them from its start on.

use std::sync::Arc;
use std::time::Duration;

use quorate_controllers::certificates::{Issuer, NotIssued, Order};
use quorate_store::{Revision, Store};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::rotation::{self, Rotating};
use super::{Parts, certificates};
use crate::error::Error;
use crate::files::write_public;
use crate::log_once::LogOnce;
use crate::pki::issue::{SERIAL_BYTES, issue};
use crate::pki::{self, Authority, Identity, names, sealed};
use crate::setup::now;
use crate::signing_keys::KeyInfo;

/// How long to wait before trying again.
const RETRY: Duration = Duration::from_millis(200);
/// What the authorities call themselves.
const COMMON_NAME: &str = "quorate-signer-ca";
/// How long after its making an authority that has predecessors begins to sign: every node has
/// learnt of it by then.
const SETTLING_MS: u64 = 10_000;
/// Bytes of a certificate's hash that name its authority.
const ID_BYTES: usize = 8;

/// An authority as it lies in the store, sealed.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SigningAuthority {
    certificate: String,
    key: String,
    created_ms: u64,
}

impl SigningAuthority {
    /// The one that signs: the newest that every node trusts.
    fn signing(all: &[Self], now_ms: u64) -> Option<&Self> {
        all.iter()
            .rev()
            .find(|one| one.created_ms.saturating_add(SETTLING_MS) <= now_ms)
            .or(all.first())
    }

    fn id(&self) -> Result<String, Error> {
        let certificate = pki::certificates(&self.certificate)?;
        let hash = digest(&SHA256, &certificate[0]);
        Ok(hash.as_ref()[..ID_BYTES].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl Rotating for SigningAuthority {
    const NAME: &'static str = names::SIGNER_AUTHORITY;

    fn decode(plain: &[u8]) -> Result<Vec<Self>, Error> {
        // A cluster that has never had another one may keep it as other authorities are kept.
        if let Ok([certificate, key]) = serde_json::from_slice::<[String; 2]>(plain) {
            return Ok(vec![Self { certificate, key, created_ms: 0 }]);
        }
        serde_json::from_slice(plain).map_err(Error::failed)
    }

    fn encode(all: &[Self]) -> Result<Vec<u8>, Error> {
        serde_json::to_vec(all).map_err(Error::failed)
    }

    fn generate(now_ms: u64) -> Result<Self, Error> {
        let nanoseconds = i128::from(now_ms) * 1_000_000;
        let now = OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).map_err(Error::failed)?;
        let Identity { certificate, key } =
            Authority::generate(COMMON_NAME, now)?.identity().clone();
        Ok(Self { certificate, key, created_ms: now_ms })
    }

    fn tell(all: &[Self], now_ms: u64) -> Result<Vec<KeyInfo>, Error> {
        let signing = Self::signing(all, now_ms).map(|one| one.certificate.as_str());
        let info = |one: &Self| {
            let signs = signing == Some(one.certificate.as_str());
            Ok(KeyInfo { id: one.id()?, created_ms: one.created_ms, signs })
        };
        all.iter().map(info).collect()
    }
}

/// Issues with the authority in the store.
pub(super) struct StoreIssuer {
    pub(super) parts: Arc<Parts>,
    pub(super) store: Arc<dyn Store>,
}

impl std::fmt::Debug for StoreIssuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreIssuer")
    }
}

impl Issuer for StoreIssuer {
    fn issue(&self, order: &Order<'_>) -> Result<String, NotIssued> {
        let Parts { env, .. } = &*self.parts;
        let found = rotation::read::<SigningAuthority>(&self.parts, &self.store.snapshot());
        let all =
            found.map_err(|error| NotIssued::Unavailable(error.to_string()))?.unwrap_or_default().0;
        let authority = SigningAuthority::signing(&all, env.clock.now_ms());
        let authority = authority.ok_or_else(|| {
            NotIssued::Unavailable("the signers have no authority yet".to_owned())
        })?;
        let mut serial = [0; SERIAL_BYTES];
        env.entropy.fill(&mut serial);
        let identity =
            Identity { certificate: authority.certificate.clone(), key: authority.key.clone() };
        issue(&identity, order, serial, now(env))
    }
}

/// Makes the first authority unless the cluster has one, and trusts those that it has, for as long
/// as the node runs.
pub(super) async fn run(parts: Arc<Parts>, store: Arc<dyn Store>) {
    let mut log_once = LogOnce::default();
    loop {
        if let Err(error) = follow(&parts, &*store, &mut log_once).await {
            tracing::debug!(%error, "the authorities of the signers are not available yet");
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn follow(parts: &Parts, store: &dyn Store, log_once: &mut LogOnce) -> Result<(), Error> {
    store.read_index().await.map_err(Error::failed)?;
    loop {
        let snapshot = store.snapshot();
        let key = sealed::key_of(names::SIGNER_AUTHORITY);
        let mut changes = store.watch(key, snapshot.revision()).map_err(Error::failed)?;
        let found = rotation::read::<SigningAuthority>(parts, &snapshot);
        if let Some(error) = log_once.new_error(&found) {
            tracing::warn!(error, "the authorities of the signers cannot be read");
        }
        match found? {
            Some((all, _)) => trust(parts, &all)?,
            None => {
                let first = SigningAuthority::generate(parts.env.clock.now_ms())?;
                rotation::write(parts, store, &[first], Revision::ZERO).await?;
            }
        }
        changes.next().await.map_err(Error::failed)?;
    }
}

/// Trusts client certificates of these authorities, and of no further ones.
fn trust(parts: &Parts, all: &[SigningAuthority]) -> Result<(), Error> {
    let path = parts.dir.pki().join(names::SIGNER_AUTHORITY_CERTIFICATE);
    let bundle: String = all.iter().map(|one| one.certificate.as_str()).collect();
    if std::fs::read(&path).is_ok_and(|known| known == bundle.as_bytes()) {
        return Ok(());
    }
    write_public(&path, bundle.as_bytes())?;
    certificates::reload(parts)?;
    tracing::info!(authorities = all.len(), "the authorities of the signers are known");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(created_ms: u64) -> SigningAuthority {
        SigningAuthority { certificate: format!("c{created_ms}"), key: String::new(), created_ms }
    }

    #[test]
    fn the_newest_signs_once_every_node_knows_it() {
        let check = |made: &[u64], now: u64, expect: Option<u64>| {
            let all: Vec<_> = made.iter().map(|made| authority(*made)).collect();
            assert_eq!(
                SigningAuthority::signing(&all, now).map(|one| one.created_ms),
                expect,
                "{made:?} at {now}"
            );
        };
        check(&[], 0, None);
        check(&[5], 5, Some(5));
        check(&[5, 100], 100, Some(5));
        check(&[5, 100], 100 + SETTLING_MS - 1, Some(5));
        check(&[5, 100], 100 + SETTLING_MS, Some(100));
    }

    #[test]
    fn an_authority_that_was_kept_alone_is_the_first_of_a_list() {
        let alone = SigningAuthority::decode(br#"["CERT","KEY"]"#).unwrap();
        assert_eq!(
            (alone.len(), alone[0].certificate.as_str(), alone[0].key.as_str()),
            (1, "CERT", "KEY")
        );
        let made = [SigningAuthority::generate(7).unwrap(), SigningAuthority::generate(9).unwrap()];
        let again = SigningAuthority::decode(&SigningAuthority::encode(&made).unwrap()).unwrap();
        let told = SigningAuthority::tell(&again, 10).unwrap();
        assert_eq!(
            (told[0].created_ms, told[1].created_ms, told[0].signs, told[1].signs),
            (7, 9, true, false)
        );
        assert!(told[0].id != told[1].id && told[0].id.len() == 2 * ID_BYTES);
    }
}
