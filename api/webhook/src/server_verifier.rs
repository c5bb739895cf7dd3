//! The verifier of server certificates: issued by a trusted authority, or a trusted certificate
//! that signs itself.
//!
//! Invariant: the certificate has the server's name in both cases.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::{Purpose, is_trust_anchor};

/// Verifies the certificate of a server.
#[derive(Debug)]
pub struct ServerVerifier {
    provider: Arc<CryptoProvider>,
    authorities: Vec<CertificateDer<'static>>,
    /// `None` when no authority is trusted.
    chains: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerVerifier {
    /// A verifier that trusts these authorities; with none it believes no server.
    ///
    /// # Errors
    /// Why a certificate is none of an authority.
    pub fn new(authorities: Vec<CertificateDer<'static>>) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        for authority in &authorities {
            let added = roots.add(authority.clone());
            added.map_err(|error| format!("authority certificate: {error}"))?;
        }
        let chains = (!roots.is_empty()).then(|| {
            WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build()
        });
        let chains = chains.transpose().map_err(|error| error.to_string())?;
        Ok(Self { provider, authorities, chains })
    }
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chains) = &self.chains else {
            return Err(CertificateError::UnknownIssuer.into());
        };
        match chains.verify_server_cert(leaf, others, name, ocsp, now) {
            Err(_) if is_trust_anchor(&self.authorities, leaf, now, Purpose::Server) => {
                verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, leaf, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, leaf, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    /// A key and the certificate that it has signed itself, of an authority.
    fn own(name: &str) -> (CertificateParams, KeyPair, CertificateDer<'static>) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        (params, key, certificate)
    }

    #[test]
    fn a_server_is_vouched_for_or_is_an_authority_and_has_its_name() {
        let (params, key, authority) = own("a.example");
        let leaf = CertificateParams::new(["a.example".to_owned()]).unwrap();
        let leaf_key = KeyPair::generate().unwrap();
        let leaf = leaf.signed_by(&leaf_key, &Issuer::new(params, key)).unwrap().der().clone();
        let verifier = ServerVerifier::new(vec![authority.clone()]).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_750_000_000));
        let check = |shown: &CertificateDer<'_>, name: &str, expect: bool| {
            let name = ServerName::try_from(name.to_owned()).unwrap();
            let verified = verifier.verify_server_cert(shown, &[], &name, &[], now);
            assert_eq!(verified.is_ok(), expect, "{name:?}: {verified:?}");
        };
        check(&authority, "a.example", true);
        check(&authority, "b.example", false);
        check(&leaf, "a.example", true);
        check(&leaf, "b.example", false);
        check(&own("a.example").2, "a.example", false);
    }
}
