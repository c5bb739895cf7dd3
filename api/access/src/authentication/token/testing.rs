//! Keys for tests.

use super::{KeyMaterial, KeySet};

/// A new set with one key.
pub(super) fn key_set() -> KeySet {
    KeySet::new(&[KeyMaterial::generate(0).expect("a new key")]).expect("a usable key")
}
