//! Idle clients that take a place: the server closes their connections, and serves the clients that
//! come then.

use std::time::Duration;

use futures::future::join_all;
use quorate_access::authentication::ProxyOptions;
use quorate_api::server::Limits;
use quorate_env::{Io, SystemEnv};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

use super::frames::PREFACE;
use super::{Castle, PATIENCE, SHORT, limits};

impl Castle {
    /// Sends a request's header drop by drop, for as long as the server takes it.
    async fn drip(&self) {
        // So many handshakes at once may take longer than the server allows, which is refusal
        // enough.
        let Some(stream) = self.connect(self.config(None)).await else {
            return;
        };
        let (mut reader, mut writer) = tokio::io::split(stream);
        let drops = async {
            let mut line = "GET / HTTP/1.1\r\n";
            while writer.write_all(line.as_bytes()).await.is_ok() {
                line = "x: y\r\n";
                sleep(Duration::from_millis(100)).await;
            }
        };
        let mut answer = Vec::new();
        tokio::select! {
            () = drops => {}
            _ = reader.read_to_end(&mut answer) => {}
        }
        assert!(!answer.starts_with(b"HTTP/1.1 2"));
    }

    /// A connection that goes no further than this; without a handshake when it has no protocol.
    async fn begun(&self, protocol: Option<&str>, text: &[u8]) -> Box<dyn Io> {
        let Some(protocol) = protocol else {
            return SystemEnv::env().network.connect(self.handle.address()).await.unwrap();
        };
        let mut config = self.config(None);
        config.alpn_protocols = vec![protocol.into()];
        let mut stream = self.connect(config).await.expect("a handshake");
        // On a slow machine the server may have closed the connection already.
        let _ = stream.write_all(text).await;
        let _ = stream.flush().await;
        Box::new(stream)
    }
}

#[tokio::test]
async fn many_who_never_finish_keep_nobody_out() {
    const MANY: usize = 64;
    let castle = Castle::new().await;
    let drips = join_all((0..MANY).map(|_| castle.drip()));
    let admin = castle.authority.issue("admin", Some("system:masters"));
    let (_, served) = tokio::join!(
        async { timeout(PATIENCE, drips).await.expect("the server hangs up on each of them") },
        castle.get(Some(admin), "/api/v1/namespaces", &[])
    );
    assert_eq!(served, 200);
    println!("{MANY} attempts to take the server's time, none kept anybody out");
}

/// Connections that a server has at one time.
const PLACES: usize = 8;

/// Takes all places in this way, and gives how many there were once another client is served.
async fn squat(limits: Limits, protocol: Option<&str>, text: &[u8]) -> usize {
    let castle =
        Castle::with(ProxyOptions::default(), Limits { connections: PLACES, ..limits }).await;
    let admin = castle.authority.issue("admin", Some("system:masters"));
    let begin = Instant::now();
    let mut held = Vec::new();
    for _ in 0..PLACES {
        held.push(castle.begun(protocol, text).await);
    }
    assert_eq!(castle.get(Some(admin), "/api/v1/namespaces", &[]).await, 200, "{protocol:?}");
    assert!(begin.elapsed() >= SHORT, "{protocol:?}: there was no place before");
    held.len()
}

#[tokio::test]
async fn places_of_those_who_do_nothing_come_free() {
    // Only one of the limits is short, so that it is the one that frees the places.
    let handshake = Limits { header: PATIENCE, ..limits() };
    let header = Limits { handshake: PATIENCE, ..limits() };
    let squats = [
        squat(handshake, None, b""),
        squat(header, Some("http/1.1"), b""),
        squat(header, Some("http/1.1"), b"GET / HTTP/1.1\r\nslow: "),
        squat(header, Some("h2"), b""),
        squat(header, Some("h2"), PREFACE),
    ];
    let count: usize = join_all(squats).await.into_iter().sum();
    println!("{count} attempts to keep all places, none kept one");
    assert_eq!(count, 40);
}
