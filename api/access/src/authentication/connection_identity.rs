//! Connection identities: what a connection has proved about its client before any request.
//!
//! Invariant: shared by all requests of the connection, which may outlive the certificates behind
//! it: each request looks at their expiry.

use std::sync::Arc;

use quorate_meta::Names;
use rustls::pki_types::CertificateDer;

use super::certificate::{common_name_of, end_of, user_of};
use super::{AuditUserCache, User};

/// What a connection has proved about its client.
#[derive(Debug, Clone, Default)]
pub struct ConnectionIdentity {
    /// The user of the client certificate; `None` when there was none or it names no user.
    pub certificate: Option<Arc<User>>,
    /// The address of the other end; `None` inside the process.
    pub peer: Option<Arc<str>>,
    /// The common name of the authenticating proxy at the other end; `None` when it is none.
    pub proxy: Option<Arc<str>>,
    /// Whether the client certificate was signed by no CA of this server.
    pub has_unknown_certificate: bool,
    /// The expiry of the certificates behind this, in milliseconds since the Unix epoch; `None`
    /// when there are none.
    pub until_ms: Option<u64>,
    /// The user fields of audit events, serialized.
    pub audit_user: Arc<AuditUserCache>,
}

impl ConnectionIdentity {
    /// The identity of a connection whose verified client certificate is this one.
    #[must_use]
    pub fn of_certificate(names: &Names, der: &[u8]) -> Self {
        Self { certificate: user_of(names, der).map(Arc::new), ..Self::default() }
    }

    /// The identity of a connection whose client certificate does not verify.
    #[must_use]
    pub fn of_unknown_certificate() -> Self {
        Self { has_unknown_certificate: true, ..Self::default() }
    }

    /// The same, of a connection from this address.
    #[must_use]
    pub fn with_peer(self, address: &str) -> Self {
        Self { peer: Some(address.into()), audit_user: Arc::default(), ..self }
    }

    /// An identity that is already known, for calls inside the process.
    #[must_use]
    pub fn of_user(user: User) -> Self {
        Self { certificate: Some(Arc::new(user)), ..Self::default() }
    }

    /// The same, for a client whose verified certificate is that of an authenticating proxy.
    #[must_use]
    pub fn with_proxy(self, der: &[u8]) -> Self {
        Self { proxy: common_name_of(der).map(Into::into), ..self }
    }

    /// The same, until the verified chain of this leaf expires. A certificate of the others that
    /// has expired at `now_ms` was not used to verify the leaf.
    #[must_use]
    pub fn until_end_of(self, leaf: &[u8], others: &[CertificateDer<'_>], now_ms: u64) -> Self {
        let others = others.iter().filter_map(|der| end_of(der)).filter(|end| *end >= now_ms);
        Self { until_ms: end_of(leaf).into_iter().chain(others).min(), ..self }
    }

    /// Whether the certificates have expired.
    pub(super) fn has_ended(&self, now_ms: u64) -> bool {
        self.until_ms.is_some_and(|until| until < now_ms)
    }
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
            let identity =
                ConnectionIdentity::default().until_end_of(&ending(&leaf), &chain, IN_2017);
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
