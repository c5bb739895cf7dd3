//! The verifier of server certificates: issued by a trusted authority, or a trusted certificate
//! that signs itself.
//!
//! Invariant: the certificate has the server's name in both cases.

use std::sync::Arc;

use quorate_api::server::{Purpose, is_trust_anchor};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::error::Error;

/// Verifies the certificate of a server.
#[derive(Debug)]
pub(super) struct ServerVerifier {
    authorities: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
}

impl ServerVerifier {
    pub(super) fn new(
        authorities: Vec<CertificateDer<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        for authority in &authorities {
            let added = roots.add(authority.clone());
            added.map_err(|error| Error::config(format_args!("authority certificate: {error}")))?;
        }
        let chains =
            WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build();
        Ok(Self { authorities, chains: chains.map_err(Error::config)? })
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
        match self.chains.verify_server_cert(leaf, others, name, ocsp, now) {
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
        self.chains.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chains.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
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
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = ServerVerifier::new(vec![authority.clone()], &provider).unwrap();
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
