//! Join tokens: `id.secret`, both lower-case hexadecimal.
//!
//! Invariants: the secret is 128 random bits; only its SHA-256 is ever stored; it is never printed
//! by `Debug`; comparing takes the same time wherever the difference is.

use std::fmt;
use std::str::FromStr;

use quorate_env::Entropy;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Random bytes of an id.
const ID_BYTES: usize = 4;
/// Random bytes of a secret.
const SECRET_BYTES: usize = 16;

/// The secret with which a node may join.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinToken {
    id: String,
    secret: String,
}

impl JoinToken {
    /// A new one.
    #[must_use]
    pub fn generate(entropy: &dyn Entropy) -> Self {
        let (mut id, mut secret) = ([0; ID_BYTES], [0; SECRET_BYTES]);
        entropy.fill(&mut id);
        entropy.fill(&mut secret);
        Self { id: hex(&id), secret: hex(&secret) }
    }

    /// The part that may be shown and stored.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is stored of the secret.
    pub(crate) fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret.as_bytes()).into()
    }

    /// Whether the secret is the one of which this was stored.
    pub(crate) fn matches(&self, stored: &[u8; 32]) -> bool {
        self.hash().iter().zip(stored).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// The whole token, secret included: for the operator that made it.
impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.id, self.secret)
    }
}

impl fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinToken({}.…)", self.id)
    }
}

impl FromStr for JoinToken {
    type Err = ParseTokenError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |part: &str, bytes: usize| {
            part.len() == 2 * bytes
                && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        };
        match text.split_once('.') {
            Some((id, secret)) if digits(id, ID_BYTES) && digits(secret, SECRET_BYTES) => {
                Ok(Self { id: id.to_owned(), secret: secret.to_owned() })
            }
            _ => Err(ParseTokenError),
        }
    }
}

/// The text is not a join token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a join token looks like 0123abcd.0123456789abcdef0123456789abcdef")]
pub struct ParseTokenError;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123abcd.0123456789abcdef0123456789abcdef";

    fn check(text: &str, expect: Result<&str, ParseTokenError>) {
        assert_eq!(
            text.parse::<JoinToken>().map(|token| token.to_string()),
            expect.map(str::to_owned),
            "{text:?}"
        );
    }

    #[test]
    fn parses_what_it_prints_and_nothing_else() {
        check(TOKEN, Ok(TOKEN));
        let nearly = [
            &TOKEN[1..],
            &TOKEN[..40],
            &TOKEN.to_uppercase(),
            &TOKEN.replace('.', ":"),
            &format!("{TOKEN}0"),
        ];
        for text in nearly {
            check(text, Err(ParseTokenError));
        }
    }

    #[test]
    fn only_the_right_secret_matches_and_debug_hides_it() {
        let token: JoinToken = TOKEN.parse().expect("valid");
        let other: JoinToken = TOKEN.replace("ef01", "ef02").parse().expect("valid");
        assert!(token.matches(&token.hash()));
        assert!(!other.matches(&token.hash()));
        assert_eq!(format!("{token:?}"), "JoinToken(0123abcd.…)");
    }
}
