//! Continue tokens: where the next page of a list begins.
//!
//! Invariants: opaque and authenticated. A token is only good for the collection and the selectors
//! that it was made for, on every node of the cluster; anything else is refused. It holds no
//! secret: revision, last key, objects left.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Buf, BufMut};
use quorate_store::Revision;
use ring::hmac;

/// The layout that this file writes and reads.
const FORMAT: u8 = 1;
/// Bytes of the tag that are kept.
const TAG_BYTES: usize = 16;
/// Format, revision and count.
const HEAD_BYTES: usize = 1 + 8 + 8;

/// Where a page ends, which is where the next one begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The state that every page of the list shows; zero when that is gone and the rest is told
    /// from the newest one.
    pub revision: Revision,
    /// The last key that has been listed.
    pub last: Vec<u8>,
    /// Objects after it, counted once for all pages.
    pub remaining: u64,
}

impl Position {
    /// The same place in whatever the newest state is.
    #[must_use]
    pub fn inconsistent(self) -> Self {
        Self { revision: Revision::ZERO, ..self }
    }

    /// Whether the list goes on in another state than it began in.
    #[must_use]
    pub fn is_inconsistent(&self) -> bool {
        self.revision == Revision::ZERO
    }
}

/// Makes and checks tokens.
#[derive(Debug)]
pub struct Tokens(hmac::Key);

impl Tokens {
    /// Tokens that are authenticated with this secret, which all nodes of a cluster share.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &secret))
    }

    /// The token of a position; `scope` is what it is bound to.
    #[must_use]
    pub fn seal(&self, scope: &str, position: &Position) -> String {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + position.last.len() + TAG_BYTES);
        bytes.put_u8(FORMAT);
        bytes.put_u64(position.revision.get());
        bytes.put_u64(position.remaining);
        bytes.put_slice(&position.last);
        let tag = self.tag(scope, &bytes);
        bytes.put_slice(&tag.as_ref()[..TAG_BYTES]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The position of a token; `None` when it was not made here for this scope.
    #[must_use]
    pub fn open(&self, scope: &str, token: &str) -> Option<Position> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (body, tag) = bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?;
        if !equal(&self.tag(scope, body).as_ref()[..TAG_BYTES], tag) || body.len() < HEAD_BYTES {
            return None;
        }
        let mut body = body;
        if body.get_u8() != FORMAT {
            return None;
        }
        Some(Position {
            revision: Revision::new(body.get_u64()),
            remaining: body.get_u64(),
            last: body.to_vec(),
        })
    }

    fn tag(&self, scope: &str, body: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(&(scope.len() as u64).to_be_bytes());
        context.update(scope.as_bytes());
        context.update(body);
        context.sign()
    }
}

/// Takes the same time wherever the first difference is.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_scope_and_the_whole_token_opens() {
        let (tokens, others) = (Tokens::new([1; 32]), Tokens::new([2; 32]));
        let position = Position {
            revision: Revision::new(7),
            last: b"o/core/configmaps/a/b".to_vec(),
            remaining: 3,
        };
        let token = tokens.seal("scope", &position);
        assert_eq!(tokens.open("scope", &token), Some(position));
        assert_eq!(tokens.open("other", &token), None);
        assert_eq!(others.open("scope", &token), None);
        for bad in ["", "abc", "!!!", "e30", "0", &token[..token.len() - 4], &format!("x{token}")] {
            assert_eq!(tokens.open("scope", bad), None, "{bad}");
        }
    }
}
