//! The clients of webhooks that objects of the cluster name, one for each configuration.
//!
//! Invariants: a configuration is the whole key, so one that has changed in any part has a client of
//! its own without open connections; at most [`MAX_CLIENTS`] are kept, those that were used last,
//! and none that was unused for [`MAX_UNUSED`].

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_env::{Clock, Network};
use quorate_meta::Value;
use rustls_pki_types::CertificateDer;
use tokio::time::Instant;

use super::client::{AnswerRoom, Client, ClientOptions, ServiceResolver};
use super::{
    CallError, CallMetrics, Failure, HTTP_1, HTTP_2, Place, ServerVerifier, certificates,
    client_tls,
};

/// Clients that are kept.
const MAX_CLIENTS: usize = 256;
/// How long one is kept that no call uses.
const MAX_UNUSED: Duration = Duration::from_secs(600);

/// A webhook's `clientConfig`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// Where calls go.
    pub place: Place,
    /// Certificates of the authorities that are trusted, in PEM; empty for those of the platform.
    pub ca_bundle: Bytes,
}

impl ClientConfig {
    /// Reads a `clientConfig`: `url` or `service`, and `caBundle`.
    ///
    /// # Errors
    /// Why it says nowhere to send.
    pub fn read(config: &Value) -> Result<Self, CallError> {
        let wrong = |why: String| CallError::new(Failure::Config, why);
        let ca_bundle = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
        let ca_bundle = STANDARD.decode(ca_bundle).map_err(|error| wrong(error.to_string()))?;
        let text = |value: &Value, field: &str| {
            value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let place = match (config.get("url").and_then(Value::as_str), config.get("service")) {
            (Some(url), _) => Place::of_url(url).map_err(wrong)?,
            (None, Some(service)) => {
                let port = service.get("port").and_then(Value::as_u64);
                let port = port.and_then(|port| u16::try_from(port).ok());
                let (namespace, name) = (text(service, "namespace"), text(service, "name"));
                Place::of_service(&namespace, &name, port, &text(service, "path"))
            }
            (None, None) => return Err(wrong("neither url nor service is set".to_owned())),
        };
        Ok(Self { place, ca_bundle: ca_bundle.into() })
    }
}

/// What clients reach the world with.
#[derive(Clone)]
pub struct Outside {
    /// The network.
    pub network: Arc<dyn Network>,
    /// The clock that certificates are judged by.
    pub clock: Arc<dyn Clock>,
    /// Finds the servers of Services.
    pub services: Arc<dyn ServiceResolver>,
    /// The authorities that the platform trusts.
    pub roots: Vec<CertificateDer<'static>>,
}

/// The clients.
pub struct Clients {
    outside: Outside,
    room: AnswerRoom,
    metrics: Option<Arc<dyn CallMetrics>>,
    known: Mutex<HashMap<ClientConfig, Known>>,
}

struct Known {
    client: Arc<Client>,
    used: Instant,
}

impl Clients {
    /// No client yet.
    #[must_use]
    pub fn new(outside: Outside) -> Self {
        Self { outside, room: AnswerRoom::default(), metrics: None, known: Mutex::default() }
    }

    /// The same, whose calls are counted.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<dyn CallMetrics>) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// The client of a configuration.
    ///
    /// # Errors
    /// Why nothing can be sent by this configuration.
    pub fn client(&self, config: &ClientConfig) -> Result<Arc<Client>, CallError> {
        let now = Instant::now();
        if let Some(known) = self.known.lock().get_mut(config) {
            known.used = now;
            return Ok(known.client.clone());
        }
        let client = Arc::new(self.made(config)?);
        let mut known = self.known.lock();
        known.retain(|_, known| now.duration_since(known.used) < MAX_UNUSED);
        if known.len() >= MAX_CLIENTS {
            let oldest = known.iter().min_by_key(|(_, known)| known.used);
            let oldest = oldest.map(|(config, _)| config.clone());
            oldest.and_then(|oldest| known.remove(&oldest));
        }
        // Another call may have been faster.
        let known = known.entry(config.clone()).or_insert(Known { client, used: now });
        Ok(known.client.clone())
    }

    fn made(&self, config: &ClientConfig) -> Result<Client, CallError> {
        let wrong = |why: String| CallError::new(Failure::Config, why);
        let authorities = match &config.ca_bundle[..] {
            [] => self.outside.roots.clone(),
            bundle => certificates(bundle),
        };
        if authorities.is_empty() && !config.ca_bundle.is_empty() {
            let why = "unable to load root certificates: unable to parse bytes as PEM block";
            return Err(wrong(why.to_owned()));
        }
        let verifier = ServerVerifier::new(authorities).map_err(wrong)?;
        // All calls of one HTTP/2 connection would go to the same one of a Service's servers.
        let protocols: &[&[u8]] = match config.place {
            Place::Url { .. } => &HTTP_2,
            Place::Service { .. } => &HTTP_1,
        };
        let tls =
            client_tls(verifier, None, protocols, self.outside.clock.clone()).map_err(wrong)?;
        let client = Client::new(ClientOptions {
            place: config.place.clone(),
            tls,
            authorization: None,
            network: self.outside.network.clone(),
            services: Some(self.outside.services.clone()),
            room: self.room.clone(),
        });
        Ok(client.counted_by(self.metrics.clone()))
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("known", &self.known.lock().len()).finish_non_exhaustive()
    }
}
