//! Client certificates: the subject's common name is the user, its organizations are the groups (document 000). As in release 1.35,
//! an attribute of the subject may give the uid, and the certificate's hash is kept among the extra attributes.
//!
//! Invariant: the chain has been verified against the client CA before this file sees the certificate; here only
//! the verified leaf's subject is read, and when the chain ends. That is looked at once, a connection may live on.

use std::sync::Arc;

use quorate_meta::Names;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_parser::der_parser::{Oid, oid};
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};

use super::{AuditUserCache, User};

/// The attribute of a subject that gives the user's uid.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// What a connection proved about its client, before any request: shared by all requests of the connection.
#[derive(Debug, Clone, Default)]
pub struct ConnectionIdentity {
    /// The user of the client certificate; `None` when there was none or it names nobody.
    pub certificate: Option<Arc<User>>,
    /// The address of the other end; `None` inside the process.
    pub peer: Option<Arc<str>>,
    /// The name of the proxy that is at the other end; `None` when it is none.
    pub proxy: Option<Arc<str>>,
    /// Whether the certificate that came is of nobody who is known here.
    pub is_stranger: bool,
    /// The last moment at which the certificates behind this hold, in milliseconds since the Unix epoch; `None` when there
    /// are none.
    pub until_ms: Option<u64>,
    /// What the audit trail says of whoever sends requests from this address.
    pub audit_user: Arc<AuditUserCache>,
}

impl ConnectionIdentity {
    /// The identity of a connection whose verified client certificate is this one.
    #[must_use]
    pub fn of_certificate(names: &Names, der: &[u8]) -> Self {
        Self { certificate: from_certificate(names, der).map(Arc::new), ..Self::default() }
    }

    /// The identity of a connection whose client certificate does not verify.
    #[must_use]
    pub fn of_stranger() -> Self {
        Self { is_stranger: true, ..Self::default() }
    }

    /// The same, at the other end of a connection from this address.
    #[must_use]
    pub fn with_peer(self, address: &str) -> Self {
        Self { peer: Some(address.into()), audit_user: Arc::default(), ..self }
    }

    /// An identity that is already known, for calls inside the process.
    #[must_use]
    pub fn of_user(user: User) -> Self {
        Self { certificate: Some(Arc::new(user)), ..Self::default() }
    }

    /// The same, for a peer whose verified certificate is that of a proxy in front.
    #[must_use]
    pub fn with_proxy(self, der: &[u8]) -> Self {
        let certificate = X509Certificate::from_der(der).ok();
        let name = certificate.as_ref().and_then(|(_, certificate)| common_name(certificate.subject()));
        Self { proxy: name.map(Into::into), ..self }
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

/// The user that a verified certificate (DER) stands for; `None` when it does not parse, has no common name, or says several uids.
fn from_certificate(names: &Names, der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned);
    let credential = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let extra = (format!("{}credential-id", names.user_extra_prefix), vec![format!("X509SHA256={credential}")]);
    Some(User { uid: uid(subject)?, extra: vec![extra], ..User::new(common_name(subject)?, groups) })
}

fn common_name<'a>(subject: &'a X509Name<'_>) -> Option<&'a str> {
    subject.iter_common_name().next()?.as_str().ok().filter(|name| !name.is_empty())
}

/// The uid; empty when the subject says none, `None` when it cannot be told.
fn uid(subject: &X509Name<'_>) -> Option<String> {
    let mut uids = subject.iter_by_oid(&UID);
    let uid = uids.next().map(|uid| uid.as_str().ok().map(str::to_owned));
    if uids.next().is_some() { None } else { uid.unwrap_or_else(|| Some(String::new())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_says_who_it_is() {
        let check = |name: &str, uids: &[&str], expect: Option<&str>| {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            params.distinguished_name.push(rcgen::DnType::OrganizationName, "dev");
            for uid in uids {
                let kind = rcgen::DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
                params.distinguished_name.push(kind, *uid);
            }
            let der = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone();
            let user = from_certificate(quorate_meta::Naming::Svc.names(), &der);
            let shown = user.map(|User { name, uid, groups, extra }| {
                let (key, values) = &extra[0];
                let [value] = &values[..] else { panic!("{values:?}") };
                let hash = value.strip_prefix("X509SHA256=").expect("the hash of the certificate");
                assert!((extra.len(), hash.len()) == (1, 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
                format!("{name} {uid} {groups:?} {key}")
            });
            assert_eq!(shown.as_deref(), expect);
        };
        let groups = r#"["dev", "system:authenticated"] authentication.svc.io/credential-id"#;
        check("ann", &[], Some(&format!("ann  {groups}")));
        check("ann", &["7"], Some(&format!("ann 7 {groups}")));
        check("", &["7"], None);
    }

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
            let identity = ConnectionIdentity::default().until_end_of(&ending(&leaf), &chain, IN_2017);
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
