//! The controllers of CertificateSigningRequests: approval and issuing for the well-known signers,
//! removal of old requests, and the trust bundle of the server's own authority.
//!
//! Invariant: requests of other signers are never changed, only removed when they are old. Reading
//! order: `signers` (what each signer issues), `sign` (the next step of one request), `cleanup`,
//! `trust_bundle`.

mod cleanup;
mod sign;
mod signers;
mod trust_bundle;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quorate_meta::Time;

use super::context::Context;
use crate::retry_queue::RetryQueue;
use quorate_access::authorization::Authorizer;
use quorate_registry::Resource;
use quorate_registry::error::Error;

pub(super) use cleanup::run as clean;
pub use signers::Usage;
pub(super) use trust_bundle::run as publish;

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

/// The resource of requests.
fn requests(context: &Context) -> Result<Arc<Resource>, Error> {
    let group = context.names.group("certificates");
    let found = context.find(&group, "v1", "certificatesigningrequests");
    found.ok_or_else(|| Error::internal("requests for certificates are not served"))
}

/// Approves and signs for ever; returns only with an error, after which it is started again.
pub(super) async fn sign(context: &Context, authorizer: &Authorizer, signing: Option<&Signing>) -> Result<(), Error> {
    let Some(signing) = signing else { return pending().await };
    let prefix = requests(context)?.prefix(None);
    let snapshot = context.current().await?;
    let mut changes = context.store.watch(prefix.clone(), snapshot.revision())?;
    let mut next: BTreeSet<Bytes> = snapshot.range(&prefix, None).map(|(key, _)| key.clone()).collect();
    drop(snapshot);
    let mut retries = RetryQueue::default();
    loop {
        for key in std::mem::take(&mut next) {
            // Most need nothing to be waited for, and there may be very many.
            tokio::task::consume_budget().await;
            let settled = sign::reconcile(context, authorizer, signing, &key).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "a request for a certificate cannot be handled yet");
                false
            });
            match settled {
                true => retries.forget(&key),
                false => retries.back_off(key),
            }
        }
        tokio::select! {
            batch = changes.next() => next.extend(batch?.events().map(|event| event.key.clone())),
            due = retries.due() => next.extend(due),
        }
    }
}
