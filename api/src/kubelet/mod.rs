//! The client of kubelets: where the kubelet of a node listens, and requests to it over TLS.
//!
//! Invariants: with authorities a kubelet has to show a certificate of one of them for the address
//! that it is reached at, unless a request says otherwise; without any, no certificate is checked. A
//! connection carries one request, and connecting takes no longer than the timeout.
//!
//! Not here: what is asked of kubelets, and who may ask.

mod location;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use quorate_env::{Clock, Network};
use quorate_webhook::{Connection, HTTP_1, ServerVerifier, client_tls};
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::timeout;

pub(crate) use location::joined;

/// The address types of a node, in the order in which they are tried.
pub const ADDRESS_TYPES: [&str; 5] =
    ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
/// How long connecting to a kubelet may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A certificate chain and its key.
pub type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// How kubelets are reached.
#[derive(Debug)]
pub struct KubeletOptions {
    /// The authorities of kubelets; with none their certificates are not checked.
    pub authorities: Vec<CertificateDer<'static>>,
    /// What is shown to kubelets.
    pub identity: Option<Identity>,
    /// The address types of a node, in the order in which they are tried.
    pub address_types: Vec<String>,
    /// How long connecting may take.
    pub timeout: Duration,
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self {
            authorities: Vec::new(),
            identity: None,
            address_types: ADDRESS_TYPES.map(str::to_owned).to_vec(),
            timeout: CONNECT_TIMEOUT,
        }
    }
}

/// Reaches kubelets.
#[derive(Debug)]
pub struct KubeletClient {
    /// The TLS settings of requests that check certificates.
    checked: Arc<ClientConfig>,
    unchecked: Arc<ClientConfig>,
    address_types: Vec<String>,
    timeout: Duration,
}

impl Default for KubeletClient {
    fn default() -> Self {
        let KubeletOptions { address_types, timeout, .. } = KubeletOptions::default();
        let unchecked = tls::unchecked(None).expect("the provider has the default versions of TLS");
        Self { checked: unchecked.clone(), unchecked, address_types, timeout }
    }
}

impl KubeletClient {
    /// A client with these options.
    ///
    /// # Errors
    /// Why certificates or the key cannot be used.
    pub fn new(options: KubeletOptions, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let KubeletOptions { authorities, identity, address_types, timeout } = options;
        let copy = identity.as_ref().map(|(chain, key)| (chain.clone(), key.clone_key()));
        let unchecked = tls::unchecked(copy)?;
        let checked = match authorities.is_empty() {
            true => unchecked.clone(),
            false => client_tls(ServerVerifier::new(authorities)?, identity, &HTTP_1, clock)?,
        };
        Ok(Self { checked, unchecked, address_types, timeout })
    }

    /// The answer to a GET of this path and query at `HOST:PORT`; `Err` is why there is none.
    pub(crate) async fn get(
        &self,
        network: &dyn Network,
        address: &str,
        path: &str,
        is_checked: bool,
    ) -> Result<Response<Incoming>, String> {
        let failed = |why: &str| format!("Get \"https://{address}{path}\": {why}");
        let request = Request::builder().method(Method::GET).uri(path).header(HOST, address);
        let request = request.body(Full::<Bytes>::default());
        let request = request.map_err(|error| failed(&error.to_string()))?;
        let mut connection =
            self.connect(network, address, is_checked).await.map_err(|why| failed(&why))?;
        connection.send(request).await.map_err(|error| failed(&error.to_string()))
    }

    /// A connection to `HOST:PORT`; `Err` is why there is none.
    pub(crate) async fn connect(
        &self,
        network: &dyn Network,
        address: &str,
        is_checked: bool,
    ) -> Result<Connection, String> {
        let tls = if is_checked { &self.checked } else { &self.unchecked };
        let opened = timeout(self.timeout, Connection::open(network, address, tls.clone())).await;
        match opened {
            Ok(opened) => opened.map_err(|error| error.to_string()),
            Err(_) => Err(format!("dial tcp {address}: i/o timeout")),
        }
    }
}
