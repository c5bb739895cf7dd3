//! A link: one connection to one peer, made when first needed and made again when it broke.
//!
//! Invariants: at most one connection attempt at a time; after a failure the next attempt waits,
//! from [`BACKOFF_FIRST`] doubling to [`BACKOFF_MAX`] (Raft itself would retry in a hot loop);
//! callers wait for the attempt, so they bound their own wait. An attempt goes on when its callers
//! give up, until the link is dropped, and the next caller gets its connection: a peer that takes
//! longer to connect to than a heartbeat or a vote may take is reached all the same. A failure that
//! no caller waited for is not reported later. The caller that notices a broken connection drops
//! it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use quorate_env::{Fatal, Network};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::call_auth::{self, ClusterHeader};
use super::connector::{self, ClientTls};
use super::rpc::peer_client::PeerClient;
use super::wire::MAX_MESSAGE_BYTES;
use crate::cluster::ClusterId;

/// The pause after the first failed attempt.
const BACKOFF_FIRST: Duration = Duration::from_millis(20);
/// The longest pause between attempts. Short, because a whole cluster that restarts elects its
/// leader over these links.
const BACKOFF_MAX: Duration = Duration::from_millis(320);

/// The stub with the cluster's identity on every call.
pub(crate) type Client = PeerClient<InterceptedService<Channel, ClusterHeader>>;

/// How to reach any peer: everything but its address.
#[derive(Debug, Clone)]
pub(crate) struct Dialer {
    /// The network seam.
    pub(crate) network: Arc<dyn Network>,
    /// The TLS settings to connect with.
    pub(crate) tls: ClientTls,
    /// The cluster to claim.
    pub(crate) cluster: Option<ClusterId>,
    /// Signals that this node turns out to be no member any more; a member has it.
    pub(crate) fatal: Option<Fatal>,
}

impl Dialer {
    /// Connects to the peer at `host:port`, once.
    pub(crate) async fn dial(&self, address: &str) -> io::Result<Client> {
        let channel = connector::dial(self.network.clone(), self.tls.clone(), address).await?;
        Ok(PeerClient::with_interceptor(channel, ClusterHeader::new(self.cluster))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES))
    }
}

/// A connection that may or may not be up.
#[derive(Debug)]
pub(crate) struct Link {
    dialer: Dialer,
    address: String,
    state: Mutex<LinkState>,
}

#[derive(Debug, Default)]
struct LinkState {
    client: Option<Client>,
    /// The attempt that is under way, or whose result was not taken yet.
    dialing: Option<AbortOnDropHandle<io::Result<Client>>>,
    /// Counts connections, so that a late report about an old one does not close the new one.
    generation: u64,
    failures: u32,
    retry_at: Option<Instant>,
    /// Why the peer refused the last call, so that it is logged once.
    refusal: Option<String>,
}

impl LinkState {
    /// Goes on with this connection.
    fn keep(&mut self, client: Client) -> Connected {
        let (generation, refusal) = (self.generation + 1, self.refusal.take());
        *self = Self { client: Some(client.clone()), generation, refusal, ..Self::default() };
        Connected { client, generation }
    }
}

/// A connection that was up once.
#[derive(Debug, Clone)]
pub(crate) struct Connected {
    /// Makes calls on it.
    pub(crate) client: Client,
    generation: u64,
}

impl Link {
    /// A link that is not connected yet.
    pub(crate) fn new(dialer: Dialer, address: String) -> Self {
        Self { dialer, address, state: Mutex::default() }
    }

