//! The way to the collector: gRPC or HTTP, in plain text or by TLS, over the network's seam.
//!
//! Invariants: an export over HTTP takes no longer than the time that is set for it, and reads no
//! more than [`ANSWER_BYTES`]; TLS verifies the collector by the file that a variable names, else by
//! the authorities of the platform.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig, WithTonicConfig,
};
use quorate_env::{Env, Io, Network};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use crate::error::Error;
use crate::files::read_text;
use crate::pki::{certificates, platform_roots};

/// Bytes of a collector's answer that are read.
const ANSWER_BYTES: usize = 64 << 10;
/// How long an export may take where no variable says it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The variable that switches every export off.
const DISABLED: &str = "OTEL_SDK_DISABLED";
/// What the standard variables of the exporter begin with; the name of a signal may follow.
const VARIABLES: &str = "OTEL_EXPORTER_OTLP_";

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::telemetry) enum Signal {
    Metrics,
    Traces,
}

impl Signal {
    /// Its name in variables.
    fn name(self) -> &'static str {
        match self {
            Self::Metrics => "METRICS",
            Self::Traces => "TRACES",
        }
    }

    /// Where it goes at a collector that is asked over HTTP.
    fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/v1/metrics",
            Self::Traces => "/v1/traces",
        }
    }

    /// The standard variables of a setting: the one for this signal, then that for all signals.
    fn variables(self, setting: &str) -> [String; 2] {
        let name = self.name();
        [format!("{VARIABLES}{name}_{setting}"), format!("{VARIABLES}{setting}")]
    }

    /// Whether a variable says that it is not exported.
    fn is_off(self, variable: impl Fn(&str) -> Option<String>) -> bool {
        let is_disabled = variable(DISABLED).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let exporter = variable(&format!("OTEL_{}_EXPORTER", self.name()));
        is_disabled || exporter.as_deref() == Some("none")
    }
}

/// A collector and how it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::telemetry) struct OtlpCollector {
    endpoint: Uri,
    is_grpc: bool,
    timeout: Duration,
    /// The file with its authorities.
    certificate: Option<String>,
}

