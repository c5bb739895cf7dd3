//! A slow network: connecting takes a while, and so does every message.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::BytesMut;
use quorate_env::{Io, Listener, Network};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Bytes under way in one direction of a connection.
const UNDER_WAY: usize = 1 << 20;

/// How far the others are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Distance {
    /// How long it takes to connect.
    pub(crate) connecting: Duration,
    /// The way there and back.
    pub(crate) both_ways: Duration,
}

/// The system's network with a delay.
#[derive(Debug)]
pub(crate) struct FarNetwork {
    pub(crate) near: Arc<dyn Network>,
    pub(crate) distance: Distance,
}

#[async_trait]
impl Network for FarNetwork {
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>> {
        self.near.listen(address).await
    }

    async fn connect(&self, address: &str) -> io::Result<Box<dyn Io>> {
        tokio::time::sleep(self.distance.connecting).await;
        let (said, heard) = tokio::io::split(self.near.connect(address).await?);
        let (here, there) = tokio::io::duplex(UNDER_WAY);
        let (from_here, to_here) = tokio::io::split(there);
        tokio::spawn(say(from_here, heard));
        tokio::spawn(hear(said, to_here, self.distance.both_ways));
        Ok(Box::new(here))
    }
}

/// What goes there goes at once.
async fn say(mut from: ReadHalf<DuplexStream>, mut to: WriteHalf<Box<dyn Io>>) {
    tokio::io::copy(&mut from, &mut to).await.ok();
    to.shutdown().await.ok();
}

/// What comes back comes late.
async fn hear(mut from: ReadHalf<Box<dyn Io>>, mut to: WriteHalf<DuplexStream>, late: Duration) {
    let (sender, mut coming) = mpsc::unbounded_channel();
    let carry = async move {
        while let Some((due, bytes)) = coming.recv().await {
            tokio::time::sleep_until(due).await;
            let bytes: BytesMut = bytes;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        to.shutdown().await.ok();
    };
    let take = async move {
        loop {
            let mut bytes = BytesMut::new();
            match from.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.send((Instant::now() + late, bytes)).is_err() => return,
                Ok(_) => {}
            }
        }
    };
    tokio::join!(carry, take);
}
