//! The join-only layer: a caller without a peer certificate may ask to join, with a small message,
//! and nothing else.
//!
//! Invariants: everything else is refused before its body is read; a join has at most
//! [`MAX_JOIN_BYTES`]. The service checks the certificate once more (`call_auth`); how many such
//! connections there are, and for how long, is limited by the listener.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use futures::future::Either;
use http::{Request, Response};
use http_body_util::Limited;
use tonic::Status;
use tonic::body::Body;
use tonic::server::NamedService;
use tower::{Layer, Service};

use super::stream::PeerInfo;

/// Bytes of a join with its certificate requests.
const MAX_JOIN_BYTES: usize = 64 << 10;
/// The one path that needs no peer certificate.
const JOIN: &str = "/quorate.peer.v1.Peer/Join";

/// Puts [`JoinOnly`] around the service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinOnlyLayer;

/// A service that serves callers without a peer certificate the join only.
#[derive(Debug, Clone)]
pub(crate) struct JoinOnly<S>(S);

impl<S> Layer<S> for JoinOnlyLayer {
    type Service = JoinOnly<S>;

    fn layer(&self, service: S) -> JoinOnly<S> {
        JoinOnly(service)
    }
}

impl<S: NamedService> NamedService for JoinOnly<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for JoinOnly<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Either<S::Future, Ready<Result<Response<Body>, Infallible>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if request.extensions().get::<PeerInfo>().is_some_and(|info| info.authenticated) {
            return Either::Left(self.0.call(request));
        }
        if request.uri().path() == JOIN {
            return Either::Left(
                self.0.call(request.map(|body| Body::new(Limited::new(body, MAX_JOIN_BYTES)))),
            );
        }
        let refusal = Status::unauthenticated("a peer certificate of this cluster is required");
        Either::Right(ready(Ok(refusal.into_http())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures::executor::block_on;
    use http_body_util::{BodyExt, Full};

    /// How many bytes the service read: `None` when it was not called, an error when it could not
    /// read all.
    fn check(authenticated: bool, path: &str, bytes: usize, expect: Option<Result<usize, &str>>) {
        let seen = std::sync::Mutex::new(None);
        let service = tower::service_fn(async |request: Request<Body>| {
            let read = request.into_body().collect().await.map(|body| body.to_bytes().len());
            *seen.lock().expect("not poisoned") = Some(read.map_err(|error| error.to_string()));
            Ok::<_, Infallible>(Response::new(Body::empty()))
        });
        let mut request = Request::new(Body::new(Full::new(Bytes::from(vec![0; bytes]))));
        *request.uri_mut() = path.parse().expect("a path");
        request.extensions_mut().insert(PeerInfo { authenticated, ..PeerInfo::default() });
        let response = block_on(JoinOnlyLayer.layer(service).call(request)).expect("infallible");
        let refused = response.headers().get("grpc-status").is_some_and(|code| code == "16");
        let seen = seen.into_inner().expect("not poisoned");
        assert_eq!(refused, seen.is_none());
        match (seen, expect) {
            (Some(Err(found)), Some(Err(expect))) => assert!(found.contains(expect), "{found}"),
            (found, expect) => {
                assert_eq!(found.map(|read| read.ok()), expect.map(|read| read.ok()), "{path}")
            }
        }
    }

    #[test]
    fn callers_without_a_certificate_may_join_and_nothing_else() {
        let vote = "/quorate.peer.v1.Peer/Vote";
        check(true, vote, 1 << 20, Some(Ok(1 << 20)));
        check(true, JOIN, 1 << 20, Some(Ok(1 << 20)));
        check(false, vote, 10, None);
        check(false, JOIN, MAX_JOIN_BYTES, Some(Ok(MAX_JOIN_BYTES)));
        check(false, JOIN, MAX_JOIN_BYTES + 1, Some(Err("limit")));
    }
}
