//! The stream of a list: its body, buffer by buffer, from a snapshot or from the archive.
//!
//! Invariants: a buffer is made only when the connection asks for one; a poll looks at a bounded
//! number of objects, so that a selector that matches little does not hold up other requests. A
//! corrupt object ends the body early, never silently.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use quorate_store::{Entry, Snapshot};
use quorate_wire::stored::CorruptValue;

use super::ahead::{Ahead, fetch_headers};
use super::rope::Rope;
use super::source::{PastSource, Source, SourcePart};
use super::writer::ListWriter;
use crate::body::Chunks;
use crate::handlers::options::Selection;
use crate::handlers::render::ListMeta;
use crate::metrics::ListMeter;

/// Bytes after which a buffer is handed on; the last object may exceed it.
pub(super) const BUFFER_BYTES: usize = 128 * 1024;
/// Bytes of messages measured in one go.
const MEASURED_BYTES: u64 = 1024 * 1024;
/// Objects looked at in one go.
const SCAN_OBJECTS: u64 = 4096;

/// The state of a list that is being written.
#[derive(Clone)]
pub(super) struct ListStream {
    source: Source,
    prefix: Bytes,
    /// The last key that has been looked at.
    cursor: Option<Bytes>,
    /// The last key of the page, when it is not the last of the collection.
    stop: Option<Bytes>,
    selection: Option<Selection>,
    writer: Arc<ListWriter>,
    meta: ListMeta,
    begun: bool,
    any_item: bool,
    /// Buffers that have been written and wait to be handed on.
    ready: VecDeque<Bytes>,
    /// Whether everything has been written.
    ended: bool,
    meter: Option<ListMeter>,
}

impl ListStream {
    pub(super) fn new(
        snapshot: Snapshot,
        prefix: Bytes,
        after: Option<Bytes>,
        stop: Option<Bytes>,
        selection: Option<Selection>,
        writer: Arc<ListWriter>,
        meta: ListMeta,
    ) -> Self {
        let source = Source::Snapshot(snapshot);
        let (begun, any_item, ended) = (false, false, false);
        let ready = VecDeque::new();
        Self {
            source,
            prefix,
            cursor: after,
            stop,
            selection,
            writer,
            meta,
            begun,
            any_item,
            ready,
            ended,
            meter: None,
        }
    }

    /// The same, whose objects are counted.
    pub(super) fn counted_by(self, meter: ListMeter) -> Self {
        Self { meter: Some(meter), ..self }
    }

    /// The same, whose objects have been counted.
    pub(super) fn uncounted(self) -> Self {
        Self { meter: None, ..self }
    }

    /// A whole list of the past, from a key on.
    pub(super) fn of_past(
        source: PastSource,
        (prefix, after): (Bytes, Option<Bytes>),
        selection: Option<Selection>,
        writer: Arc<ListWriter>,
        meta: ListMeta,
    ) -> Self {
        let nothing = Snapshot::default();
        let list = Self::new(nothing, prefix, after, None, selection, writer, meta);
        Self { source: Source::Past(source), ..list }
    }

    /// What writes the pieces.
    pub(super) fn writer(&self) -> &ListWriter {
        &self.writer
    }

    /// Whether the list has been handed on to its end.
    pub(super) fn is_done(&self) -> bool {
        self.ended && self.ready.is_empty()
    }

    /// Whether buffers wait to be handed on.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// How many items there are among the next objects; `None` at the end. Nothing is written of
    /// what has been counted.
    pub(super) fn count_some(&mut self) -> Result<Option<usize>, CorruptValue> {
        if self.ended {
            return Ok(None);
        }
        let mut items = Items(0);
        self.walk(&mut items)?;
        Ok(Some(items.0))
    }

    /// How many bytes the next objects have in protobuf; `None` at the end. Nothing is written of
    /// what has been measured. Buffers that wait to be handed on are not part of it.
    pub(super) fn measure_some(&mut self) -> Result<Option<u64>, CorruptValue> {
        if self.ended {
            return Ok(None);
        }
        let mut bytes = ItemBytes(0);
        let walked = self.walk(&mut bytes)?;
        self.count(&walked);
        Ok(Some(bytes.0))
    }

    /// Goes through the next objects, a bounded number of them and until the sink is full.
    fn walk<S: ItemSink>(&mut self, sink: &mut S) -> Result<Walked, CorruptValue> {
        let SourcePart { snapshot, more } =
            self.source.part(&self.prefix, self.cursor.as_deref())?;
        let (mut cursor, mut walked) = (None, Walked::default());
        let (mut ended, mut interrupted) = (more.is_none(), false);
        let range = snapshot.range(&self.prefix, self.cursor.as_deref());
        let (writer, selects) = (self.writer.clone(), self.selection.is_some());
        let fetch = |items: &[(&Bytes, &Entry)]| match selects {
            true => fetch_headers(items),
            false => S::fetch(&writer, items),
        };
        for (key, entry) in Ahead::new(range, fetch) {
            if sink.is_full() || walked.looked_at == SCAN_OBJECTS {
                (ended, interrupted) = (false, true);
                break;
            }
            (cursor, walked.looked_at) = (Some(key), walked.looked_at + 1);
            let selected = match &self.selection {
                Some(selection) => selection.matches(&entry.value)?,
                None => true,
            };
            if selected {
                let further = std::mem::replace(&mut self.any_item, true);
                sink.add(&self.writer, (key, entry), further)?;
                walked.items += 1;
            }
            if self.stop.as_ref() == Some(key) {
                break;
            }
        }
        if let Some(cursor) = cursor {
            self.cursor = Some(cursor.clone());
        }
        if !interrupted && more.is_some() {
            self.cursor = more;
        }
        self.ended = ended;
        Ok(walked)
    }

