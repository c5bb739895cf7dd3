//! Client certificates: the subject's common name is the user, its organizations are the groups (document 000).
//!
//! Invariant: the chain has been verified against the client CA by TLS before this file sees the certificate; here only
//! the verified leaf's subject is read, and when the chain ends. TLS looks at that once, a connection may live on.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::User;

/// What a connection proved about its client, before any request: shared by all requests of the connection.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// The user of the client certificate; `None` when there was none or it names nobody.
    pub certificate: Option<Arc<User>>,
    /// The address of the other end; `None` inside the process.
    pub peer: Option<Arc<str>>,
    /// The name of the proxy that is at the other end; `None` when it is none.
    pub proxy: Option<Arc<str>>,
    /// The last moment at which the certificates behind this hold, in milliseconds since the Unix epoch; `None` when there
    /// are none.
    pub until_ms: Option<u64>,
}

impl Identity {
    /// The identity of a connection whose verified client certificate is this one.
    #[must_use]
    pub fn of_certificate(der: &[u8]) -> Self {
        Self { certificate: from_certificate(der).map(Arc::new), ..Self::default() }
    }

    /// The same, at the other end of a connection from this address.
    #[must_use]
    pub fn with_peer(self, address: &str) -> Self {
        Self { peer: Some(address.into()), ..self }
    }

    /// An identity that is already known, for calls inside the process.
    #[must_use]
    pub fn of_user(user: User) -> Self {
        Self { certificate: Some(Arc::new(user)), ..Self::default() }
    }

    /// The same, for a peer whose verified certificate is that of a proxy in front.
    #[must_use]
    pub fn with_proxy(self, der: &[u8]) -> Self {
        Self { proxy: from_certificate(der).map(|user| user.name.into()), ..self }
    }

    /// The same, until the verified chain of this leaf ends. One of the others that is over already at `now_ms` did not serve
    /// to verify the leaf.
    #[must_use]
    pub fn until_end_of(self, leaf: &[u8], others: &[CertificateDer<'_>], now_ms: u64) -> Self {
        let others = others.iter().filter_map(|der| end_of(der)).filter(|end| *end >= now_ms);
        Self { until_ms: end_of(leaf).into_iter().chain(others).min(), ..self }
    }

    /// Whether the certificates were good once and are no more.
    pub(super) fn has_ended(&self, now_ms: u64) -> bool {
        self.until_ms.is_some_and(|until| until < now_ms)
    }
}

/// The last moment of a certificate (DER), in milliseconds since the Unix epoch; `None` when it does not parse.
fn end_of(der: &[u8]) -> Option<u64> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let seconds = certificate.validity().not_after.timestamp();
    Some(u64::try_from(seconds).unwrap_or(0) * 1000)
}

/// The user that a verified certificate (DER) stands for; `None` when it does not parse or has no common name.
#[must_use]
pub fn from_certificate(der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    if name.is_empty() {
        return None;
    }
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned);
    Some(User::new(name, groups))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_ends_with_the_first_that_serves() {
        const IN_2017: u64 = 1_500_000_000_000;
        let ending = |year: &i32| {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.not_after = rcgen::date_time_ymd(*year, 1, 1);
            params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone()
        };
        let check = |leaf: i32, others: &[i32], expect: u64| {
            let chain: Vec<_> = others.iter().map(ending).collect();
            let identity = Identity::default().until_end_of(&ending(&leaf), &chain, IN_2017);
            assert_eq!(identity.until_ms, Some(expect), "{leaf} {others:?}");
            assert!(!identity.has_ended(expect));
            assert!(identity.has_ended(expect + 1));
        };
        let (to_2001, to_2020, to_2030) = (978_307_200_000, 1_577_836_800_000, 1_893_456_000_000);
        check(2030, &[], to_2030);
        check(2020, &[2030], to_2020);
        check(2030, &[2031, 2020], to_2020);
        check(2030, &[2001], to_2030);
        check(2001, &[2030], to_2001);
    }
}
