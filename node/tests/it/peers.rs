//! The port of nodes: who is no node gets in neither with a certificate that the API believes, nor
//! with one of a stranger, nor with one that does not hold now, nor with none. Each attempt is
//! refused; the test says how many it made.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_env::{Clock, Io, Network, SystemEnv};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{Cluster, PATIENCE, eventually};

/// A certificate and its key as PEM texts.
type Identity = (String, String);

/// The name that all nodes have among each other.
const PEER_NAME: &str = "peer.quorate";
/// What gRPC answers to a caller that has not proved who it is, and to one whose call does not fit.
const UNAUTHENTICATED: &str = "16";
const FAILED_PRECONDITION: &str = "9";

/// A client of the peer port.
struct Caller {
    address: String,
    /// The folder with what a node proves itself with.
    node: PathBuf,
}

impl Caller {
    fn config(
        &self,
        identity: Option<&Identity>,
        version: &'static SupportedProtocolVersion,
    ) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.node.join("peer-ca.crt")).unwrap()).unwrap();
        let config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_root_certificates(roots);
        let mut config = match identity {
            None => config.with_no_client_auth(),
            Some((chain, key)) => {
                let chain =
                    CertificateDer::pem_slice_iter(chain.as_bytes()).map(Result::unwrap).collect();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(chain, key).unwrap()
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    }

    async fn reach(&self) -> Box<dyn Io> {
        SystemEnv.connect(&self.address).await.unwrap()
    }

    async fn connect(&self, config: ClientConfig) -> Result<TlsStream<Box<dyn Io>>, String> {
        let connecting = TlsConnector::from(Arc::new(config))
            .connect(PEER_NAME.try_into().unwrap(), self.reach().await);
        timeout(PATIENCE, connecting)
            .await
            .expect("the handshake ends")
            .map_err(|error| error.to_string())
    }

    /// Why the connection ends before anything has come over it; `None` when the server speaks.
    async fn refusal(&self, config: ClientConfig) -> Option<String> {
        let mut stream = match self.connect(config).await {
            Ok(stream) => stream,
            Err(why) => return Some(why),
        };
        // In TLS 1.3 a client learns only now what the server thinks of its certificate.
        let read = timeout(PATIENCE, stream.read(&mut [0; 64]))
            .await
            .expect("the server hangs up or speaks");
        match read {
            Ok(0) => Some("nothing".to_owned()),
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// The gRPC status of a call with an empty message.
    async fn call(&self, identity: Option<&Identity>, method: &str) -> String {
        let stream = self.connect(self.config(identity, &TLS13)).await.unwrap();
        let call = async {
            let (mut sender, connection) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
            let running = tokio::spawn(connection);
            let request =
                Request::post(format!("https://{PEER_NAME}/quorate.peer.v1.Peer/{method}"))
                    .header("content-type", "application/grpc")
                    .header("te", "trailers")
                    .body(Full::new(Bytes::from_static(&[0; 5])))
                    .unwrap();
            let (head, body) = sender.send_request(request).await.unwrap().into_parts();
            let trailers = body.collect().await.unwrap().trailers().cloned().unwrap_or_default();
            running.abort();
            let status = head.headers.get("grpc-status").or(trailers.get("grpc-status"));
            status.unwrap().to_str().unwrap().to_owned()
        };
        timeout(PATIENCE, call).await.expect("the call ends")
    }
}

fn identity(folder: &Path, name: &str) -> Identity {
    let read =
        |ending: &str| std::fs::read_to_string(folder.join(format!("{name}.{ending}"))).unwrap();
    (read("crt"), read("key"))
}

/// A certificate with the names of a node, from an issuer or (`None`) from itself.
fn like_a_node(names: &[String], issuer: Option<&Issuer<'_, KeyPair>>) -> Identity {
    valid_in(-1..1, names, issuer)
}

/// One that holds during these days, seen from today.
fn valid_in(days: Range<i64>, names: &[String], issuer: Option<&Issuer<'_, KeyPair>>) -> Identity {
    let now = i64::try_from(SystemEnv.now_ms() / 1000).unwrap();
    let day = |days: i64| OffsetDateTime::from_unix_timestamp(now + days * 24 * 3600).unwrap();
    let mut params = CertificateParams::new(names.to_vec()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "node-1");
    (params.not_before, params.not_after) = (day(days.start), day(days.end));
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let certificate = match issuer {
        Some(issuer) => params.signed_by(&key, issuer),
        None => params.self_signed(&key),
    };
    (certificate.unwrap().pem(), key.serialize_pem())
}

/// An authority that calls itself what that of nodes is called, and its certificate.
fn foreign() -> (Issuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "quorate-peer-ca");
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), certificate)
}

