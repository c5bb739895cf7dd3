//! Heartbeats to one member over a shared stream: each is one frame there and one back, not a call
//! of its own.
//!
//! A consistent read costs a heartbeat to every member, so its price is decided here.
//!
//! The first heartbeat goes with the request that opens its stream: an answer has to be there
//! within the time between two heartbeats, and waiting for the stream first would take a second
//! round trip.
//!
//! Invariants: one heartbeat is under way at a time; a stream on which an answer was given up is
//! never used again, so that every answer belongs to the heartbeat that was sent last; a member
//! that refuses ends the stream, as [`AppendResult`] says.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use openraft::OptionalSend;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::append::{AppendRequest, AppendResult, RpcError, unreachable};
use super::link::{Connected, Link};

use super::wire::{decode, encode};
use crate::rollback::FollowerMark;

/// The heartbeats to one member.
#[derive(Debug)]
pub(super) struct Heartbeats {
    link: Arc<Link>,
    follower: FollowerMark,
    /// Open and without anything under way.
    idle: Option<HeartbeatStream>,
}

/// An open stream.
#[derive(Debug)]
struct HeartbeatStream {
    connected: Connected,
    requests: mpsc::Sender<Bytes>,
    answers: Streaming<Bytes>,
}

impl Heartbeats {
    /// Over this link; a stream is opened by the first one.
    pub(super) fn new(link: Arc<Link>, follower: FollowerMark) -> Self {
        Self { link, follower, idle: None }
    }

    /// Sends these, one after the other, each when the one before is answered.
    pub(super) fn send<'s, S>(
        &'s mut self,
        requests: S,
    ) -> BoxStream<'s, Result<AppendResult, RpcError>>
    where
        S: Stream<Item = AppendRequest> + OptionalSend + Unpin + 's,
    {
        stream::unfold((self, requests), |(heartbeats, mut requests)| async move {
            let request = requests.next().await?;
            let answer = heartbeats.beat(&request).await;
            Some((answer, (heartbeats, requests)))
        })
        .boxed()
    }

    async fn beat(&mut self, request: &AppendRequest) -> Result<AppendResult, RpcError> {
        let frame = encode(request);
        // Taken while in use: a caller that stops waiting drops it.
        let mut session = match self.idle.take() {
            Some(session) => {
                // A closed stream fails where its answer is awaited.
                session.requests.send(frame).await.ok();
                session
            }
            None => self.open(frame).await?,
        };
        let answered = match session.answers.next().await.transpose() {
            Ok(answered) => answered,
            Err(status) => {
                self.link.broken(&session.connected).await;
                return Err(unreachable(status.message()));
            }
        };
        let Some(frame) = answered else {
            return Err(unreachable("the member closed the stream of heartbeats"));
        };
        let appended: AppendResult =
            decode(&frame).map_err(|status| unreachable(status.message()))?;
        self.follower.answered(request.vote.leader_id, &appended).map_err(unreachable)?;
        if appended.is_ok() {
            self.idle = Some(session);
        }
        Ok(appended)
    }

    /// A stream with the first heartbeat under way.
    async fn open(&self, first: Bytes) -> Result<HeartbeatStream, RpcError> {
        let mut connected = self.link.connected().await.map_err(unreachable)?;
        let (requests, receiver) = mpsc::channel(1);
        requests.try_send(first).expect("the channel has room for one and its receiver is here");
        match connected.client.append(ReceiverStream::new(receiver)).await {
            Ok(response) => {
                Ok(HeartbeatStream { connected, requests, answers: response.into_inner() })
            }
            Err(status) => {
                self.link.refused(&connected, &status).await;
                Err(unreachable(status.message()))
            }
        }
    }
}
