//! Sealed secrets in the replicated store: the keys of the authorities and of tokens, readable by
//! members only.
//!
//! Each secret is sealed with AES-256-GCM under the cluster secret, a random 256-bit key that every
//! member keeps in its data folder and a new node receives when it joins. The name of the secret is
//! authenticated with it, so that sealed values cannot be swapped. Layout of a sealed value: 12
//! bytes of nonce, then ciphertext and tag.

use std::fmt;
use std::path::Path;

use bytes::Bytes;
use quorate_env::Entropy;
use quorate_store::{Condition, Operation, Outcome, Revision, Snapshot, Store, Txn};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

use super::{Authority, Identity};
use crate::error::Error;

/// Length of the cluster secret in bytes.
pub(crate) const SECRET_LENGTH: usize = 32;

/// The key that seals what the nodes of a cluster share.
#[derive(Clone)]
pub(crate) struct ClusterSecret([u8; SECRET_LENGTH]);

impl fmt::Debug for ClusterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterSecret(..)")
    }
}

impl ClusterSecret {
    /// A new secret.
    pub(crate) fn generate(entropy: &dyn Entropy) -> Self {
        let mut secret = [0; SECRET_LENGTH];
        entropy.fill(&mut secret);
        Self(secret)
    }

    /// A secret from its bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let secret = bytes.try_into().map_err(|_| {
            Error::config(format_args!(
                "the cluster secret has {} bytes and must have {SECRET_LENGTH}",
                bytes.len()
            ))
        })?;
        Ok(Self(secret))
    }

    /// Reads a node's secret.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let bytes = std::fs::read(path)
            .map_err(|error| Error::config(format_args!("{}: {error}", path.display())))?;
        Self::from_bytes(&bytes)
    }

    /// Its bytes, to be kept where only the node reads them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A key for one purpose, the same on every node.
    pub(crate) fn derive(&self, purpose: &str) -> [u8; 32] {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), purpose.as_bytes());
        tag.as_ref().try_into().expect("a SHA-256 tag has 32 bytes")
    }

    fn key(&self) -> LessSafeKey {
        LessSafeKey::new(
            UnboundKey::new(&AES_256_GCM, &self.0).expect("the secret has the length of the key"),
        )
    }

    fn seal(&self, name: &str, plain: &[u8], entropy: &dyn Entropy) -> Vec<u8> {
        let mut nonce = [0; NONCE_LEN];
        entropy.fill(&mut nonce);
        let mut sealed = plain.to_vec();
        self.key()
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(name.as_bytes()),
                &mut sealed,
            )
            .expect("a secret is far below the cipher's size limit");
        [&nonce[..], &sealed].concat()
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, body) = sealed.split_at_checked(NONCE_LEN)?;
        let mut body = body.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let length =
            self.key().open_in_place(nonce, Aad::from(name.as_bytes()), &mut body).ok()?.len();
        body.truncate(length);
        Some(body)
    }
}

/// Puts an authority into the store, unless one of that name is there.
pub(crate) async fn publish(
    store: &dyn Store,
    secret: &ClusterSecret,
    entropy: &dyn Entropy,
    name: &str,
    authority: &Authority,
) -> Result<(), Error> {
    let Identity { certificate, key } = authority.identity();
    let plain = serde_json::to_vec(&[certificate, key]).map_err(Error::failed)?;
    put(store, secret, entropy, name, &plain, Revision::ZERO).await.map(drop)
}

/// Puts a secret into the store in place of the one of that name and revision (zero for none).
/// False when another one is there.
pub(crate) async fn put(
    store: &dyn Store,
    secret: &ClusterSecret,
    entropy: &dyn Entropy,
    name: &str,
    plain: &[u8],
    at: Revision,
) -> Result<bool, Error> {
    let key = key_of(name);
    let txn = Txn {
        conditions: vec![Condition::Modified { key: key.clone(), revision: at }],
        operations: vec![Operation::Put { key, value: secret.seal(name, plain, entropy).into() }],
        ..Txn::default()
    };
    match store.txn(txn).await.map_err(Error::failed)? {
        Outcome::Committed { .. } => Ok(true),
        Outcome::Conflict { .. } => Ok(false),
    }
}

/// A secret in a state of the store, and its revision; `None` when there is none of that name.
pub(crate) fn get(
    snapshot: &Snapshot,
    secret: &ClusterSecret,
    name: &str,
) -> Result<Option<(Vec<u8>, Revision)>, Error> {
    let Some(entry) = snapshot.get(&key_of(name)) else {
        return Ok(None);
    };
    let plain = secret.open(name, &entry.value);
    let plain = plain.ok_or_else(|| {
        Error::failed(format_args!("'{name}' is not sealed with this node's cluster secret"))
    })?;
    Ok(Some((plain, entry.modified)))
}

/// Reads an authority from the store.
pub(crate) fn authority(
    store: &dyn Store,
    secret: &ClusterSecret,
    name: &str,
) -> Result<Authority, Error> {
    authority_in(&store.snapshot(), secret, name)
}

/// The same from what a store holds.
pub(crate) fn authority_in(
    snapshot: &Snapshot,
    secret: &ClusterSecret,
    name: &str,
) -> Result<Authority, Error> {
    let found = get(snapshot, secret, name)?;
    let (plain, _) = found.ok_or_else(|| {
        Error::failed(format_args!("the store does not hold the authority '{name}' yet"))
    })?;
    let [certificate, key]: [String; 2] = serde_json::from_slice(&plain).map_err(Error::failed)?;
    Ok(Authority::from_identity(Identity { certificate, key }))
}

/// The key under which a secret lies in the store.
pub(crate) fn key_of(name: &str) -> Bytes {
    format!("s/pki/{name}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Counting;
    impl Entropy for Counting {
        fn fill(&self, buffer: &mut [u8]) {
            for (i, byte) in buffer.iter_mut().enumerate() {
                *byte = i as u8;
            }
        }
    }

    #[test]
    fn opens_only_what_was_sealed_under_the_same_name_and_secret() {
        let secret = ClusterSecret([7; SECRET_LENGTH]);
        let sealed = secret.seal("ca", b"plain", &Counting);
        let check = |secret: &ClusterSecret, name, sealed: &[u8], expect: Option<&[u8]>| {
            assert_eq!(secret.open(name, sealed).as_deref(), expect);
        };
        check(&secret, "ca", &sealed, Some(b"plain"));
        check(&secret, "peer-ca", &sealed, None);
        check(&ClusterSecret([8; SECRET_LENGTH]), "ca", &sealed, None);
        check(&secret, "ca", &sealed[..NONCE_LEN - 1], None);
        let mut bent = sealed.clone();
        *bent.last_mut().expect("not empty") ^= 1;
        check(&secret, "ca", &bent, None);
    }
}