/// The number of calls, each of which the server refuses.
async fn calls_without_a_certificate(caller: &Caller) -> usize {
    let methods = [
        "Vote",
        "PreVote",
        "TransferLeader",
        "Append",
        "Snapshot",
        "Forward",
        "Admin",
        "ArchiveInventory",
        "ArchiveChanges",
        "../Peer/Join",
    ];
    for method in methods {
        assert_eq!(
            caller.call(None, method).await,
            UNAUTHENTICATED,
            "{method} without a certificate"
        );
    }
    methods.len()
}

async fn plain_http_is_hung_up_on(caller: &Caller) {
    let mut plain = caller.reach().await;
    plain.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    // The server hangs up, with or without an alert.
    let _ = timeout(PATIENCE, plain.read_to_end(&mut answer)).await.expect("the server hangs up");
    assert!(answer.first().is_none_or(|kind| *kind == 21), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_nodes_get_in_at_the_port_of_nodes() {
    let (cluster, other) = (Cluster::start(1, &[]), Cluster::start(1, &[]));
    crate::csr::obtain(&cluster, "jane").await;
    let (pki, node) = (cluster.root().join("pki"), cluster.node(1).join("pki"));
    let id = cluster.status(&cluster.node(1)).unwrap()["cluster"].as_str().unwrap().to_owned();
    let names = [PEER_NAME.to_owned(), format!("node-1.{id}.{PEER_NAME}")];
    let clients = KeyPair::from_pem(&std::fs::read_to_string(pki.join("ca.key")).unwrap()).unwrap();
    let clients =
        Issuer::from_ca_cert_pem(&std::fs::read_to_string(pki.join("ca.crt")).unwrap(), clients)
            .unwrap();
    let (foreign, foreign_certificate) = foreign();
    let caller = Caller { address: cluster.peer_address(1), node: node.clone() };

    let peer = identity(&node, "peer");
    assert_eq!(
        caller.call(Some(&peer), "Vote").await,
        FAILED_PRECONDITION,
        "a node is heard, but must name its cluster"
    );
    for method in ["ArchiveInventory", "ArchiveChanges"] {
        assert_eq!(caller.call(Some(&peer), method).await, FAILED_PRECONDITION, "{method}");
    }
    let mut count = 0;
    for (what, wrong) in [
        ("the administrator's", identity(&pki, "admin")),
        ("the API server's", identity(&node, "server")),
        ("a user's from the cluster's signers", identity(&pki, "jane")),
        ("a node's from the authority of clients", like_a_node(&names, Some(&clients))),
        ("a node's from an authority of the same name", like_a_node(&names, Some(&foreign))),
        ("a node's from itself", like_a_node(&names, None)),
        ("a node's of another cluster", identity(&other.node(1).join("pki"), "peer")),
    ] {
        let why = caller.refusal(caller.config(Some(&wrong), &TLS13)).await.expect(what);
        assert!(why.contains("received fatal alert"), "{what}: {why}");
        count += 1;
    }
    let why = caller.refusal(caller.config(Some(&peer), &TLS12)).await.unwrap();
    assert!(why.contains("received fatal alert: ProtocolVersion"), "{why}");
    count += 1;
    count += calls_without_a_certificate(&caller).await;
    plain_http_is_hung_up_on(&caller).await;
    count += 1;
    // From here on the node trusts that authority for peers, too.
    let believed = node.join("peer-ca.crt");
    std::fs::write(&believed, std::fs::read_to_string(&believed).unwrap() + &foreign_certificate)
        .unwrap();
    let right = like_a_node(&names, Some(&foreign));
    eventually("the authority is believed", async || {
        caller.refusal(caller.config(Some(&right), &TLS13)).await.is_none().then_some(())
    })
    .await;
    assert_eq!(caller.call(Some(&right), "Vote").await, FAILED_PRECONDITION);
    for (what, days) in [("expired", -2..-1), ("not yet valid", 1..2)] {
        let wrong = valid_in(days, &names, Some(&foreign));
        let why = caller.refusal(caller.config(Some(&wrong), &TLS13)).await.expect(what);
        assert!(why.contains("received fatal alert: CertificateExpired"), "{what}: {why}");
        count += 1;
    }
    println!("{count} attempts at the port of nodes, none got in");
    assert_eq!(count, 21);
}
