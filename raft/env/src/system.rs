//! The production environment: the system clock, the operating system's randomness, TCP.
//!
//! The only place in the raft and api crates that may touch them. Every connection is probed by the
//! operating system while nothing comes: one whose other end is gone without a word (power, cable,
//! a firewall that has forgotten it) breaks after [`PROBE_AFTER`] and [`PROBES`] probes. A task that
//! waits for an answer to what it has sent has a limit of its own: the system would send that again
//! for a quarter of an hour.

#![expect(
    clippy::disallowed_methods,
    reason = "this file implements the seams that all other code uses"
)]

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rand::TryRngCore;
use rand::rngs::OsRng;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

use super::{Clock, Entropy, Env, Io, Listener, Network};

/// Silence after which the other end of a connection is asked whether it is there.
const PROBE_AFTER: Duration = Duration::from_secs(15);
/// Between two such probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// Probes without an answer until the connection is broken.
const PROBES: u32 = 3;

/// The production environment.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEnv;

impl SystemEnv {
    /// All of it as an [`Env`].
    #[must_use]
    pub fn env() -> Env {
        Env { clock: Arc::new(Self), entropy: Arc::new(Self), network: Arc::new(Self) }
    }
}

impl Clock for SystemEnv {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Entropy for SystemEnv {
    fn fill(&self, buffer: &mut [u8]) {
        OsRng
            .try_fill_bytes(buffer)
            .expect("the operating system gives randomness once it has booted");
    }
}

#[async_trait]
impl Network for SystemEnv {
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?.to_string();
        Ok(Box::new(TcpAcceptor { listener, address }))
    }

    async fn connect(&self, address: &str) -> io::Result<Box<dyn Io>> {
        let stream = TcpStream::connect(address).await?;
        configure(&stream)?;
        Ok(Box::new(stream))
    }
}

fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let probes = TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_INTERVAL);
    SockRef::from(stream).set_tcp_keepalive(&probes.with_retries(PROBES))
}

#[derive(Debug)]
struct TcpAcceptor {
    listener: TcpListener,
    address: String,
}

#[async_trait]
impl Listener for TcpAcceptor {
    async fn accept(&self) -> io::Result<(Box<dyn Io>, String)> {
        let (stream, peer) = self.listener.accept().await?;
        configure(&stream)?;
        Ok((Box::new(stream), peer.to_string()))
    }

    fn address(&self) -> String {
        self.address.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn listens_on_a_free_port_and_connects() {
        let env = SystemEnv::env();
        let listener = env.network.listen("127.0.0.1:0").await.unwrap();
        let address = listener.address();
        assert!(!address.ends_with(":0"));
        let client = async {
            let mut stream = env.network.connect(&address).await.unwrap();
            stream.write_all(b"hello").await.unwrap();
            stream.shutdown().await.unwrap();
        };
        let server = async {
            let (mut stream, peer) = listener.accept().await.unwrap();
            assert!(peer.starts_with("127.0.0.1:"));
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "hello");
        };
        tokio::join!(client, server);
    }

    #[tokio::test]
    async fn connections_are_probed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (opened, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        for stream in [opened.unwrap(), accepted.unwrap().0] {
            configure(&stream).unwrap();
            let socket = SockRef::from(&stream);
            assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), PROBE_AFTER);
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), PROBE_INTERVAL);
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), PROBES);
        }
    }

    #[test]
    fn randomness_is_not_constant() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        SystemEnv.fill(&mut a);
        SystemEnv.fill(&mut b);
        assert_ne!(a, b);
    }
}
