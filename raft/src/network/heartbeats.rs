//! Heartbeats to one member share a stream: each is one frame there and one back, not a call of its own.
//!
//! A consistent read costs a heartbeat to every member, so this is where its price is made.
//!
//! Invariants: one heartbeat is under way at a time; a stream whose answer nobody waited for is never used again, so that every
//! answer belongs to the heartbeat that was sent last; a member that refuses ends the stream, as [`Appended`] says.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use openraft::OptionalSend;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::link::{Connected, Link};
use super::raft_client::{Append, Appended, RpcError, unreachable};
use super::wire::{decode, encode};
use crate::witness::Follower;

/// The heartbeats to one member.
#[derive(Debug)]
pub(super) struct Heartbeats {
    link: Arc<Link>,
    follower: Follower,
    /// Open and without anything under way.
    idle: Option<Session>,
}

/// An open stream.
#[derive(Debug)]
struct Session {
    connected: Connected,
    requests: mpsc::Sender<Bytes>,
    answers: Streaming<Bytes>,
}

impl Heartbeats {
    /// Over this link; a stream is opened by the first one.
    pub(super) fn new(link: Arc<Link>, follower: Follower) -> Self {
        Self { link, follower, idle: None }
    }

    /// Sends these, one after the other, each when the one before is answered.
    pub(super) fn send<'s, S>(&'s mut self, requests: S) -> BoxStream<'s, Result<Appended, RpcError>>
    where
        S: Stream<Item = Append> + OptionalSend + Unpin + 's,
    {
        stream::unfold((self, requests), |(heartbeats, mut requests)| async move {
            let request = requests.next().await?;
            let answer = heartbeats.beat(&request).await;
            Some((answer, (heartbeats, requests)))
        })
        .boxed()
    }

    async fn beat(&mut self, request: &Append) -> Result<Appended, RpcError> {
        // Taken while in use: whoever stops waiting drops it.
        let mut session = match self.idle.take() {
            Some(session) => session,
            None => self.open().await?,
        };
        let answered = match session.ask(encode(request)).await {
            Ok(answered) => answered,
            Err(status) => {
                self.link.broken(&session.connected).await;
                return Err(unreachable(status.message()));
            }
        };
        let Some(frame) = answered else { return Err(unreachable("the member closed the stream of heartbeats")) };
        let appended: Appended = decode(&frame).map_err(|status| unreachable(status.message()))?;
        self.follower.answered(request.vote.leader_id, &appended).map_err(unreachable)?;
        if appended.is_ok() {
            self.idle = Some(session);
        }
        Ok(appended)
    }

    async fn open(&self) -> Result<Session, RpcError> {
        let mut connected = self.link.connected().await.map_err(unreachable)?;
        let (requests, receiver) = mpsc::channel(1);
        match connected.client.append(ReceiverStream::new(receiver)).await {
            Ok(response) => Ok(Session { connected, requests, answers: response.into_inner() }),
            Err(status) => {
                self.link.refused(&connected, &status).await;
                Err(unreachable(status.message()))
            }
        }
    }
}

impl Session {
    /// The answer to this; `None` if the other end has closed the stream.
    async fn ask(&mut self, request: Bytes) -> Result<Option<Bytes>, Status> {
        if self.requests.send(request).await.is_err() {
            return Ok(None);
        }
        self.answers.next().await.transpose()
    }
}
