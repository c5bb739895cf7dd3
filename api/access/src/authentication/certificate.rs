//! X.509 client certificates: the subject's common name is the user, its organizations are the
//! groups. As in release 1.35, an attribute of the subject may give the uid, and the certificate's
//! hash is kept among the extra fields.
//!
//! Invariant: the chain has been verified against the client CA before this file sees the
//! certificate; only the subject and the expiry of the verified chain are read.

use quorate_meta::Names;
use sha2::{Digest, Sha256};
use x509_parser::der_parser::{Oid, oid};
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};

use super::User;

/// The attribute of a subject that gives the user's uid.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// The expiry of a certificate (DER), in milliseconds since the Unix epoch; `None` when it
/// does not parse.
pub(super) fn end_of(der: &[u8]) -> Option<u64> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let seconds = certificate.validity().not_after.timestamp();
    Some(u64::try_from(seconds).unwrap_or(0) * 1000)
}

/// The public key of a certificate (DER), verified or not: the structure that says its algorithm,
/// and its bits; `None` when it does not parse. What its extensions say does not matter.
#[must_use]
pub fn public_key(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let key = certificate.tbs_certificate.subject_pki;
    // The bits are the end of the structure.
    let bits = key.subject_public_key.data.len();
    Some((key.raw, key.raw.get(key.raw.len().checked_sub(bits)?..)?))
}

/// The user of a verified certificate (DER); `None` when it does not parse, has no
/// common name, or says several uids.
pub(super) fn user_of(names: &Names, der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(str::to_owned);
    let credential =
        Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let extra = (
        format!("{}credential-id", names.user_extra_prefix),
        vec![format!("X509SHA256={credential}")],
    );
    Some(User {
        uid: uid(subject)?,
        extra: vec![extra],
        ..User::new(common_name(subject)?, groups)
    })
}

/// The common name of a certificate (DER); `None` when it does not parse or has none.
pub(super) fn common_name_of(der: &[u8]) -> Option<String> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    common_name(certificate.subject()).map(str::to_owned)
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
            let der =
                params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().clone();
            let user = user_of(quorate_meta::Naming::Svc.names(), &der);
            let shown = user.map(|User { name, uid, groups, extra }| {
                let (key, values) = &extra[0];
                let [value] = &values[..] else { panic!("{values:?}") };
                let hash = value.strip_prefix("X509SHA256=").expect("the hash of the certificate");
                assert!(
                    (extra.len(), hash.len()) == (1, 64)
                        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
                );
                format!("{name} {uid} {groups:?} {key}")
            });
            assert_eq!(shown.as_deref(), expect);
        };
        let groups = r#"["dev", "system:authenticated"] authentication.svc.io/credential-id"#;
        check("ann", &[], Some(&format!("ann  {groups}")));
        check("ann", &["7"], Some(&format!("ann 7 {groups}")));
        check("", &["7"], None);
    }
}
