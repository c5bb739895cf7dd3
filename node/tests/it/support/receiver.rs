//! A server that a node sends webhooks to: HTTP over TLS, with one of several behaviours.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;

/// What it does with the next requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Takes what comes.
    Well,
    /// Answers this many times that it has failed, and takes what comes then.
    Failing(u32),
    /// Never answers.
    Hanging,
}

/// The server; it ends with the runtime of its test.
pub(crate) struct Receiver {
    address: String,
    authority: String,
    state: Arc<Mutex<State>>,
}

struct State {
    mood: Mood,
    refused: u32,
    taken: Vec<(http::request::Parts, Value)>,
}

impl Receiver {
    /// Listens on a port that is free.
    pub(crate) async fn start(mood: Mood) -> Self {
        let (authority, config) = certificates();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State { mood, refused: 0, taken: vec![] }));
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(acceptor.clone(), stream, shared.clone()));
            }
        });
        Self { address, authority, state }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Its authority (PEM).
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Writes a kubeconfig that leads here, and the authority beside it.
    pub(crate) fn kubeconfig(&self, folder: &Path, path: &str, token: &str) -> PathBuf {
        std::fs::write(folder.join("receiver-ca.crt"), &self.authority).unwrap();
        let server = format!("https://{}{path}", self.address);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority": "receiver-ca.crt"}}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        });
        let file = folder.join("receiver.kubeconfig");
        std::fs::write(&file, config.to_string()).unwrap();
        file
    }

    /// What it has taken so far: head and body of each request.
    pub(crate) async fn taken(&self) -> Vec<(http::request::Parts, Value)> {
        self.state.lock().await.taken.clone()
    }

    /// How many requests it has refused.
    pub(crate) async fn refused(&self) -> u32 {
        self.state.lock().await.refused
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, state: Arc<Mutex<State>>) {
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = service_fn(|request| answer(request, state.clone()));
    // How the other side hangs up is its own affair.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mut state = state.lock().await;
    let code = match state.mood {
        Mood::Hanging => {
            drop(state);
            std::future::pending().await
        }
        Mood::Failing(left) => {
            state.refused += 1;
            state.mood = if left > 1 { Mood::Failing(left - 1) } else { Mood::Well };
            StatusCode::INTERNAL_SERVER_ERROR
        }
        Mood::Well => {
            state.taken.push((head, serde_json::from_slice(&body).unwrap()));
            StatusCode::OK
        }
    };
    let mut response = Response::new(Full::from("{}"));
    *response.status_mut() = code;
    Ok(response)
}

/// An authority of its own (PEM), and what the server shows.
fn certificates() -> (String, ServerConfig) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "receiver CA");
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().unwrap();
    let leaf = params.signed_by(&key, &issuer).unwrap().pem();
    let chain = vec![CertificateDer::from_pem_slice(leaf.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
    (authority, config)
}