impl OtlpCollector {
    /// The collector that the option or a variable names.
    pub(in crate::telemetry) fn find(
        signal: Signal,
        option: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, Error> {
        if signal.is_off(&variable) {
            return Ok(None);
        }
        let first = |setting: &str| {
            let mut values =
                signal.variables(setting).into_iter().filter_map(|name| variable(&name));
            values.find(|value| !value.is_empty())
        };
        let [own, _] = signal.variables("ENDPOINT");
        let is_whole = option.is_none() && variable(&own).is_some_and(|own| !own.is_empty());
        let Some(endpoint) = option.map(str::to_owned).or_else(|| first("ENDPOINT")) else {
            return Ok(None);
        };
        let is_grpc = match first("PROTOCOL").as_deref() {
            None | Some("http/protobuf") => false,
            Some("grpc") => true,
            Some(other) => {
                return Err(Error::config(format_args!(
                    "{VARIABLES}PROTOCOL: {other:?} is neither grpc nor http/protobuf"
                )));
            }
        };
        let timeout = match first("TIMEOUT") {
            None => TIMEOUT,
            Some(text) => Duration::from_millis(text.parse().map_err(|_| {
                Error::config(format_args!("{VARIABLES}TIMEOUT: {text:?} is no number of ms"))
            })?),
        };
        let path = (!is_grpc && !is_whole).then(|| signal.path());
        let endpoint = read_endpoint(&endpoint, path)?;
        Ok(Some(Self { endpoint, is_grpc, timeout, certificate: first("CERTIFICATE") }))
    }

    /// Where it is.
    pub(in crate::telemetry) fn endpoint(&self) -> String {
        self.endpoint.to_string()
    }

    /// How long an export may take.
    pub(in crate::telemetry) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// An exporter of metrics to it.
    pub(super) fn exporter(&self, env: &Env) -> Result<MetricExporter, Error> {
        let built = if self.is_grpc {
            let builder = MetricExporter::builder().with_tonic().with_channel(self.channel(env)?);
            builder.with_timeout(self.timeout).build()
        } else {
            MetricExporter::builder()
                .with_http()
                .with_protocol(Protocol::HttpBinary)
                .with_http_client(self.client(env)?)
                .with_endpoint(self.endpoint.to_string())
                .with_timeout(self.timeout)
                .build()
        };
        built.map_err(Error::config)
    }

    /// An exporter of spans to it.
    pub(in crate::telemetry) fn span_exporter(&self, env: &Env) -> Result<SpanExporter, Error> {
        let built = if self.is_grpc {
            let builder = SpanExporter::builder().with_tonic().with_channel(self.channel(env)?);
            builder.with_timeout(self.timeout).build()
        } else {
            SpanExporter::builder()
                .with_http()
                .with_protocol(Protocol::HttpBinary)
                .with_http_client(self.client(env)?)
                .with_endpoint(self.endpoint.to_string())
                .with_timeout(self.timeout)
                .build()
        };
        built.map_err(Error::config)
    }

    fn channel(&self, env: &Env) -> Result<Channel, Error> {
        let dialer = Arc::new(self.dialer(env)?);
        let endpoint = Endpoint::from(self.endpoint.clone()).timeout(self.timeout);
        Ok(endpoint.connect_with_connector_lazy(service_fn(move |_: Uri| {
            let dialer = dialer.clone();
            async move { dialer.dial().await.map(TokioIo::new) }
        })))
    }

    fn client(&self, env: &Env) -> Result<CollectorClient, Error> {
        let dialer = Arc::new(self.dialer(env)?);
        Ok(CollectorClient { dialer, timeout: self.timeout, runtime: Handle::current() })
    }

    fn dialer(&self, env: &Env) -> Result<CollectorDialer, Error> {
        let host = self.endpoint.host().unwrap_or_default();
        let is_tls = self.endpoint.scheme() == Some(&Scheme::HTTPS);
        let port = self.endpoint.port_u16().unwrap_or(match (self.is_grpc, is_tls) {
            (true, _) => 4317,
            (false, true) => 443,
            (false, false) => 80,
        });
        let tls = if is_tls { Some(self.tls(host)?) } else { None };
        Ok(CollectorDialer { network: env.network.clone(), address: format!("{host}:{port}"), tls })
    }

    fn tls(&self, host: &str) -> Result<(Arc<ClientConfig>, ServerName<'static>), Error> {
        let mut roots = RootCertStore::empty();
        let authorities = match &self.certificate {
            None => platform_roots(),
            Some(path) => certificates(&read_text(Path::new(path))?)?,
        };
        roots.add_parsable_certificates(authorities);
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Error::config)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols =
            vec![if self.is_grpc { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        let name = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name).map_err(Error::config)?;
        Ok((Arc::new(config), name))
    }
}

/// Reads where a collector is; the path of the signal is added to one that has none.
fn read_endpoint(text: &str, path: Option<&str>) -> Result<Uri, Error> {
    let wrong = |why: &dyn std::fmt::Display| {
        Error::config(format_args!("the OTLP endpoint {text:?}: {why}"))
    };
    let uri: Uri = text.parse().map_err(|error| wrong(&error))?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if !is_http || uri.host().is_none_or(str::is_empty) {
        return Err(wrong(&"must be http://HOST:PORT or https://HOST:PORT"));
    }
    let Some(path) = path else { return Ok(uri) };
    let given = uri.path().trim_end_matches('/');
    // One option names the collector of all signals.
    let of_signal = [Signal::Metrics, Signal::Traces].map(Signal::path);
    let root = of_signal.iter().find_map(|path| given.strip_suffix(path)).unwrap_or(given);
    let mut parts = uri.clone().into_parts();
    let path = format!("{root}{path}");
    parts.path_and_query = Some(path.parse().map_err(|error| wrong(&error))?);
    Uri::from_parts(parts).map_err(|error| wrong(&error))
}

/// Opens connections to one collector.
#[derive(Debug)]
struct CollectorDialer {
    network: Arc<dyn Network>,
    address: String,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl CollectorDialer {
    async fn dial(&self) -> std::io::Result<Box<dyn Io>> {
        let stream = self.network.connect(&self.address).await?;
        Ok(match &self.tls {
            None => stream,
            Some((tls, name)) => {
                Box::new(TlsConnector::from(tls.clone()).connect(name.clone(), stream).await?)
            }
        })
    }
}

/// Sends exports over HTTP, each over a connection of its own: there are few.
#[derive(Debug)]
struct CollectorClient {
    dialer: Arc<CollectorDialer>,
    timeout: Duration,
    /// Exports come from a thread of the SDK.
    runtime: Handle,
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (dialer, limit) = (self.dialer.clone(), self.timeout);
        let sending =
            self.runtime.spawn(async move { timeout(limit, send(&dialer, request)).await });
        sending.await?.map_err(|_| "the collector did not answer in time")?
    }
}

async fn send(
    dialer: &CollectorDialer,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, HttpError> {
    let (mut parts, body) = request.into_parts();
    if let Some(host) = parts.uri.authority() {
        parts.headers.insert(http::header::HOST, host.as_str().parse()?);
    }
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse()?;
    let io = TokioIo::new(dialer.dial().await?);
    let (mut sender, connection) = http1::handshake(io).await?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(Request::from_parts(parts, Full::new(body))).await?;
    let (parts, body) = answer.into_parts();
    let body = Limited::new(body, ANSWER_BYTES).collect().await?.to_bytes();
    connection.abort();
    Ok(Response::from_parts(parts, body))
}

#[cfg(test)]
mod tests;