    /// The connection; made now if there is none, after the pause that earlier failures demand.
    pub(crate) async fn connected(&self) -> io::Result<Connected> {
        let mut state = self.state.lock().await;
        if let Some(client) = &state.client {
            return Ok(Connected { client: client.clone(), generation: state.generation });
        }
        if let Some(abandoned) = state.dialing.take_if(|dialing| dialing.is_finished())
            && let Ok(Ok(client)) = abandoned.await
        {
            return Ok(state.keep(client));
        }
        if state.dialing.is_none()
            && let Some(retry_at) = state.retry_at
        {
            tokio::time::sleep_until(retry_at).await;
        }
        let dialed = state.dialing.get_or_insert_with(|| self.dial()).await;
        state.dialing = None;
        match dialed.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(client) => Ok(state.keep(client)),
            Err(error) => {
                state.retry_at = Some(Instant::now() + backoff(state.failures));
                state.failures = state.failures.saturating_add(1);
                Err(io::Error::new(
                    error.kind(),
                    format!("cannot reach the peer at {}: {error}", self.address),
                ))
            }
        }
    }

    fn dial(&self) -> AbortOnDropHandle<io::Result<Client>> {
        let (dialer, address) = (self.dialer.clone(), self.address.clone());
        AbortOnDropHandle::new(tokio::spawn(async move { dialer.dial(&address).await }))
    }

    /// Forgets a connection on which the peer refused a call, and says why: once, unless the reason
    /// changes.
    pub(crate) async fn refused(&self, connected: &Connected, status: &Status) {
        self.broken(connected).await;
        if status.code() != Code::FailedPrecondition {
            return;
        }
        let reason = status.message().to_owned();
        if call_auth::is_gone(status)
            && let Some(fatal) = &self.dialer.fatal
        {
            let advice =
                "this node's data counts no longer: empty its data folder and let it join again";
            fatal.report(format!("{reason} (says the node at {}); {advice}", self.address));
        }
        let mut state = self.state.lock().await;
        if state.refusal.as_ref() != Some(&reason) {
            tracing::warn!(peer = self.address, reason, "a peer refuses this node");
            state.refusal = Some(reason);
        }
    }

    /// Forgets a connection on which a call failed.
    pub(crate) async fn broken(&self, connected: &Connected) {
        let mut state = self.state.lock().await;
        if state.generation == connected.generation && state.client.take().is_some() {
            state.retry_at = Some(Instant::now() + BACKOFF_FIRST);
        }
    }
}

fn backoff(failures: u32) -> Duration {
    BACKOFF_FIRST.saturating_mul(1 << failures.min(8)).min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use quorate_env::{Io, Listener};
    use rustls::{ClientConfig, RootCertStore};
    use tokio::time::timeout;

    use super::*;

    const SLOW: Duration = Duration::from_millis(100);

    /// Every attempt fails, with its number; the first one after a while.
    #[derive(Debug, Default)]
    struct Unreachable(AtomicU32);

    #[async_trait]
    impl Network for Unreachable {
        async fn listen(&self, _: &str) -> io::Result<Box<dyn Listener>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        async fn connect(&self, _: &str) -> io::Result<Box<dyn Io>> {
            let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            if number == 1 {
                tokio::time::sleep(SLOW).await;
            }
            Err(io::Error::other(format!("attempt {number}")))
        }
    }

    fn link() -> Link {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = config.with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let (network, tls) =
            (Arc::new(Unreachable::default()), ClientTls::Joining(Arc::new(config)));
        Link::new(Dialer { network, tls, cluster: None, fatal: None }, "peer:1".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_nobody_waited_for_is_not_told_later() {
        let link = link();
        timeout(SLOW / 2, link.connected()).await.expect_err("the attempt takes longer");
        tokio::time::sleep(SLOW).await;
        let error = link.connected().await.unwrap_err();
        assert_eq!(error.to_string(), "cannot reach the peer at peer:1: attempt 2");
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_goes_on_when_its_caller_gives_up() {
        let link = link();
        timeout(SLOW / 2, link.connected()).await.expect_err("the attempt takes longer");
        let error = link.connected().await.unwrap_err();
        assert_eq!(error.to_string(), "cannot reach the peer at peer:1: attempt 1");
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        let pauses: Vec<u128> = (0..7).map(|failures| backoff(failures).as_millis()).collect();
        assert_eq!(pauses, [20, 40, 80, 160, 320, 320, 320]);
        assert_eq!(backoff(u32::MAX), BACKOFF_MAX);
    }
}
