//! The issuer of certificates: the seam to the authority of the well-known signers.
//!
//! Not here: the authority's key and how it signs, which a node gives.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use quorate_meta::Time;

use super::signers::Usage;

/// What the signers need.
#[derive(Debug, Clone)]
pub struct Signing {
    /// Has the authority's key.
    pub issuer: Arc<dyn Issuer>,
    /// How long certificates last that ask for nothing, or for more.
    pub duration: Duration,
}

/// Issues certificates with the authority of the well-known signers.
pub trait Issuer: Debug + Send + Sync {
    /// The certificate (PEM) for an order.
    fn issue(&self, order: &Order<'_>) -> Result<String, NotIssued>;
}

/// A certificate that is to be issued. Subject, key and alternative names are those of the request.
#[derive(Debug)]
pub struct Order<'a> {
    /// The request (DER), whose signature has been verified.
    pub request: &'a [u8],
    /// What the certificate may be used for.
    pub usages: &'a [Usage],
    /// When it begins.
    pub not_before: Time,
    /// When it ends at the latest.
    pub not_after: Time,
}

/// Why a certificate was not issued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotIssued {
    /// The authority cannot be used now.
    #[error("{0}")]
    Unavailable(String),
    /// The request cannot be fulfilled, ever.
    #[error("{0}")]
    Refused(String),
}
