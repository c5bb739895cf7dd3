//! Signing keys of service account tokens.
//!
//! Invariants: one key signs, every key verifies; a new key verifies at once and signs only after
//! [`SETTLING_MS`], when every node has had the time to learn of it. A key's id is the thumbprint
//! of its public half (RFC 7638), so that it is never reused for another key.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use quorate_meta::{Map, Value};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use thiserror::Error;

use super::jws::ALGORITHM;

/// How long after its making a key that has predecessors begins to sign.
const SETTLING_MS: u64 = 10_000;
/// Length of an uncompressed point of P-256.
const POINT_BYTES: usize = 65;

/// Key material that is no private key of P-256 in PKCS#8, or a set without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no usable ECDSA P-256 key")]
pub struct UnusableKey;

/// A private key as it is kept.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyMaterial {
    /// PKCS#8, DER.
    pub pkcs8: Vec<u8>,
    /// When it was made, milliseconds since the Unix epoch.
    pub created_ms: u64,
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyMaterial").field("created_ms", &self.created_ms).finish_non_exhaustive()
    }
}

impl KeyMaterial {
    /// A new key.
    pub fn generate(now_ms: u64) -> Result<Self, UnusableKey> {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        Ok(Self { pkcs8: pkcs8.map_err(|_| UnusableKey)?.as_ref().to_vec(), created_ms: now_ms })
    }
}

/// A key ready for use.
pub(super) struct SigningKey {
    id: String,
    pair: EcdsaKeyPair,
    public: [u8; POINT_BYTES],
    created_ms: u64,
}

impl SigningKey {
    fn new(material: &KeyMaterial) -> Result<Self, UnusableKey> {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, &material.pkcs8, &SystemRandom::new());
        let pair = pair.map_err(|_| UnusableKey)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| UnusableKey)?;
        let (x, y) = coordinates(&public);
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let id = URL_SAFE_NO_PAD.encode(digest(&SHA256, canonical.as_bytes()));
        Ok(Self { id, pair, public, created_ms: material.created_ms })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn pair(&self) -> &EcdsaKeyPair {
        &self.pair
    }

    /// The public half: an uncompressed point.
    pub(super) fn public(&self) -> &[u8] {
        &self.public
    }

    fn jwk(&self) -> Value {
        let (x, y) = coordinates(&self.public);
        let fields: [(&str, &str); 7] = [
            ("use", "sig"),
            ("kty", "EC"),
            ("kid", &self.id),
            ("crv", "P-256"),
            ("alg", ALGORITHM),
            ("x", &x),
            ("y", &y),
        ];
        Value::Map(Map::from(fields))
    }
}

/// The keys of a cluster at some moment.
pub struct KeySet {
    /// Oldest first, never empty.
    keys: Vec<SigningKey>,
}

impl KeySet {
    /// The set of these keys.
    ///
    /// # Errors
    /// When there is none, or one cannot be used.
    pub fn new(material: &[KeyMaterial]) -> Result<Self, UnusableKey> {
        let mut keys = material.iter().map(SigningKey::new).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() {
            return Err(UnusableKey);
        }
        keys.sort_by_key(|key| key.created_ms);
        Ok(Self { keys })
    }

    /// Id, making in milliseconds since the Unix epoch, and whether it signs now, of every key:
    /// oldest first.
    pub fn list(&self, now_ms: u64) -> impl Iterator<Item = (&str, u64, bool)> {
        let signing = self.signing(now_ms).id();
        self.keys.iter().map(move |key| (key.id(), key.created_ms, key.id() == signing))
    }

    /// The key that signs: the newest that every node knows.
    pub(super) fn signing(&self, now_ms: u64) -> &SigningKey {
        let settled =
            self.keys.iter().rev().find(|key| key.created_ms.saturating_add(SETTLING_MS) <= now_ms);
        settled.or(self.keys.first()).expect("a set is never empty")
    }

    pub(super) fn find(&self, id: &str) -> Option<&SigningKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// The public halves as a JSON web key set (RFC 7517).
    #[must_use]
    pub fn published(&self) -> Value {
        Value::Map(Map::from([(
            "keys",
            Value::List(self.keys.iter().map(SigningKey::jwk).collect()),
        )]))
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys.iter().map(SigningKey::id)).finish()
    }
}

fn coordinates(public: &[u8; POINT_BYTES]) -> (String, String) {
    // The first byte says that the point is not compressed.
    let (x, y) = public[1..].split_at((POINT_BYTES - 1) / 2);
    (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_signs_once_every_node_knows_it() {
        let keys: Vec<_> =
            [1_000, 60_000].map(|made| KeyMaterial::generate(made).unwrap()).to_vec();
        let id = |material: &KeyMaterial| SigningKey::new(material).unwrap().id;
        let check = |material: &[KeyMaterial], now: u64, expect: &KeyMaterial| {
            assert_eq!(KeySet::new(material).unwrap().signing(now).id(), id(expect), "{now}");
        };
        check(&keys[..1], 0, &keys[0]);
        check(&keys, 60_000, &keys[0]);
        check(&keys, 60_000 + SETTLING_MS, &keys[1]);
        check(&[keys[1].clone(), keys[0].clone()], 60_000 + SETTLING_MS, &keys[1]);
        assert_eq!(KeySet::new(&[]).err(), Some(UnusableKey));
    }

    #[test]
    fn only_the_public_half_is_published() {
        let set = KeySet::new(&[KeyMaterial::generate(0).unwrap()]).unwrap();
        let published = set.published();
        let key = &published.at(&["keys"]).and_then(Value::as_list).unwrap()[0];
        let mut fields: Vec<_> =
            key.as_map().unwrap().iter().map(|(field, _)| field.to_owned()).collect();
        fields.sort();
        assert_eq!(fields, ["alg", "crv", "kid", "kty", "use", "x", "y"]);
        assert_eq!(key.str_at(&["kid"]), Some(set.signing(0).id()));
    }
}
