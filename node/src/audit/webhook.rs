//! Audit events as lists, sent to a server of the operator's choice.
//!
//! Invariants: TLS always, with an authority that the operator names; one request at a time; a list that the server did not
//! take is sent again by whoever hands it over.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use quorate_api::audit::Sink;
use quorate_meta::Names;
use quorate_store::env::Network;
use rustls::ClientConfig;
use serde::Deserialize;
use tokio::time::{Duration, timeout};

use crate::client::{Connection, HTTP_1};
use crate::error::Error;
use crate::pki::{Identity, client_config, read_text};

/// How long the server may take for one list.
const LIMIT: Duration = Duration::from_secs(30);

/// See the module.
pub(super) struct WebhookSink {
    target: Target,
    api_version: String,
    network: Arc<dyn Network>,
    connection: Option<Connection>,
}

/// Where lists go.
struct Target {
    address: String,
    path: String,
    token: Option<String>,
    tls: Arc<ClientConfig>,
}

impl WebhookSink {
    /// Reads the file that says where lists go.
    pub(super) fn new(file: &Path, names: &Names, network: Arc<dyn Network>) -> Result<Self, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::config(format_args!("{}: {error}", file.display()));
        let config: Config = serde_saphyr::from_str(&read_text(file)?).map_err(|error| wrong(&error))?;
        let target = Target::of(&config, file).map_err(|error| wrong(&error))?;
        let api_version = format!("{}/v1", names.group_audit);
        Ok(Self { target, api_version, network, connection: None })
    }

    async fn send(&mut self, body: Bytes) -> Result<(), String> {
        let Target { address, path, token, tls } = &self.target;
        let mut request = Request::post(path).header("host", address).header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).map_err(|error| error.to_string())?;
        if self.connection.is_none() {
            let opened = Connection::open(&*self.network, address, tls.clone()).await;
            self.connection = Some(opened.map_err(|error| error.to_string())?);
        }
        let connection = self.connection.as_mut().expect("opened just now");
        let answer = connection.send(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        // The rest of the answer says nothing; without it the next list needs another connection.
        if http_body_util::BodyExt::collect(http_body_util::Limited::new(answer.into_body(), 64 << 10)).await.is_err() {
            self.connection = None;
        }
        if status.is_success() { Ok(()) } else { Err(format!("the server answers {status}")) }
    }
}

#[async_trait]
impl Sink for WebhookSink {
    fn name(&self) -> &'static str {
        "webhook"
    }

    async fn write(&mut self, events: &[Bytes]) -> Result<(), String> {
        let body = list(&self.api_version, events);
        let sent = timeout(LIMIT, self.send(body)).await.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        if sent.is_err() {
            self.connection = None;
        }
        sent
    }
}

/// An `EventList` of these events.
fn list(api_version: &str, events: &[Bytes]) -> Bytes {
    let items: Vec<&[u8]> = events.iter().map(|event| event.strip_suffix(b"\n").unwrap_or(event)).collect();
    let head = format!(r#"{{"kind":"EventList","apiVersion":"{api_version}","metadata":{{}},"items":["#);
    [head.as_bytes(), &items.join(&b','), b"]}"].concat().into()
}

/// The part of a kubeconfig that matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Config {
    clusters: Vec<NamedCluster>,
    users: Vec<NamedUser>,
    contexts: Vec<NamedContext>,
    #[serde(rename = "current-context")]
    current_context: String,
}

#[derive(Debug, Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Debug, Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Debug, Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Debug, Deserialize)]
struct Context {
    cluster: String,
    #[serde(default)]
    user: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    token: Option<String>,
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
}

impl Target {
    /// `file` is where the configuration comes from: paths in it begin there.
    fn of(config: &Config, file: &Path) -> Result<Self, Error> {
        let missing = |what: &str| Error::config(format_args!("it names no {what}"));
        let context = config.contexts.iter().find(|context| context.name == config.current_context);
        let context = &context.ok_or_else(|| missing("current context"))?.context;
        let cluster = config.clusters.iter().find(|cluster| cluster.name == context.cluster);
        let cluster = &cluster.ok_or_else(|| missing("cluster of the current context"))?.cluster;
        let nobody = User::default();
        let user = config.users.iter().find(|user| user.name == context.user).map_or(&nobody, |named| &named.user);
        let text = |data: &Option<String>, path: &Option<PathBuf>| pem(data.as_deref(), path.as_deref(), file);
        let authority = text(&cluster.certificate_authority_data, &cluster.certificate_authority)?;
        let authority = authority.ok_or_else(|| missing("certificate-authority"))?;
        let certificate = text(&user.client_certificate_data, &user.client_certificate)?;
        let key = text(&user.client_key_data, &user.client_key)?;
        let identity = certificate.zip(key).map(|(certificate, key)| Identity { certificate, key });
        let (address, path) = parse_url(&cluster.server)?;
        let tls = client_config(&authority, identity.as_ref(), &HTTP_1)?;
        Ok(Self { address, path, token: user.token.clone(), tls })
    }
}

/// A text that is given in base64 or as a file.
fn pem(data: Option<&str>, path: Option<&Path>, beside: &Path) -> Result<Option<String>, Error> {
    if let Some(data) = data {
        let bytes = STANDARD.decode(data).map_err(Error::config)?;
        return String::from_utf8(bytes).map(Some).map_err(Error::config);
    }
    let folder = beside.parent().unwrap_or(Path::new("."));
    path.map(|path| read_text(&folder.join(path))).transpose()
}

/// `host:port` and path of an https URL.
fn parse_url(url: &str) -> Result<(String, String), Error> {
    let rest = url.strip_prefix("https://").filter(|rest| !rest.is_empty());
    let rest = rest.ok_or_else(|| Error::config(format_args!("the server '{url}' is no https:// URL")))?;
    let (host, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let address = if has_port { host.to_owned() } else { format!("{host}:443") };
    Ok((address, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let check = |url: &str, expect: Option<(&str, &str)>| {
            let got = parse_url(url).ok();
            assert_eq!(got.as_ref().map(|(address, path)| (address.as_str(), path.as_str())), expect, "{url}");
        };
        check("https://a.example", Some(("a.example:443", "/")));
        check("https://a.example:8443/audit?x=y", Some(("a.example:8443", "/audit?x=y")));
        check("https://[::1]:1/", Some(("[::1]:1", "/")));
        check("http://a.example", None);
        check("https://", None);
    }

    #[test]
    fn a_list_holds_every_event() {
        let text = list("audit.svc.io/v1", &[Bytes::from_static(b"{\"a\":1}\n"), Bytes::from_static(b"{}\n")]);
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["items"], serde_json::json!([{"a": 1}, {}]));
        assert_eq!(value["kind"], "EventList");
    }
}
