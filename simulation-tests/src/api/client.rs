//! A client's connection to one node's API: TLS over the simulated network, then HTTP/1.1 or
//! HTTP/2.
//!
//! Invariants: every wait has a limit; after a limit or an error the connection is not used again.
//! A write without an answer has an unknown outcome.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use quorate_env::Network;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde_json::Value;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::broken::{self, BrokenApi, LineFault};
use super::request::{ApiReply, ApiRequest};
use crate::gateway::CLIENT_PORT;
use crate::topology::host_name;

/// From dialing to a connection that has finished its handshakes.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(800);
/// What a server may send on a stream before it is read: little, so that servers feel who reads
/// slowly.
const WINDOW_BYTES: u32 = 8 << 10;
/// The revision of the state that an answer shows.
const REVISION: &str = "quorate-revision";

/// An open connection.
pub(crate) struct Client {
    sender: Sender,
    node: u64,
    broken: Option<BrokenApi>,
    /// Where the page before ended, of a list in pages.
    page: Option<(u64, String)>,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    /// Connects to a node.
    pub(crate) async fn connect(
        network: &dyn Network,
        node: u64,
        tls: Arc<ClientConfig>,
        broken: Option<BrokenApi>,
    ) -> io::Result<Self> {
        let sender = timeout(CONNECT_TIMEOUT, Self::open(network, node, tls)).await??;
        Ok(Self { sender, node, broken, page: None })
    }

    async fn open(network: &dyn Network, node: u64, tls: Arc<ClientConfig>) -> io::Result<Sender> {
        let stream = network.connect(&format!("{}:{CLIENT_PORT}", host_name(node))).await?;
        let name = ServerName::try_from(host_name(node)).map_err(io::Error::other)?;
        let stream = TlsConnector::from(tls).connect(name, stream).await?;
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let stream = TokioIo::new(stream);
        if http2 {
            let mut http2 = http2::Builder::new(TokioExecutor::new());
            http2.initial_stream_window_size(WINDOW_BYTES);
            let (sender, connection) = http2.handshake(stream).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Ok(Sender::Http2(sender))
        } else {
            let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Ok(Sender::Http1(sender))
        }
    }

    /// Which node it is connected to.
    pub(crate) fn node(&self) -> u64 {
        self.node
    }

    /// Asks and reads the whole answer, but waits no longer than this.
    pub(crate) async fn ask(
        &mut self,
        ask: &ApiRequest,
        longest: Duration,
    ) -> io::Result<ApiReply> {
        timeout(longest, async {
            let response = self.send(ask).await?;
            let status = response.status().as_u16();
            let header = response.headers().get(REVISION).and_then(|value| value.to_str().ok());
            let revision = header.and_then(|text| text.parse().ok());
            let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
            let mut reply = ApiReply { status, revision, body: serde_json::from_slice(&body)? };
            broken::answered(
                self.broken,
                ask,
                self.page.as_ref().filter(|_| ask.token.is_some()),
                &mut reply,
            );
            self.page = broken::page(ask, &reply).or(self.page.take());
            Ok(reply)
        })
        .await?
    }

    /// Opens a watch. A refusal is a reply.
    pub(crate) async fn watch(
        &mut self,
        ask: &ApiRequest,
        longest: Duration,
    ) -> io::Result<Result<Lines, ApiReply>> {
        let response = timeout(longest, self.send(ask)).await??;
        let status = response.status().as_u16();
        if status == 200 {
            let fault = LineFault::new(self.broken, ask);
            return Ok(Ok(Lines { body: response.into_body(), rest: Vec::new(), fault }));
        }
        let body = timeout(longest, response.into_body().collect())
            .await?
            .map_err(io::Error::other)?
            .to_bytes();
        Ok(Err(ApiReply { status, revision: None, body: serde_json::from_slice(&body)? }))
    }

    async fn send(&mut self, ask: &ApiRequest) -> io::Result<Response<Incoming>> {
        let ask = broken::asked(self.broken, ask);
        let body = ask.body.as_ref().map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(ask.method())
            .uri(format!("https://{}{}", host_name(self.node), ask.uri()))
            .header("host", host_name(self.node))
            .header("content-type", ask.content_type())
            .header("accept", ask.accept())
            .body(Full::new(Bytes::from(body)))
            .map_err(io::Error::other)?;
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await.map_err(io::Error::other)?;
                sender.send_request(request).await.map_err(io::Error::other)
            }
            Sender::Http2(sender) => {
                sender.ready().await.map_err(io::Error::other)?;
                sender.send_request(request).await.map_err(io::Error::other)
            }
        }
    }
}

/// The lines of a watch.
pub(crate) struct Lines {
    body: Incoming,
    rest: Vec<u8>,
    fault: LineFault,
}

impl Lines {
    /// The next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Value>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                match self.fault.pass(serde_json::from_slice(&line)?) {
                    Some(line) => return Ok(Some(line)),
                    None => continue,
                }
            }
            let Some(frame) = self.body.frame().await else {
                self.fault.end().await;
                return Ok(None);
            };
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                self.rest.extend_from_slice(&data);
            }
        }
    }
}
