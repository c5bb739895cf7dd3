//! TLS settings of a client: whom it trusts, what it shows, and the clock that it judges
//! certificates by.

use std::fmt::Display;
use std::sync::Arc;

use quorate_env::Clock;
use rustls::ClientConfig;
use rustls::time_provider::TimeProvider;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};

use super::ServerVerifier;

/// The clock of certificates.
#[derive(Debug)]
struct CertificateTime(Arc<dyn Clock>);

impl TimeProvider for CertificateTime {
    fn current_time(&self) -> Option<UnixTime> {
        let since = std::time::Duration::from_millis(self.0.now_ms());
        Some(UnixTime::since_unix_epoch(since))
    }
}

/// TLS settings of a client that trusts what `verifier` does. `identity` is its chain and key, and
/// `protocols` are offered in this order.
///
/// # Errors
/// Why chain and key cannot be used.
pub fn client_tls(
    verifier: ServerVerifier,
    identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    protocols: &[&[u8]],
    clock: Arc<dyn Clock>,
) -> Result<Arc<ClientConfig>, String> {
    let wrong = |error: &dyn Display| format!("client certificate: {error}");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let time = Arc::new(CertificateTime(clock));
    let config = ClientConfig::builder_with_details(provider, time)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match identity {
        None => config.with_no_client_auth(),
        Some((chain, key)) => {
            config.with_client_auth_cert(chain, key).map_err(|error| wrong(&error))?
        }
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The certificates in a PEM text that can be trusted; others, and all else, are left out.
#[must_use]
pub fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    let mut scratch = rustls::RootCertStore::empty();
    CertificateDer::pem_slice_iter(pem)
        .filter_map(Result::ok)
        .filter(|certificate| scratch.add(certificate.clone()).is_ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_trusted_is_left_out() {
        let key = rcgen::KeyPair::generate().unwrap();
        let good =
            rcgen::CertificateParams::new(["a".to_owned()]).unwrap().self_signed(&key).unwrap();
        let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let check = |pem: &str, expect: usize| {
            assert_eq!(certificates(pem.as_bytes()).len(), expect, "{pem}");
        };
        check("", 0);
        check("no certificate", 0);
        check(bad, 0);
        check(&format!("about it\n{bad}{}{}", good.pem(), key.serialize_pem()), 1);
    }
}
