//! The cluster id: 128 random bits made once, when the cluster's first node is initialized.
//!
//! Invariant: everything that outlives a process or crosses the network carries it (log segments,
//! peer RPCs), so that a disk or an address of another cluster is refused and never mixed in. This
//! file only makes, prints and parses it.

use std::fmt;
use std::str::FromStr;

use quorate_env::Entropy;
use serde::{Deserialize, Serialize};

/// Names one cluster among all clusters. Printed as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClusterId([u8; 16]);

impl ClusterId {
    /// A new one.
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// The one with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterId({self})")
    }
}

impl FromStr for ClusterId {
    type Err = ParseClusterIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let valid = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number =
            u128::from_str_radix(text, 16).ok().filter(|_| valid).ok_or(ParseClusterIdError)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// The text is not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a cluster id has 32 hexadecimal digits")]
pub struct ParseClusterIdError;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<ClusterId, ParseClusterIdError>) {
        assert_eq!(text.parse(), expect, "{text:?}");
    }

    #[test]
    fn parses_what_it_prints() {
        let id = ClusterId::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(id.to_string(), "000102030405060708090a0b0c0d0eff");
        check(&id.to_string(), Ok(id));
    }

    #[test]
    fn refuses_anything_else() {
        for text in [
            "",
            "00",
            "000102030405060708090a0b0c0d0ef",
            "+00102030405060708090a0b0c0d0eff",
            "g00102030405060708090a0b0c0d0eff",
        ] {
            check(text, Err(ParseClusterIdError));
        }
    }
}
