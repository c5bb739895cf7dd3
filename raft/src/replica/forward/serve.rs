//! The leader's end of a forward stream: requests come in frames, run concurrently, and are
//! answered in frames.
//!
//! Invariants: at most [`MAX_RUNNING_REQUESTS`] of a stream run at once, beyond that the stream is
//! not read (the follower waits); responses that are ready together share a frame; when the
//! follower is gone, its requests still run to their end only as far as Raft already has them.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};

use super::message::{
    ForwardRequest, ForwardResponse, MAX_FRAME_BYTES, RequestFrame, ResponseFrame,
};
use crate::network::wire::{decode, encode};

/// Requests of one stream that run at once.
pub(crate) const MAX_RUNNING_REQUESTS: usize = 4096;
/// Responses in one frame.
const MAX_FRAME_RESPONSES: usize = 128;
/// Frames passed to the connection that it has not sent yet.
const MAX_FRAMES: usize = 4;

/// Frames of responses, as tonic takes them.
pub(crate) type FrameReceiver = mpsc::Receiver<Result<Bytes, Status>>;

/// Answers the stream's requests with `answer` until it ends.
pub(crate) fn serve<F>(requests: Streaming<Bytes>, answer: F) -> FrameReceiver
where
    F: Fn(ForwardRequest) -> BoxFuture<'static, ForwardResponse> + Send + Sync + 'static,
{
    let (frames, receiver) = mpsc::channel(MAX_FRAMES);
    tokio::spawn(async move {
        if let Err(status) = run(requests, Arc::new(answer), &frames).await {
            frames.send(Err(status)).await.ok();
        }
    });
    receiver
}

type RunningRequests = FuturesUnordered<BoxFuture<'static, (u64, ForwardResponse)>>;

async fn run<F>(
    mut requests: Streaming<Bytes>,
    answer: Arc<F>,
    frames: &mpsc::Sender<Result<Bytes, Status>>,
) -> Result<(), Status>
where
    F: Fn(ForwardRequest) -> BoxFuture<'static, ForwardResponse> + Send + Sync + 'static,
{
    let mut running = RunningRequests::new();
    let mut asking = true;
    while asking || !running.is_empty() {
        tokio::select! {
            biased;
            Some(first) = running.next(), if !running.is_empty() => {
                let responses = ready(first, &mut running);
                if frames.send(Ok(encode(&responses))).await.is_err() {
                    return Ok(());
                }
            }
            frame = requests.next(), if asking && running.len() < MAX_RUNNING_REQUESTS => match frame {
                None => asking = false,
                Some(frame) => start(decode(&frame?)?, &*answer, &running),
            },
        }
    }
    Ok(())
}

fn start<F: Fn(ForwardRequest) -> BoxFuture<'static, ForwardResponse>>(
    requests: RequestFrame,
    answer: &F,
    running: &RunningRequests,
) {
    for (number, ask) in requests {
        let answering = answer(ask);
        running.push(Box::pin(async move { (number, answering.await) }));
    }
}

/// The first answer and all others that are ready now, as far as they fit into a frame.
fn ready(first: (u64, ForwardResponse), running: &mut RunningRequests) -> ResponseFrame {
    let mut bytes = first.1.footprint();
    let mut responses = vec![first];
    while responses.len() < MAX_FRAME_RESPONSES
        && bytes < MAX_FRAME_BYTES
        && let Some(Some(answer)) = futures::FutureExt::now_or_never(running.next())
    {
        bytes += answer.1.footprint();
        responses.push(answer);
    }
    responses
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;
    use quorate_store::{Entry, Outcome, Revision};

    fn conflict(bytes: usize) -> ForwardResponse {
        let (created, modified) = (Revision::new(1), Revision::new(1));
        let current = Some(Entry { value: Bytes::from(vec![0; bytes]), created, modified });
        ForwardResponse::Decided(Outcome::Conflict {
            condition: 0,
            current,
            revision: Revision::new(1),
        })
    }

    #[test]
    fn large_responses_travel_in_frames_of_their_own() {
        let check = |sizes: &[usize], expect: usize| {
            let mut running: RunningRequests = sizes
                .iter()
                .map(|size| futures::future::ready((1, conflict(*size))).boxed())
                .collect();
            let first = running.next().now_or_never().flatten().expect("an answer is ready");
            assert_eq!(ready(first, &mut running).len(), expect, "{sizes:?}");
        };
        check(&[1; 1000], MAX_FRAME_RESPONSES);
        check(&[4 << 20; 20], 1);
        check(&[MAX_FRAME_BYTES / 2; 20], 2);
    }
}