    /// What stands before and after so many items in CBOR.
    pub(super) fn around(&self, items: usize) -> Result<(Vec<u8>, Vec<u8>), CorruptValue> {
        self.writer.around(&self.meta, items)
    }

    /// The next buffer; `None` at the end. Empty when many objects were looked at and none matched.
    pub(super) fn next_buffer(&mut self) -> Result<Option<Bytes>, CorruptValue> {
        if self.is_done() {
            return Ok(None);
        }
        if self.ready.is_empty() {
            self.ready = self.write_some()?.finish();
        }
        Ok(Some(self.ready.pop_front().unwrap_or_default()))
    }

    /// What was given first together with everything else, when all of it is ready and there are no
    /// more than `most` bytes.
    pub(super) fn with_rest(&mut self, first: Bytes, most: usize) -> Bytes {
        let bytes = first.len() + self.ready.iter().map(Bytes::len).sum::<usize>();
        if !self.ended || self.ready.is_empty() || bytes > most {
            return first;
        }
        let mut all = Vec::with_capacity(bytes);
        all.extend_from_slice(&first);
        self.ready.drain(..).for_each(|piece| all.extend_from_slice(&piece));
        all.into()
    }

    /// Writes the next objects.
    fn write_some(&mut self) -> Result<Rope, CorruptValue> {
        let mut out = Rope::with_capacity(self.capacity());
        if !self.begun {
            self.begun = true;
            self.writer.head(&self.meta, out.text())?;
        }
        let walked = self.walk(&mut out)?;
        self.count(&walked);
        if self.ended {
            self.writer.tail(&self.meta, self.any_item, out.text())?;
        }
        Ok(out)
    }

    fn count(&self, walked: &Walked) {
        if let Some(meter) = &self.meter {
            meter.looked_at(walked.looked_at, walked.items);
        }
    }

    /// The rest of the list as a body, after a first buffer.
    pub(super) fn into_chunks(self, first: Bytes) -> Chunks {
        Box::pin(Buffers { first: Some(first).filter(|first| !first.is_empty()), list: self })
    }

    /// Small lists should not cost a large buffer, long ones should not grow it step by step.
    fn capacity(&self) -> usize {
        if self.begun { BUFFER_BYTES + BUFFER_BYTES / 4 } else { 4096 }
    }
}

/// What becomes of the items that are found.
trait ItemSink {
    /// Whether it takes no more in one go.
    fn is_full(&self) -> bool;

    /// Has the memory that some items are made of fetched side by side.
    fn fetch(writer: &ListWriter, items: &[(&Bytes, &Entry)]);

    /// Takes an item; `further` when the list has had one before.
    fn add(
        &mut self,
        writer: &ListWriter,
        item: (&Bytes, &Entry),
        further: bool,
    ) -> Result<(), CorruptValue>;
}

/// Objects that were gone through.
#[derive(Default)]
struct Walked {
    looked_at: u64,
    items: u64,
}

/// Counts items.
struct Items(usize);

/// Counts their bytes in protobuf.
struct ItemBytes(u64);

impl ItemSink for Items {
    fn is_full(&self) -> bool {
        false
    }

    fn fetch(_: &ListWriter, _: &[(&Bytes, &Entry)]) {}

    fn add(&mut self, _: &ListWriter, _: (&Bytes, &Entry), _: bool) -> Result<(), CorruptValue> {
        self.0 += 1;
        Ok(())
    }
}

impl ItemSink for ItemBytes {
    /// What is not kept has to be made, which must not hold up other requests.
    fn is_full(&self) -> bool {
        self.0 >= MEASURED_BYTES
    }

    fn fetch(writer: &ListWriter, items: &[(&Bytes, &Entry)]) {
        writer.fetch(items, true);
    }

    fn add(
        &mut self,
        writer: &ListWriter,
        (key, entry): (&Bytes, &Entry),
        _: bool,
    ) -> Result<(), CorruptValue> {
        self.0 += writer.item_len(key, entry)? as u64;
        Ok(())
    }
}

impl ItemSink for Rope {
    fn is_full(&self) -> bool {
        self.len() >= BUFFER_BYTES
    }

    fn fetch(writer: &ListWriter, items: &[(&Bytes, &Entry)]) {
        writer.fetch(items, false);
    }

    fn add(
        &mut self,
        writer: &ListWriter,
        item: (&Bytes, &Entry),
        further: bool,
    ) -> Result<(), CorruptValue> {
        writer.item(item, further, self)
    }
}

/// The rest of a list as the stream of a body.
struct Buffers {
    first: Option<Bytes>,
    list: ListStream,
}

impl Stream for Buffers {
    type Item = io::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        match self.list.next_buffer() {
            Ok(Some(buffer)) if buffer.is_empty() => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(buffer) => Poll::Ready(buffer.map(Ok)),
            Err(error) => {
                tracing::error!(%error, "a list ends early");
                Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::InvalidData, error))))
            }
        }
    }
}
