//! A client of one webhook: one POST for one answer.
//!
//! Invariants: at most [`MAX_CALLS`] calls at a time, others wait within their timeout; a request is
//! sent a second time only when the connection was used before and broke before the answer began.
//! So a request may arrive twice. A connection of which an answer was not read to its end is not
//! used again. Answers above [`SMALL_BYTES`] share one room.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use quorate_env::Network;
use quorate_trace::{OpenSpan, TRACEPARENT, TRACESTATE, current, start};
use rustls::ClientConfig as TlsConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::pool::Pool;
use super::{CallEnd, CallError, CallMetrics, Connection, Failure, Place, status};

/// Calls of one client that run at a time.
const MAX_CALLS: usize = 64;
/// Bytes of an answer that take no room of the others.
const SMALL_BYTES: usize = 64 << 10;
/// Bytes that larger answers may take together.
const ROOM_BYTES: usize = 256 << 20;

/// Finds the servers of Services.
#[async_trait]
pub trait ServiceResolver: Send + Sync + fmt::Debug {
    /// Where to connect for a port of a Service: `host:port` of its cluster IP or of an endpoint.
    ///
    /// # Errors
    /// Why there is no server, such as `service "x" not found`.
    async fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<String, String>;
}

/// The room of the answers of all clients that share it.
#[derive(Debug, Clone)]
pub struct AnswerRoom(Arc<Semaphore>);

impl AnswerRoom {
    /// A room of this size in bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / SMALL_BYTES)))
    }
}

impl Default for AnswerRoom {
    fn default() -> Self {
        Self::new(ROOM_BYTES)
    }
}

/// What a client is made of.
#[derive(Clone)]
pub struct ClientOptions {
    /// Where calls go.
    pub place: Place,
    /// Whom it trusts and what it shows.
    pub tls: Arc<TlsConfig>,
    /// The `authorization` header; a secret.
    pub authorization: Option<HeaderValue>,
    /// The network.
    pub network: Arc<dyn Network>,
    /// Finds the servers of Services; `None` where the place is a URL.
    pub services: Option<Arc<dyn ServiceResolver>>,
    /// The room of answers.
    pub room: AnswerRoom,
}

/// One call.
#[derive(Debug, Clone)]
pub struct Call<'c> {
    /// JSON.
    pub body: Bytes,
    /// Added to the query of the URL: `timeout=10s`.
    pub query: Option<&'c str>,
    /// Within which the whole answer has to be there.
    pub timeout: Duration,
    /// Bytes of an answer, at most.
    pub max_answer: usize,
}

/// An answer, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The body, whole.
    pub body: Bytes,
    /// Until the body is dropped.
    _room: Option<OwnedSemaphorePermit>,
}

impl Answer {
    /// The body of a success.
    ///
    /// # Errors
    /// What the server says instead, in the words of Kubernetes' clients.
    pub fn success(&self) -> Result<&Bytes, CallError> {
        match status::problem(self.status, &self.body) {
            None => Ok(&self.body),
            Some(problem) => Err(CallError::new(Failure::Refused, problem)),
        }
    }
}

/// A client of one server.
pub struct Client {
    options: ClientOptions,
    calls: Semaphore,
    pool: Pool,
    metrics: Option<Arc<dyn CallMetrics>>,
}

