//! Certificates that are trust anchors themselves (RFC 5280, section 6.1): of a server or a proxy
//! that has signed its own.
//!
//! The verifiers of chains refuse the certificate of an authority where that of a server or client
//! is due. A peer with the key of a trust anchor needs no chain, though: it could sign itself any
//! certificate. Invariant: such a certificate is the same as that of the authority, byte for byte,
//! holds now, and is for the purpose that it is shown for or says none.

use rustls::server::ParsedCertificate;
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

/// The purpose for which a peer shows its certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be known as a client.
    Client,
    /// To be known as a server; whether it has the right name is not looked at here.
    Server,
}

/// Whether a certificate is one of these authorities and may serve for this.
#[must_use]
pub fn is_trust_anchor(
    authorities: &[CertificateDer<'_>],
    certificate: &CertificateDer<'_>,
    now: UnixTime,
    purpose: Purpose,
) -> bool {
    // Parsed twice: the first refuses critical extensions that it does not understand.
    authorities.contains(certificate)
        && ParsedCertificate::try_from(certificate).is_ok()
        && X509Certificate::from_der(certificate)
            .is_ok_and(|(_, parsed)| serves(&parsed, now, purpose))
}

fn serves(certificate: &X509Certificate<'_>, now: UnixTime, purpose: Purpose) -> bool {
    let now = i64::try_from(now.as_secs())
        .ok()
        .and_then(|seconds| ASN1Time::from_timestamp(seconds).ok());
    let holds = now.is_some_and(|now| certificate.validity().is_valid_at(now));
    let is_for = match certificate.extended_key_usage() {
        Ok(None) => true,
        Ok(Some(usage)) => {
            usage.value.any
                || if purpose == Purpose::Client {
                    usage.value.client_auth
                } else {
                    usage.value.server_auth
                }
        }
        Err(_) => false,
    };
    holds && is_for
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{
        BasicConstraints, CertificateParams, CustomExtension, ExtendedKeyUsagePurpose, IsCa,
        KeyPair, date_time_ymd,
    };

    use super::*;

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2030, 1, 1));
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[test]
    fn an_authority_stands_for_itself_in_its_time_and_for_its_purpose() {
        const IN_2025: u64 = 1_750_000_000;
        let check = |change: fn(&mut CertificateParams), at: u64, expect: (bool, bool)| {
            let (shown, other) = (certificate(change), certificate(|_| {}));
            let serves = |authorities: &[CertificateDer<'_>], purpose| {
                is_trust_anchor(
                    authorities,
                    &shown,
                    UnixTime::since_unix_epoch(Duration::from_secs(at)),
                    purpose,
                )
            };
            let both = [other.clone(), shown.clone()];
            assert_eq!((serves(&both, Purpose::Client), serves(&both, Purpose::Server)), expect);
            assert!(!serves(&[other], Purpose::Client) && !serves(&[], Purpose::Server));
        };
        check(|_| {}, IN_2025, (true, true));
        check(|_| {}, 1_500_000_000, (false, false));
        check(|_| {}, 1_900_000_000, (false, false));
        check(
            |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth],
            IN_2025,
            (false, true),
        );
        check(
            |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
            IN_2025,
            (true, false),
        );
        check(
            |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any],
            IN_2025,
            (true, true),
        );
        check(
            |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning],
            IN_2025,
            (false, false),
        );
        let strange = |params: &mut CertificateParams| {
            let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
            extension.set_criticality(true);
            params.custom_extensions = vec![extension];
        };
        check(strange, IN_2025, (false, false));
    }
}
