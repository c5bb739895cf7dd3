//! A certificate authority and what it issues.
//!
//! Invariants: keys are ECDSA P-256; an issued certificate has exactly one purpose (serving,
//! client, or peer, which is both); it starts five minutes in the past, so that clocks may differ.
//! Authorities last ten years, the rest one year.

use quorate_raft::{ClusterId, peer_names};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use super::Identity;
use crate::error::Error;

const AUTHORITY_LIFETIME: Duration = Duration::days(3650);
const LEAF_LIFETIME: Duration = Duration::days(365);
const CLOCK_SKEW: Duration = Duration::minutes(5);

/// The subject of a certificate, and its purpose.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// The serving certificate of a node; the names are host names and IP addresses.
    Server { names: Vec<String> },
    /// A user (common name) and its group (organization), as Kubernetes reads client certificates.
    /// rcgen writes one organization at most.
    Client { user: String, group: Option<String> },
    /// A node among nodes.
    Peer { cluster: ClusterId, node: u64 },
}

/// An authority that can issue.
#[derive(Debug)]
pub(crate) struct Authority {
    identity: Identity,
}

impl Authority {
    /// A new, self-signed authority.
    pub(crate) fn generate(common_name: &str, now: OffsetDateTime) -> Result<Self, Error> {
        let key = KeyPair::generate().map_err(Error::failed)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name(common_name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        (params.not_before, params.not_after) = (now - CLOCK_SKEW, now + AUTHORITY_LIFETIME);
        let certificate = params.self_signed(&key).map_err(Error::failed)?;
        Ok(Self { identity: Identity { certificate: certificate.pem(), key: key.serialize_pem() } })
    }

    /// An authority from its certificate and key.
    pub(crate) fn from_identity(identity: Identity) -> Self {
        Self { identity }
    }

    /// Its certificate and key.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A new key and its certificate.
    pub(crate) fn issue(&self, subject: &Subject, now: OffsetDateTime) -> Result<Identity, Error> {
        let key = KeyPair::generate().map_err(Error::failed)?;
        let certificate =
            params(subject, now)?.signed_by(&key, &self.issuer()?).map_err(Error::failed)?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// Signs the public key of a request. Everything else in the request is ignored: the issuer
    /// decides the subject.
    pub(crate) fn sign(
        &self,
        request_pem: &str,
        subject: &Subject,
        now: OffsetDateTime,
    ) -> Result<String, Error> {
        let mut request = CertificateSigningRequestParams::from_pem(request_pem)
            .map_err(|error| Error::failed(format_args!("certificate signing request: {error}")))?;
        request.params = params(subject, now)?;
        Ok(request.signed_by(&self.issuer()?).map_err(Error::failed)?.pem())
    }

    fn issuer(&self) -> Result<Issuer<'static, KeyPair>, Error> {
        let key = KeyPair::from_pem(&self.identity.key).map_err(|error| {
            Error::failed(format_args!("the key of the certificate authority: {error}"))
        })?;
        Issuer::from_ca_cert_pem(&self.identity.certificate, key).map_err(|error| {
            Error::failed(format_args!("the certificate of the certificate authority: {error}"))
        })
    }
}

fn params(subject: &Subject, now: OffsetDateTime) -> Result<CertificateParams, Error> {
    let (names, distinguished_name, usages) = match subject {
        Subject::Server { names } => {
            (names.clone(), name("quorate", None), vec![ExtendedKeyUsagePurpose::ServerAuth])
        }
        Subject::Client { user, group } => {
            (vec![], name(user, group.as_deref()), vec![ExtendedKeyUsagePurpose::ClientAuth])
        }
        Subject::Peer { cluster, node } => (
            peer_names(*cluster, *node).to_vec(),
            name(&format!("node-{node}"), None),
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        ),
    };
    let mut params = CertificateParams::new(names)
        .map_err(|error| Error::config(format_args!("certificate: {error}")))?;
    params.distinguished_name = distinguished_name;
    params.extended_key_usages = usages;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    (params.not_before, params.not_after) = (now - CLOCK_SKEW, now + LEAF_LIFETIME);
    Ok(params)
}

fn name(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use x509_parser::prelude::*;

    const CLUSTER: ClusterId = ClusterId::new([7; 16]);
    const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

    fn check(subject: &Subject, expect_name: &str, expect_usages: (bool, bool)) {
        let authority = Authority::generate("test-ca", NOW).unwrap();
        let issued = authority.issue(subject, NOW).unwrap();
        let chain = issued.chain().unwrap();
        let (_, leaf) = X509Certificate::from_der(&chain[0]).unwrap();
        let ca_der = authority.identity().chain().unwrap();
        let (_, ca) = X509Certificate::from_der(&ca_der[0]).unwrap();
        assert!(leaf.verify_signature(Some(ca.public_key())).is_ok());
        assert_eq!(leaf.subject().to_string(), expect_name);
        let usage = leaf.extended_key_usage().unwrap().unwrap().value;
        assert_eq!((usage.server_auth, usage.client_auth), expect_usages);
        assert!(!leaf.is_ca());
    }

    #[test]
    fn each_certificate_has_its_purpose_only() {
        check(
            &Subject::Server { names: vec!["localhost".into(), "127.0.0.1".into()] },
            "CN=quorate",
            (true, false),
        );
        let client = Subject::Client { user: "admin".into(), group: Some("system:masters".into()) };
        check(&client, "CN=admin, O=system:masters", (false, true));
        check(&Subject::Peer { cluster: CLUSTER, node: 3 }, "CN=node-3", (true, true));
    }

    #[test]
    fn the_issuer_decides_the_subject_of_a_request() {
        let authority = Authority::generate("test-ca", NOW).unwrap();
        let key = KeyPair::generate().unwrap();
        let asked = CertificateParams::new(vec!["evil.example".to_owned()]).unwrap();
        let request = asked.serialize_request(&key).unwrap().pem().unwrap();
        let signed =
            authority.sign(&request, &Subject::Peer { cluster: CLUSTER, node: 2 }, NOW).unwrap();
        let chain = Identity { certificate: signed, key: String::new() }.chain().unwrap();
        let (_, leaf) = X509Certificate::from_der(&chain[0]).unwrap();
        assert_eq!(leaf.subject().to_string(), "CN=node-2");
        assert!(!format!("{:?}", leaf.subject_alternative_name().unwrap()).contains("evil"));
        assert!(
            authority.sign("nonsense", &Subject::Peer { cluster: CLUSTER, node: 2 }, NOW).is_err()
        );
    }
}
