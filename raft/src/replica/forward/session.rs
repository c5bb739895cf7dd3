//! The follower's end of a forward stream: requests go out in frames, and responses go to the
//! callers that wait for them.
//!
//! Invariants: a request is *sent* once its frame is passed to the connection; when the stream
//! ends, sent requests are [`ForwardError::Sent`] and all others [`ForwardError::Unsent`]; no
//! request is sent twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use quorate_trace::ParentSpan;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::message::{
    ForwardRequest, ForwardResponse, MAX_FRAME_BYTES, RequestFrame, ResponseFrame, TakenTraces,
};
use crate::network::link::{Connected, Link};
use crate::network::wire::{decode, encode_long};

/// Requests that wait to be sent.
pub(crate) const MAX_WAITING_REQUESTS: usize = 4096;
/// Requests in one frame.
const MAX_FRAME_REQUESTS: usize = 128;
/// Bytes of an encoded request besides what it asks: its number and its kind.
const REQUEST_OVERHEAD: usize = 12;
/// Frames handed to the connection that it has not taken yet.
const MAX_FRAMES: usize = 4;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForwardError {
    /// The leader has not seen the request.
    Unsent(String),
    /// It may have.
    Sent(String),
    /// Too many wait already.
    Full,
}

/// A handle to one stream.
#[derive(Debug, Clone)]
pub(crate) struct ForwardSession {
    requests: mpsc::Sender<QueuedRequest>,
}

#[derive(Debug)]
struct QueuedRequest {
    ask: ForwardRequest,
    /// The span that waits for it, if that is recorded.
    trace: Option<ParentSpan>,
    reply: oneshot::Sender<Result<ForwardResponse, ForwardError>>,
}

impl ForwardSession {
    /// Starts connecting. The session ends when the stream breaks or when all handles are dropped
    /// and all is answered.
    pub(crate) fn start(link: Arc<Link>) -> Self {
        let (requests, receiver) = mpsc::channel(MAX_WAITING_REQUESTS);
        tokio::spawn(run(link, receiver));
        Self { requests }
    }

    /// Whether it still takes requests.
    pub(crate) fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }

    /// Asks and waits for the answer.
    pub(crate) async fn ask(&self, ask: ForwardRequest) -> Result<ForwardResponse, ForwardError> {
        let (reply, receiver) = oneshot::channel();
        let trace = quorate_trace::current().recorded();
        match self.requests.try_send(QueuedRequest { ask, trace, reply }) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => return Err(ForwardError::Full),
            Err(mpsc::error::TrySendError::Closed(_)) => {
                return Err(ForwardError::Unsent("the connection broke".to_owned()));
            }
        }
        receiver.await.unwrap_or_else(|_| Err(ForwardError::Sent("the session ended".to_owned())))
    }
}

async fn run(link: Arc<Link>, mut requests: mpsc::Receiver<QueuedRequest>) {
    let (connected, mut stream) = match open(&link).await {
        Ok(opened) => opened,
        Err(error) => return refuse(&mut requests, &error).await,
    };
    let error = match stream.run(&mut requests).await {
        Ok(()) => return,
        Err(error) => error,
    };
    link.broken(&connected).await;
    for (_, reply) in stream.pending {
        reply.send(Err(ForwardError::Sent(error.clone()))).ok();
    }
    for request in stream.taken {
        request.reply.send(Err(ForwardError::Unsent(error.clone()))).ok();
    }
    refuse(&mut requests, &error).await;
}

/// Answers everything that waits and closes the queue.
async fn refuse(requests: &mut mpsc::Receiver<QueuedRequest>, error: &str) {
    requests.close();
    while let Some(request) = requests.recv().await {
        request.reply.send(Err(ForwardError::Unsent(error.to_owned()))).ok();
    }
}

struct ForwardStream {
    frames: mpsc::Sender<Bytes>,
    responses: Streaming<Bytes>,
    /// Which traces the leader takes with transactions.
    takes: TakenTraces,
    /// Next in line, in no frame yet.
    taken: Vec<QueuedRequest>,
    pending: BTreeMap<u64, oneshot::Sender<Result<ForwardResponse, ForwardError>>>,
    next: u64,
}

