//! Frames: what a node sends of its state and its changes, and their form on the wire.
//!
//! A frame is a length (u32 LE) and postcard. Invariants: what is longer than [`MAX_FRAME_BYTES`], cut
//! short or no frame is an error, and ends the stream; a failure of the server arrives as one.

use std::fmt::Display;

use bytes::{Buf, Bytes, BytesMut};
use futures::Stream;
use futures::stream::{BoxStream, StreamExt};
use quorate_store::{Entry, Revision};
use serde::{Deserialize, Serialize};

use crate::error::SourceError;
use crate::record::{Credentials, StoredBatch};
use crate::repository::Identity;

/// Bytes of a frame at most: one transaction may be larger than the others.
const MAX_FRAME_BYTES: usize = 64 << 20;
/// Bytes of the length before a frame.
const LENGTH_BYTES: usize = 4;

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame {
    /// Whose state it is.
    Identity(Identity),
    /// The secret of the cluster.
    Credentials(Credentials),
    /// A state begins.
    State(StateStart),
    /// Keys in their order, and what they hold.
    Entries(Vec<(Bytes, Entry)>),
    /// The state was whole; `Snapshot::digest` of all of it.
    StateEnd {
        /// The digest.
        digest: u64,
    },
    /// Transactions in their order.
    Batches(Vec<StoredBatch>),
    /// All transactions up to this revision were told.
    ChangesEnd {
        /// The revision.
        last: Revision,
        /// `Snapshot::digest` of the state there, now and then.
        digest: Option<u64>,
    },
    /// The server cannot go on.
    Failed(String),
}

/// Which state comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateStart {
    /// Its revision.
    pub revision: Revision,
    /// The server's clock, milliseconds since the Unix epoch.
    pub time_ms: u64,
    /// How many keys it has.
    pub objects: u64,
    /// Bytes of all keys and values.
    pub bytes: u64,
}

/// A stream of frames.
pub type Frames = BoxStream<'static, Result<Frame, SourceError>>;

/// A frame as it goes over the wire. An error becomes a frame that says so.
#[must_use]
pub fn encode_frame(frame: &Result<Frame, SourceError>) -> Bytes {
    let failed;
    let frame = match frame {
        Ok(frame) => frame,
        Err(error) => {
            failed = Frame::Failed(error.to_string());
            &failed
        }
    };
    let encoded = postcard::to_extend(frame, vec![0; LENGTH_BYTES]);
    let mut encoded = encoded.expect("a vector grows, and frames always encode");
    let length =
        u32::try_from(encoded.len() - LENGTH_BYTES).expect("frames are cut far below 4 GiB");
    encoded[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    encoded.into()
}

/// The frames in a body. One that ends within a frame is an error; that a stream had its end, its
/// reader checks.
pub fn decode_frames<E: Display + Send + 'static>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Frames {
    let body = body.map(|bytes| bytes.map_err(|error| error.to_string())).boxed();
    let decoder = FrameDecoder { body, buffer: BytesMut::new() };
    let next = |decoder: Option<FrameDecoder>| async move {
        let mut decoder = decoder?;
        match decoder.next().await {
            Ok(Some(frame)) => Some((Ok(frame), Some(decoder))),
            Ok(None) => None,
            Err(why) => Some((Err(SourceError::Unavailable(why)), None)),
        }
    };
    futures::stream::unfold(Some(decoder), next).boxed()
}

/// Takes frames out of a body.
struct FrameDecoder {
    body: BoxStream<'static, Result<Bytes, String>>,
    buffer: BytesMut,
}

impl FrameDecoder {
    async fn next(&mut self) -> Result<Option<Frame>, String> {
        loop {
            match take_frame(&mut self.buffer)? {
                Some(Frame::Failed(why)) => return Err(why),
                Some(frame) => return Ok(Some(frame)),
                None => {}
            }
            match self.body.next().await {
                Some(bytes) => self.buffer.extend_from_slice(&bytes?),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err("the answer ends within a frame".to_owned()),
            }
        }
    }
}

fn take_frame(buffer: &mut BytesMut) -> Result<Option<Frame>, String> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_FRAME_BYTES {
        return Err("a frame of the answer is too long".to_owned());
    }
    if buffer.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    let frame = postcard::from_bytes(&buffer.split_to(length));
    frame.map(Some).map_err(|_| "a frame of the answer is damaged".to_owned())
}
