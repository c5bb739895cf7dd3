//! The seams to the outside world: wall clock, randomness, network, disk. Production code asks
//! these and nothing else, so that a simulation can replay a run byte for byte.
//!
//! Timers use `tokio::time`, which the simulation controls already. The clippy list of disallowed
//! methods keeps direct calls out of every other file.

use std::fmt;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

pub mod disk;

mod blocking;
mod fatal;
mod system;
#[cfg(any(test, feature = "testing"))]
mod vanishing;

pub use blocking::{blocking, blocking_whenever_it_runs};
pub use fatal::Fatal;
pub use system::SystemEnv;
#[cfg(any(test, feature = "testing"))]
pub use vanishing::VanishingNetwork;

/// The wall clock.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// Randomness.
pub trait Entropy: Send + Sync + fmt::Debug {
    /// Fills the buffer with unpredictable bytes.
    fn fill(&self, buffer: &mut [u8]);
}

/// A connected byte stream.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A bound address.
#[async_trait]
pub trait Listener: Send + Sync {
    /// The next connection and the peer's address.
    async fn accept(&self) -> io::Result<(Box<dyn Io>, String)>;
    /// The address that was bound, `host:port`, with the real port where 0 was asked for.
    fn address(&self) -> String;
}

/// The network.
#[async_trait]
pub trait Network: Send + Sync + fmt::Debug {
    /// Binds `host:port`.
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>>;
    /// Connects to `host:port`.
    async fn connect(&self, address: &str) -> io::Result<Box<dyn Io>>;
}

/// All seams but the disk, cheap to clone and passed down from the one place that wires.
#[derive(Debug, Clone)]
pub struct Env {
    /// The wall clock.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The network.
    pub network: Arc<dyn Network>,
}