impl Client {
    /// A client without open connections.
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        let (calls, pool) = (Semaphore::new(MAX_CALLS), Pool::default());
        Self { options, calls, pool, metrics: None }
    }

    /// The same, whose calls are counted.
    #[must_use]
    pub fn counted_by(self, metrics: Option<Arc<dyn CallMetrics>>) -> Self {
        Self { metrics, ..self }
    }

    /// Where calls go.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.options.place
    }

    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// Why there is no whole answer; one with any status is an answer.
    pub async fn post(&self, call: Call<'_>) -> Result<Answer, CallError> {
        let begin = Instant::now();
        let span = start("HTTP POST").map(|span| {
            let span = span.of_client().with("http.request.method", "POST");
            span.with("server.address", &*self.place().authority())
        });
        let mut asking = pin!(timeout(call.timeout, self.post_untimed(&call)));
        let answered = match &span {
            None => asking.as_mut().await,
            Some(span) => span.run(asking.as_mut()).await,
        };
        let answer = match answered {
            Ok(answer) => answer,
            Err(_) => {
                // A connection that several calls share may be what hangs.
                self.pool.clear();
                Err(CallError::timeout())
            }
        };
        self.count(&call, &answer, begin.elapsed());
        end(span, &answer);
        answer.map_err(|error| {
            let place = self.place();
            error.of_post(&format!("https://{}{}", place.authority(), place.target(call.query)))
        })
    }

    fn count(&self, call: &Call<'_>, answer: &Result<Answer, CallError>, took: Duration) {
        let Some(metrics) = &self.metrics else { return };
        let (status, received) = match answer {
            Ok(answer) => (Some(answer.status), answer.body.len()),
            Err(error) => (error.status(), 0),
        };
        let (host, sent) = (self.place().authority(), call.body.len());
        metrics.ended(&CallEnd { host: &host, status, sent, received, took });
    }

    async fn post_untimed(&self, call: &Call<'_>) -> Result<Answer, CallError> {
        let closed = |error| CallError::new(Failure::Unreachable, error);
        let _place = self.calls.acquire().await.map_err(closed)?;
        if let Some(mut used) = self.pool.take() {
            match self.send(&mut used, call).await {
                Ok(answer) => return self.read(answer, used, call.max_answer).await,
                Err(error) if error.failure() == Failure::Broken => {
                    self.pool.clear();
                    if let Some(metrics) = &self.metrics {
                        metrics.sent_again(&self.place().authority());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let mut fresh = self.open().await?;
        let answer = self.send(&mut fresh, call).await?;
        self.read(answer, fresh, call.max_answer).await
    }

    async fn open(&self) -> Result<Connection, CallError> {
        let ClientOptions { place, network, tls, services, .. } = &self.options;
        let address = match place {
            Place::Url { address, .. } => address.clone(),
            Place::Service { namespace, name, port, .. } => match services {
                Some(services) => services
                    .resolve(namespace, name, *port)
                    .await
                    .map_err(|why| CallError::new(Failure::Unreachable, why))?,
                None => return Err(CallError::new(Failure::Config, "services are not reachable")),
            },
        };
        Connection::open_as(&**network, &address, &place.server_name(), tls.clone()).await
    }

    async fn send(
        &self,
        connection: &mut Connection,
        call: &Call<'_>,
    ) -> Result<Response<Incoming>, CallError> {
        let place = self.place();
        let target = place.target(call.query);
        // HTTP/2 has the whole URL in its pseudo-headers.
        let uri = match connection {
            Connection::Http1(_) => target,
            Connection::Http2(_) => format!("https://{}{target}", place.authority()),
        };
        let mut request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json");
        if let Connection::Http1(_) = connection {
            request = request.header(header::HOST, place.authority());
        }
        if let Some(authorization) = &self.options.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let span = current();
        if let Some(context) = span.context() {
            request = request.header(TRACEPARENT, context.header());
        }
        if let Some(state) = span.state() {
            request = request.header(TRACESTATE, state.header());
        }
        let request = request
            .body(Full::new(call.body.clone()))
            .map_err(|error| CallError::new(Failure::Config, error))?;
        connection.send(request).await.map_err(|error| CallError::broken(&error))
    }

    /// Reads the body, and keeps the connection when that ends well.
    async fn read(
        &self,
        answer: Response<Incoming>,
        connection: Connection,
        limit: usize,
    ) -> Result<Answer, CallError> {
        let (head, mut body) = answer.into_parts();
        let mut whole = BytesMut::new();
        let mut room: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| CallError::broken(&error))?;
            let Ok(data) = frame.into_data() else { continue };
            let length = whole.len() + data.len();
            if length > limit {
                return Err(CallError::too_large(head.status, limit));
            }
            self.take_room(&mut room, length)?;
            whole.extend_from_slice(&data);
        }
        self.pool.keep(connection);
        Ok(Answer { status: head.status, body: whole.freeze(), _room: room })
    }

    /// Takes the room of an answer of this length.
    fn take_room(
        &self,
        taken: &mut Option<OwnedSemaphorePermit>,
        length: usize,
    ) -> Result<(), CallError> {
        let has = taken.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = (length / SMALL_BYTES).saturating_sub(has);
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let more = self.options.room.0.clone().try_acquire_many_owned(more).map_err(|_| {
            CallError::new(Failure::TooLarge, "other answers take the room that there is")
        })?;
        match taken {
            None => *taken = Some(more),
            Some(taken) => taken.merge(more),
        }
        Ok(())
    }
}

/// Ends the span of a call.
fn end(span: Option<OpenSpan>, answer: &Result<Answer, CallError>) {
    let Some(mut span) = span else { return };
    match answer {
        Ok(answer) => drop(span.with("http.response.status_code", answer.status.as_u16())),
        Err(error) => span.fail(error.failure().name()),
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("place", self.place()).finish_non_exhaustive()
    }
}
