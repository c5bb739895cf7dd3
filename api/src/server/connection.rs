//! One connection: handshake, protocol choice, requests until the peer or a drain ends it.
//!
//! Invariants: the protocol is what ALPN chose, never guessed from bytes; every wait for the peer
//! before a request is known has a limit, and over HTTP/2 until a request has authenticated; a
//! drain lets running requests finish and takes no new ones.

use std::convert::Infallible;
use std::error::Error;
use std::pin::{Pin, pin};
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use quorate_env::Io;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::authentication_timeout::AuthenticationTimeout;
use super::io::{Coalesce, Cork, PrefaceTimeout, WriteLimit, WriteTimeout};
use super::{Limits, ServerTls};
use crate::Api;
use crate::body::Body;
use crate::filters;
use quorate_access::authentication::ConnectionIdentity;

type Stream = TlsStream<Cork<WriteTimeout<Box<dyn Io>>>>;
type Ended = Result<(), Box<dyn Error + Send + Sync>>;

/// What every connection of a server shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) api: Arc<Api>,
    pub(super) tls: Arc<ServerTls>,
    pub(super) limits: Limits,
    /// Cancelled when connections should take no further requests.
    pub(super) drain: CancellationToken,
}

/// Serves one accepted connection to its end. Errors of the peer end it silently.
pub(super) async fn serve(shared: Arc<Shared>, io: Box<dyn Io>, peer: String) {
    let tls = shared.tls.current();
    let acceptor = TlsAcceptor::from(tls.config.clone());
    let limit = WriteLimit::new(&shared.limits);
    let io = Cork::new(WriteTimeout::new(io, limit.clone()));
    let stream = match timeout(shared.limits.handshake, acceptor.accept(io)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            shared.api.metrics.tls_handshake_errors.inc();
            return tracing::debug!(%peer, %error, "TLS handshake failed");
        }
        Err(_) => {
            shared.api.metrics.tls_handshake_errors.inc();
            return tracing::debug!(%peer, "TLS handshake took too long");
        }
    };
    let (_, session) = stream.get_ref();
    let now_ms = shared.api.env.clock.now_ms();
    let chain = session.peer_certificates().unwrap_or_default();
    let identity = tls.identify(shared.api.names, chain, now_ms);
    let identity = identity.with_peer(&peer);
    let result = if session.alpn_protocol() == Some(b"h2") {
        serve_http2(&shared, stream, identity, limit).await
    } else {
        serve_http1(&shared, stream, identity, limit).await
    };
    if let Err(error) = result {
        tracing::debug!(%peer, %error, "connection ended");
    }
}

async fn serve_http1(
    shared: &Shared,
    stream: Stream,
    identity: ConnectionIdentity,
    limit: WriteLimit,
) -> Ended {
    let api = shared.api.clone();
    let service = service_fn(move |request| {
        let (limit, answer) = (limit.clone(), answer(api.clone(), identity.clone(), request));
        async move { answer.await.inspect(|answer| limit.note(answer)) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(shared.limits.header)
        .max_headers(shared.limits.header_fields)
        .max_buf_size(shared.limits.buffer_bytes);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        result = connection.as_mut() => return Ok(result?),
        () = shared.drain.cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    Ok(connection.await?)
}

async fn serve_http2(
    shared: &Shared,
    stream: Stream,
    identity: ConnectionIdentity,
    limit: WriteLimit,
) -> Ended {
    let api = shared.api.clone();
    let unauthenticated = AuthenticationTimeout::default();
    let noted = unauthenticated.clone();
    let service = service_fn(move |request| {
        let (noted, limit) = (noted.clone(), limit.clone());
        let answer = answer(api.clone(), identity.clone(), request);
        async move {
            let answer = answer.await?;
            noted.answered(answer.status());
            limit.note(&answer);
            Ok::<_, Infallible>(answer)
        }
    });
    let limits = &shared.limits;
    let coalesce = Coalesce::new(PrefaceTimeout::new(stream, limits.header));
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.header_bytes)
        .max_send_buf_size(limits.send_buffer)
        .keep_alive_interval(limits.ping)
        .keep_alive_timeout(limits.pong);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(coalesce.clone()), service));
    tokio::select! {
        biased;
        result = connection.as_mut() => return Ok(result?),
        error = coalesce.hand_on() => return Err(error.into()),
        () = shared.drain.cancelled() => {}
        () = unauthenticated.missed(limits.header) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        biased;
        result = connection => Ok(result?),
        error = coalesce.hand_on() => Err(error.into()),
        () = unauthenticated.missed(limits.header) => Ok(()),
    }
}

/// Boxed, so that the future of a request does not grow with the handlers.
fn answer(
    api: Arc<Api>,
    identity: ConnectionIdentity,
    request: Request<Incoming>,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>> {
    Box::pin(async move { Ok(filters::handle(&api, &identity, request).await) })
}
