//! Conversions under way, so that readers of the same stored bytes wait for one of them.
//!
//! Invariants: a stored value is in the flight of the one reader that converts it; flights have at
//! most [`MAX_IN_FLIGHT`] bytes, and what is beyond is converted by each reader by itself. A flight ends
//! when it is dropped, whatever has become of it: a reader that waited for one that failed converts
//! itself.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;

/// Bytes of stored values in flights of one version: 32 MiB.
const MAX_IN_FLIGHT: usize = 32 << 20;

/// The flights of one version.
#[derive(Debug, Default)]
pub(super) struct ConversionsInFlight(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    by_value: HashMap<Bytes, watch::Receiver<()>>,
    bytes: usize,
}

/// What one reader converts.
#[derive(Debug)]
pub(super) struct ConversionInFlight<'f> {
    all: &'f ConversionsInFlight,
    own: Vec<Bytes>,
    /// Never sends: its end is what others wait for.
    end: watch::Sender<()>,
}

/// The end of a flight.
#[derive(Debug)]
pub(super) struct End(watch::Receiver<()>);

impl ConversionsInFlight {
    /// A flight with nothing in it.
    pub(super) fn begin(&self) -> ConversionInFlight<'_> {
        ConversionInFlight { all: self, own: Vec::new(), end: watch::Sender::new(()) }
    }
}

impl ConversionInFlight<'_> {
    /// Takes a value, unless it is in a flight already, of which this gives the end.
    pub(super) fn take(&mut self, value: &Bytes) -> Option<End> {
        let mut taken = self.all.0.lock();
        if let Some(end) = taken.by_value.get(value) {
            return Some(End(end.clone()));
        }
        if taken.bytes + value.len() <= MAX_IN_FLIGHT {
            taken.bytes += value.len();
            taken.by_value.insert(value.clone(), self.end.subscribe());
            self.own.push(value.clone());
        }
        None
    }
}

impl Drop for ConversionInFlight<'_> {
    fn drop(&mut self) {
        let mut taken = self.all.0.lock();
        for value in &self.own {
            taken.by_value.remove(value);
            taken.bytes -= value.len();
        }
    }
}

impl End {
    /// Waits for the end.
    pub(super) async fn wait(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn one_reader_converts_and_the_others_wait_for_its_end() {
        let all = ConversionsInFlight::default();
        let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
        let (mut first, mut second) = (all.begin(), all.begin());
        assert!(first.take(&a).is_none() && second.take(&b).is_none());
        let end = second.take(&a).expect("the first has it");
        let mut waiting = std::pin::pin!(end.wait());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        drop(first);
        assert!(waiting.as_mut().poll(&mut context).is_ready());
        assert!(second.take(&a).is_none(), "it is in no flight any more");
        drop(second);
        let taken = all.0.lock();
        assert_eq!((taken.by_value.len(), taken.bytes), (0, 0));
    }

    #[test]
    fn what_is_in_flight_is_bounded() {
        let all = ConversionsInFlight::default();
        let (mut first, mut second) = (all.begin(), all.begin());
        let large = Bytes::from(vec![0; MAX_IN_FLIGHT]);
        let more = Bytes::from_static(b"more");
        assert!(first.take(&large).is_none() && first.take(&more).is_none());
        assert!(second.take(&large).is_some(), "the first has it");
        assert!(second.take(&more).is_none(), "each reader converts it");
    }
}
