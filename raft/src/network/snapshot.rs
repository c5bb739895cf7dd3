//! Snapshot transfer: one stream of messages, of which the first announces the leader's vote and
//! the rest are the state machine's own frames.
//!
//! Invariants: neither end holds more than a few frames in memory; a transfer whose other end makes
//! no progress for [`STALL_TIMEOUT`] is given up (what was received is removed by the state
//! machine); nothing is installed before the last frame has been verified.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use openraft::raft::SnapshotResponse;
use quorate_store::NodeId;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::call_auth::speaks_for;
use super::link::Link;
use super::wire::{decode, encode};
use crate::core::Raft;
use crate::state_machine::{Snapshot, SnapshotData, SnapshotReceiver};
use crate::types::{LogId, TypeConfig, Vote};

/// How long a transfer may stand still.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Frames read ahead of the connection.
const MAX_FRAMES: usize = 2;

/// The first message.
#[derive(Debug, Serialize, Deserialize)]
struct Announcement {
    vote: Vote,
}

/// Sends a snapshot and waits until it is installed.
pub(super) async fn send(
    link: &Link,
    vote: Vote,
    snapshot: Snapshot,
) -> Result<SnapshotResponse<TypeConfig>, String> {
    let mut connected = link.connected().await.map_err(|error| error.to_string())?;
    let (sender, receiver) = mpsc::channel(MAX_FRAMES);
    let announcement = encode(&Announcement { vote });
    let feeding = feed(snapshot.snapshot, announcement, sender);
    let calling = connected.client.snapshot(ReceiverStream::new(receiver));
    let (fed, answer) = tokio::join!(feeding, calling);
    match answer {
        Ok(response) => {
            fed?;
            decode(response.get_ref()).map_err(|status| status.message().to_owned())
        }
        Err(status) => {
            link.refused(&connected, &status).await;
            Err(fed.err().unwrap_or_else(|| status.message().to_owned()))
        }
    }
}

/// Ends early without an error when the receiver is gone: the call's own answer says why.
async fn feed(
    snapshot: SnapshotData,
    announcement: Bytes,
    frames: mpsc::Sender<Bytes>,
) -> Result<(), String> {
    if frames.send(announcement).await.is_err() {
        return Ok(());
    }
    let outgoing = snapshot.outgoing().ok_or("a received snapshot cannot be sent on")?;
    for frame in outgoing.frames() {
        let frame = frame.map_err(|error| error.to_string())?;
        match tokio::time::timeout(STALL_TIMEOUT, frames.send(frame)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(()),
            Err(_) => return Err("the receiver of the snapshot makes no progress".to_owned()),
        }
    }
    Ok(())
}

/// Receives a snapshot, passes it to the state machine frame by frame, and has Raft install it.
pub(crate) async fn receive(
    raft: &Raft,
    receiver: &SnapshotReceiver,
    caller: NodeId,
    mut frames: Streaming<Bytes>,
) -> Result<Bytes, Status> {
    let first = next(&mut frames)
        .await?
        .ok_or_else(|| Status::invalid_argument("an empty snapshot stream"))?;
    let Announcement { vote } = decode::<Announcement>(&first)?;
    speaks_for(caller, vote.leader_id.node_id)?;
    let mut incoming = receiver.begin();
    while let Some(frame) = next(&mut frames).await? {
        incoming.push(&frame).map_err(failed)?;
    }
    let snapshot = incoming.finish().map_err(failed)?;
    if holds(raft, vote, snapshot.meta.last_log_id).await? {
        tracing::info!("a snapshot came of what the log holds already; it is not installed");
        return Ok(encode(&SnapshotResponse::<TypeConfig>::new(vote)));
    }
    let installed = raft.install_full_snapshot(vote, snapshot).await;
    Ok(encode(&installed.map_err(failed)?))
}

/// Whether the log holds the last entry that a snapshot stands for, and with it all before, from
/// this very leader. Installing it would gain nothing, and would set back how far Raft takes the
/// log to be written (an assertion of openraft, where those are on).
async fn holds(raft: &Raft, leader: Vote, last: Option<LogId>) -> Result<bool, Status> {
    let asked = raft.with_raft_state(move |state| {
        let held = last.and_then(|last| state.log_ids.get(last.index));
        *state.vote_ref() == leader && last.is_some() && held == last
    });
    asked.await.map_err(failed)
}

async fn next(frames: &mut Streaming<Bytes>) -> Result<Option<Bytes>, Status> {
    match tokio::time::timeout(STALL_TIMEOUT, frames.next()).await {
        Ok(frame) => frame.transpose(),
        Err(_) => Err(Status::deadline_exceeded("the sender of the snapshot makes no progress")),
    }
}

fn failed(error: impl ToString) -> Status {
    Status::aborted(error.to_string())
}
