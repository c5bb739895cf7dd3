//! The key of a repository: 32 random bytes in a file, from which each object's own key is derived.
//!
//! Invariant: no key is ever used twice. An object's is derived (HKDF-SHA256) from 32 random bytes of
//! its own, so its one nonce cannot repeat, however many nodes write and however often a run is begun again.

use std::fmt;

use quorate_env::Entropy;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Random bytes of each object.
pub(crate) const SALT_BYTES: usize = 32;
/// What derived keys are for.
const PURPOSE: &[u8] = b"quorate backup object 1";

/// Opens a repository.
#[derive(Clone)]
pub struct BackupKey([u8; KEY_BYTES]);

impl fmt::Debug for BackupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BackupKey(..)")
    }
}

impl BackupKey {
    /// A new one.
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; KEY_BYTES];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// From the bytes of a key file; `None` when there are not [`KEY_BYTES`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// What its file holds.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Encrypts in place and appends the tag.
    pub(crate) fn seal(&self, salt: &[u8; SALT_BYTES], aad: &[u8], plain: &mut Vec<u8>) {
        self.derive(salt)
            .seal_in_place_append_tag(nonce(), Aad::from(aad), plain)
            .expect("objects are far below the cipher's size limit");
    }

    /// Decrypts; `None` when any of this is not what it was sealed with.
    pub(crate) fn open(
        &self,
        salt: &[u8; SALT_BYTES],
        aad: &[u8],
        mut sealed: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let key = self.derive(salt);
        let length = key.open_in_place(nonce(), Aad::from(aad), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }

    fn derive(&self, salt: &[u8; SALT_BYTES]) -> LessSafeKey {
        let pseudorandom = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&self.0);
        let info = [PURPOSE];
        let derived = pseudorandom
            .expand(&info, &AES_256_GCM)
            .expect("a key is shorter than what can be derived");
        LessSafeKey::new(UnboundKey::from(derived))
    }
}

/// The one nonce of a key that seals once.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}
