//! The seams of `quorate_env` on turmoil: simulated network, simulated clock with an offset,
//! randomness from a seed.
//!
//! Invariant: every byte read or written here is noted in the [`Trace`].

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use parking_lot::Mutex;
use quorate_env::{Clock, Entropy, Env, Io, Listener, Network};
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::{TcpListener, TcpStream};

use crate::determinism::{self, EPOCH_SECONDS};
use crate::trace::Trace;

/// An environment for one simulated host whose clock is wrong by `clock_offset_ms`.
pub(crate) fn env(seed: u64, clock_offset_ms: u64, trace: Trace) -> Env {
    env_with(SimulatedClock::wrong_by(clock_offset_ms), seed, trace)
}

/// An environment for one simulated host with this clock.
pub(crate) fn env_with(clock: Arc<SimulatedClock>, seed: u64, trace: Trace) -> Env {
    let entropy = SeededEntropy { rng: Mutex::new(StdRng::seed_from_u64(seed)) };
    Env { clock, entropy: Arc::new(entropy), network: Arc::new(SimulatedNetwork { trace }) }
}

/// A wall clock that may be wrong, and go wrong.
#[derive(Debug)]
pub(crate) struct SimulatedClock {
    error: Mutex<ClockError>,
}

/// How far a clock is ahead.
#[derive(Debug)]
struct ClockError {
    offset_ms: i64,
    /// What it gains in a second, milliseconds.
    gains_ms: i64,
    /// From when on, in nanoseconds of the simulation.
    since: u64,
}

impl ClockError {
    fn now_ms(&self) -> i64 {
        let drifting_ms =
            i64::try_from((determinism::now() - self.since) / 1_000_000).unwrap_or(i64::MAX);
        self.offset_ms + drifting_ms * self.gains_ms / 1000
    }
}

impl SimulatedClock {
    /// It is ahead by this.
    pub(crate) fn wrong_by(offset_ms: u64) -> Arc<Self> {
        let offset_ms = i64::try_from(offset_ms).unwrap_or(i64::MAX);
        Arc::new(Self { error: Mutex::new(ClockError { offset_ms, gains_ms: 0, since: 0 }) })
    }

    /// From now on it gains so much in every second, milliseconds.
    pub(crate) fn set_drift(&self, gains_ms: i64) {
        let mut error = self.error.lock();
        *error = ClockError { offset_ms: error.now_ms(), gains_ms, since: determinism::now() };
    }

    /// It jumps.
    pub(crate) fn turn(&self, by_ms: i64) {
        self.error.lock().offset_ms += by_ms;
    }
}

impl Clock for SimulatedClock {
    fn now_ms(&self) -> u64 {
        let now = EPOCH_SECONDS * 1000 + determinism::now() / 1_000_000;
        now.saturating_add_signed(self.error.lock().now_ms())
    }
}

#[derive(Debug)]
struct SeededEntropy {
    rng: Mutex<StdRng>,
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        self.rng.lock().fill_bytes(buffer);
    }
}

struct SimulatedNetwork {
    trace: Trace,
}

impl fmt::Debug for SimulatedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedNetwork")
    }
}

#[async_trait]
impl Network for SimulatedNetwork {
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?.to_string();
        Ok(Box::new(SimulatedListener { listener, address, trace: self.trace.clone() }))
    }

    async fn connect(&self, address: &str) -> io::Result<Box<dyn Io>> {
        let stream = TcpStream::connect(address).await?;
        let number = self.trace.stream(&format!("connected to {address}"));
        Ok(Box::new(TracedStream { stream, number, trace: self.trace.clone() }))
    }
}

/// A network on which no connection succeeds.
#[derive(Debug)]
pub(crate) struct QuarantinedNetwork(pub(crate) Arc<dyn Network>);

#[async_trait]
impl Network for QuarantinedNetwork {
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>> {
        self.0.listen(address).await
    }

    async fn connect(&self, _: &str) -> io::Result<Box<dyn Io>> {
        Err(io::ErrorKind::HostUnreachable.into())
    }
}

/// A network on which no connection succeeds until it is switched on.
#[derive(Debug)]
pub(crate) struct OfflineNetwork {
    network: Arc<dyn Network>,
    is: AtomicBool,
}

impl OfflineNetwork {
    /// In front of this one.
    pub(crate) fn new(network: Arc<dyn Network>) -> Self {
        Self { network, is: AtomicBool::new(true) }
    }

    /// Switches the network on.
    pub(crate) fn forget(&self) {
        self.is.store(false, Ordering::Relaxed);
    }
}

#[async_trait]
impl Network for OfflineNetwork {
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>> {
        self.network.listen(address).await
    }

    async fn connect(&self, address: &str) -> io::Result<Box<dyn Io>> {
        if self.is.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        self.network.connect(address).await
    }
}

struct SimulatedListener {
    listener: TcpListener,
    address: String,
    trace: Trace,
}

#[async_trait]
impl Listener for SimulatedListener {
    async fn accept(&self) -> io::Result<(Box<dyn Io>, String)> {
        let (stream, peer) = self.listener.accept().await?;
        let number = self.trace.stream(&format!("accepted from {peer}"));
        Ok((Box::new(TracedStream { stream, number, trace: self.trace.clone() }), peer.to_string()))
    }

    fn address(&self) -> String {
        self.address.clone()
    }
}

struct TracedStream {
    stream: TcpStream,
    number: u64,
    trace: Trace,
}

impl AsyncRead for TracedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.trace.item(self.number, "read", &buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TracedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.trace.item(self.number, "write", &bytes[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
