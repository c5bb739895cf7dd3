//! Refusals of tokens: why a token is not accepted.

use thiserror::Error;

use super::jws::MAX_TOKEN_BYTES;

/// Why a token is not accepted, in words that a TokenReview may show. They never hold the token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It does not have the form of a token.
    #[error("invalid bearer token: it is not a signed token")]
    Malformed,
    /// No known key has signed it, or not with the algorithm that all keys have.
    #[error("invalid bearer token: its signature is not by a known key")]
    Signature,
    /// Its claims are not those of a service account token of this cluster.
    #[error("invalid bearer token: its claims are not those of a service account")]
    Claims,
    /// Another issuer made it.
    #[error("invalid bearer token: it comes from another issuer")]
    Issuer,
    /// It is for other audiences.
    #[error("token audiences {token:?} are invalid for the target audiences {target:?}")]
    Audience {
        /// Those of the token.
        token: Vec<String>,
        /// Those of which one is needed.
        target: Vec<String>,
    },
    /// It has expired.
    #[error("service account token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("service account token is not valid yet")]
    Early,
    /// A bound object was deleted, or is another one of the same name.
    #[error(
        "service account token has been invalidated: the {0} that it is bound to does not exist"
    )]
    Gone(&'static str),
    /// It was taken out of the Secret that held it.
    #[error("service account token has been invalidated: its secret holds another")]
    Replaced,
    /// The Secret that holds it is labelled as invalid.
    #[error("service account token has been invalidated: its secret is marked as invalid")]
    Marked,
    /// There are no keys to check or sign it with yet.
    #[error("the keys of service account tokens are not known yet")]
    NoKeys,
    /// It could not be signed.
    #[error("the token could not be signed")]
    Unsigned,
    /// Signed, it would be longer than any that is accepted.
    #[error("the token would be longer than {max} bytes", max = MAX_TOKEN_BYTES)]
    TooLong,
}

impl Refusal {
    /// Whether a newer state of the cluster might say otherwise.
    #[must_use]
    pub fn is_of_this_state(&self) -> bool {
        matches!(self, Self::Gone(_) | Self::Replaced | Self::Marked)
    }
}