async fn open(link: &Link) -> Result<(Connected, ForwardStream), String> {
    let mut connected = link.connected().await.map_err(|error| error.to_string())?;
    let (frames, receiver) = mpsc::channel(MAX_FRAMES);
    match connected.client.forward(ReceiverStream::new(receiver)).await {
        Ok(response) => {
            let takes = TakenTraces::of(response.metadata());
            let (responses, taken) =
                (response.into_inner(), Vec::with_capacity(MAX_FRAME_REQUESTS));
            Ok((
                connected,
                ForwardStream {
                    frames,
                    responses,
                    takes,
                    taken,
                    pending: BTreeMap::new(),
                    next: 0,
                },
            ))
        }
        Err(status) => {
            link.refused(&connected, &status).await;
            Err(status.message().to_owned())
        }
    }
}

impl ForwardStream {
    /// Moves requests and responses until no more requests can come and all are answered, or until
    /// the stream breaks.
    async fn run(&mut self, requests: &mut mpsc::Receiver<QueuedRequest>) -> Result<(), String> {
        let mut asking = true;
        while asking || !self.pending.is_empty() {
            tokio::select! {
                biased;
                frame = self.responses.next() => self.receive(frame)?,
                count = requests.recv_many(&mut self.taken, MAX_FRAME_REQUESTS), if asking => {
                    asking = count > 0;
                    // Tasks that are ready now run first, so that their requests share the frame.
                    tokio::task::yield_now().await;
                    while self.taken.len() < MAX_FRAME_REQUESTS && let Ok(request) = requests.try_recv() {
                        self.taken.push(request);
                    }
                    while !self.taken.is_empty() {
                        self.send().await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends one frame of what was taken.
    async fn send(&mut self) -> Result<(), String> {
        let count = frame_length(self.taken.iter().map(|request| request.ask.footprint()));
        let mut frame = RequestFrame::with_capacity(count);
        for QueuedRequest { ask, trace, reply } in self.taken.drain(..count) {
            if reply.is_closed() {
                continue;
            }
            frame.push((self.next, ask.of_trace(trace, self.takes)));
            self.pending.insert(self.next, reply);
            self.next += 1;
        }
        if frame.is_empty() {
            return Ok(());
        }
        let bytes = frame.iter().map(|(_, ask)| REQUEST_OVERHEAD + ask.footprint()).sum();
        let frame = encode_long(&frame, bytes);
        loop {
            // Responses are taken while the connection takes its time, or both ends could wait
            // for each other.
            let responses = tokio::select! {
                biased;
                permit = self.frames.reserve() => {
                    permit.map_err(|_| "the connection to the leader broke".to_owned())?.send(frame);
                    return Ok(());
                }
                responses = self.responses.next() => responses,
            };
            self.receive(responses)?;
        }
    }

    fn receive(&mut self, frame: Option<Result<Bytes, tonic::Status>>) -> Result<(), String> {
        let frame = frame
            .ok_or("the leader closed the connection")?
            .map_err(|status| status.message().to_owned())?;
        for (number, answer) in
            decode::<ResponseFrame>(&frame).map_err(|status| status.message().to_owned())?
        {
            if let Some(reply) = self.pending.remove(&number) {
                reply.send(Ok(answer)).ok();
            }
        }
        Ok(())
    }
}

/// How many of these requests go into one frame: at least one.
fn frame_length(footprints: impl Iterator<Item = usize>) -> usize {
    let before = footprints.scan(0, |sum, bytes| Some(std::mem::replace(sum, *sum + bytes)));
    before.take_while(|bytes| *bytes < MAX_FRAME_BYTES).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_closed_by_the_request_that_fills_it() {
        let check = |footprints: &[usize], expect: usize| {
            assert_eq!(frame_length(footprints.iter().copied()), expect, "{footprints:?}");
        };
        check(&[0, 0, 0], 3);
        check(&[100; 128], 128);
        check(&[4 << 20; 20], 1);
        check(&[10, 4 << 20, 10], 2);
        check(&[MAX_FRAME_BYTES / 2; 5], 2);
    }
}
