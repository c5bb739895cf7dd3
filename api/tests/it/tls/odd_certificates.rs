//! Client certificates of a known authority that are not good for a client of this server: the
//! connection stands, and its requests are refused.

use std::sync::Arc;
use std::time::Duration;

use quorate_env::SystemEnv;
use rcgen::{CertificateParams, CustomExtension, ExtendedKeyUsagePurpose};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{Running, code, start};

/// A client that speaks one version of TLS and shows this certificate.
fn client(
    version: &'static SupportedProtocolVersion,
    authority: &str,
    (certificate, key): (String, String),
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let certified = CertifiedKey::new(chain, any_supported_type(&key).unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// Whether the server ends a connection of this client before it says anything on it.
async fn is_hung_up_on(running: &Running, config: ClientConfig) -> bool {
    let io = SystemEnv::env().network.connect(running.handle.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    match TlsConnector::from(Arc::new(config)).connect(name, io).await {
        Err(_) => true,
        Ok(mut stream) => {
            let read = timeout(Duration::from_secs(10), stream.read(&mut [0])).await;
            matches!(read, Ok(Ok(0) | Err(_)))
        }
    }
}

fn with_extension(params: &mut CertificateParams, is_critical: bool) {
    let mut extension = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
    extension.set_criticality(is_critical);
    params.custom_extensions.push(extension);
}

#[tokio::test]
async fn a_certificate_that_is_not_understood_is_unknown() {
    let running = start().await;
    let check = async |change: fn(&mut CertificateParams), expect: u16| {
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let subject = running.authority.issue_with("eve", None, change);
            let config = client(version, &running.authority.pem, subject);
            let (mut client, _) = running.client(&Arc::new(config)).await;
            assert_eq!(code(&mut client).await, expect, "{version:?}");
        }
    };
    check(|_| {}, 403).await;
    check(|params| with_extension(params, false), 403).await;
    check(|params| with_extension(params, true), 401).await;
    check(|params| params.extended_key_usages.push(ExtendedKeyUsagePurpose::Any), 401).await;
    check(|params| params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth), 401).await;
}

#[tokio::test]
async fn a_certificate_of_another_key_makes_no_client() {
    let running = start().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for is_critical in [false, true] {
            let issue = || {
                running
                    .authority
                    .issue_with("eve", None, |params| with_extension(params, is_critical))
            };
            let ((certificate, _), (_, key)) = (issue(), issue());
            let config = client(version, &running.authority.pem, (certificate, key));
            assert!(is_hung_up_on(&running, config).await, "{version:?} {is_critical}");
        }
    }
}
