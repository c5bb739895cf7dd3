//! The gateway to a node's store: frames over the simulated network, in place of the API server.
//!
//! Invariants: a connection carries one question at a time, or one watch until it ends. A client
//! that has sent a transaction and hears nothing knows nothing.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use quorate_env::{Io, Listener, Network};
use quorate_store::{Entry, Error, Event, HistoryError, Outcome, Revision, Store, Txn};
use serde::{Deserialize, Serialize};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

use crate::broken::{Broken, WatchFault};

/// Where nodes listen for clients.
pub(crate) const CLIENT_PORT: u16 = 8000;
/// From dialing to a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// A client's request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum GatewayRequest {
    /// Propose this.
    Txn(Txn),
    /// A linearizable read of these keys.
    Read(Vec<Bytes>),
    /// Every change after this revision.
    Watch(Revision),
}

/// What a node answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The transaction was decided.
    Decided(Outcome),
    /// Nothing happened and nothing will.
    Refused(String),
    /// The transaction may have happened, or may still happen.
    Unknown(String),
    /// What the keys hold at a revision.
    Read { at: Revision, found: Vec<Option<Entry>> },
    /// One batch of a watch.
    Batch { revision: Revision, events: Vec<Event> },
    /// The watch cannot go on: history is kept only from here on.
    Compacted(Revision),
}

type Frames = Framed<Box<dyn Io>, LengthDelimitedCodec>;

/// Serves clients for ever.
pub(crate) async fn serve(
    listener: Box<dyn Listener>,
    store: Arc<dyn Store>,
    broken: Option<Broken>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let mut frames = Framed::new(stream, LengthDelimitedCodec::new());
        let store = store.clone();
        tokio::spawn(async move {
            // A broken connection is the client's to notice.
            answer_all(&mut frames, &*store, broken).await.ok();
        });
    }
}

async fn answer_all(
    frames: &mut Frames,
    store: &dyn Store,
    broken: Option<Broken>,
) -> io::Result<()> {
    while let Some(frame) = frames.next().await {
        let ask = postcard::from_bytes(&frame?).map_err(io::Error::other)?;
        let answer = match ask {
            GatewayRequest::Txn(txn) => decided(store.txn(txn).await),
            GatewayRequest::Read(keys) => read(store, &keys).await,
            GatewayRequest::Watch(after) => watch(frames, store, after, broken).await?,
        };
        send(frames, &answer).await?;
    }
    Ok(())
}

fn decided(result: Result<Outcome, Error>) -> Answer {
    match result {
        Ok(outcome) => Answer::Decided(outcome),
        Err(Error::NotApplied(reason)) => Answer::Refused(reason.to_string()),
        Err(Error::Unknown(reason)) => Answer::Unknown(reason),
    }
}

async fn read(store: &dyn Store, keys: &[Bytes]) -> Answer {
    if let Err(error) = store.read_index().await {
        return Answer::Refused(error.to_string());
    }
    let snapshot = store.snapshot();
    Answer::Read {
        at: snapshot.revision(),
        found: keys.iter().map(|key| snapshot.get(key).cloned()).collect(),
    }
}

/// Streams batches; gives the answer that ends the watch.
async fn watch(
    frames: &mut Frames,
    store: &dyn Store,
    after: Revision,
    broken: Option<Broken>,
) -> io::Result<Answer> {
    let mut fault = WatchFault::new(broken);
    let mut watch = match store.watch(Bytes::new(), fault.start(after)) {
        Ok(watch) => watch,
        Err(error) => return Ok(ended(error)),
    };
    loop {
        let batch = match watch.next().await {
            Ok(batch) => batch,
            Err(error) => return Ok(ended(error)),
        };
        if !fault.drops() {
            let events = batch.events().cloned().collect();
            send(frames, &Answer::Batch { revision: batch.revision(), events }).await?;
        }
    }
}

fn ended(error: HistoryError) -> Answer {
    match error {
        HistoryError::Compacted { oldest } => Answer::Compacted(oldest),
        other => Answer::Refused(other.to_string()),
    }
}

async fn send<T: Serialize>(frames: &mut Frames, message: &T) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    frames.send(Bytes::from(bytes)).await
}

/// A client's connection to one node.
pub(crate) struct Session {
    frames: Frames,
}

impl Session {
    /// Connects to a node.
    pub(crate) async fn connect(network: &dyn Network, node: u64) -> io::Result<Self> {
        let address = format!("n{node}:{CLIENT_PORT}");
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, network.connect(&address)).await??;
        Ok(Self { frames: Framed::new(stream, LengthDelimitedCodec::new()) })
    }

    /// Asks and waits for the answer, but no longer than this.
    pub(crate) async fn ask(
        &mut self,
        ask: &GatewayRequest,
        longest: Duration,
    ) -> io::Result<Answer> {
        tokio::time::timeout(longest, async {
            send(&mut self.frames, ask).await?;
            self.next().await
        })
        .await?
    }

    /// Asks for a stream of answers.
    pub(crate) async fn start(&mut self, ask: &GatewayRequest) -> io::Result<()> {
        send(&mut self.frames, ask).await
    }

    /// The next answer of the stream.
    pub(crate) async fn next(&mut self) -> io::Result<Answer> {
        let frame = self.frames.next().await.ok_or(io::ErrorKind::UnexpectedEof)??;
        postcard::from_bytes(&frame).map_err(io::Error::other)
    }
}
