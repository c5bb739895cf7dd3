//! A client that watches a prefix, is cut off, resumes on any member, and reads the state again
//! when it has to.

use std::sync::Arc;

use quorate_store::{HistoryError, NodeId, Revision, Store, Watch, WatchBatch};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::model::{self, Changes, Contents, Model, PREFIXES};
use crate::cluster::within;

/// A watching client.
pub(super) struct Client {
    prefix: &'static str,
    /// Everything up to here has reached it.
    seen: Revision,
    /// What it believes to be there.
    believed: Contents,
    watch: Option<(Arc<dyn Store>, Watch)>,
    compactions: usize,
}

impl Client {
    pub(super) fn new(random: &mut StdRng, begun: Revision) -> Self {
        let prefix = PREFIXES.choose(random).unwrap();
        Self { prefix, seen: begun, believed: Contents::new(), watch: None, compactions: 0 }
    }

    /// How often it was told that what it needs is gone.
    pub(super) fn compactions(&self) -> usize {
        self.compactions
    }

    /// A member goes, and takes with it what was open there.
    pub(super) fn leave(&mut self, node: NodeId) {
        self.watch.take_if(|(store, _)| store.status().node == node);
    }

    /// Does one of the things that clients do; what it opens it opens there.
    pub(super) async fn act(&mut self, store: &Arc<dyn Store>, model: &Model, random: &mut StdRng) {
        if self.watch.is_none() {
            return self.open(store, model).await;
        }
        match random.random_range(0..5) {
            0 => self.watch = None,
            1 => self.note_position(model),
            _ => {
                let due = model.after(self.prefix.as_bytes(), self.seen).count();
                for _ in 0..random.random_range(0..=due) {
                    if self.watch.is_some() {
                        self.take(model).await;
                    }
                }
            }
        }
    }

    /// Follows to the end, and believes what is there.
    pub(super) async fn settle(&mut self, store: &Arc<dyn Store>, model: &Model) {
        while model.after(self.prefix.as_bytes(), self.seen).next().is_some() {
            match self.watch {
                None => self.open(store, model).await,
                Some(_) => self.take(model).await,
            }
        }
        let mut there = model.state_at(model.newest());
        there.retain(|key, _| key.starts_with(self.prefix.as_bytes()));
        assert_eq!(self.believed, there, "{:?}", self.prefix);
    }

    /// Goes on after what it has seen; it is refused exactly when that is older than what the
    /// member keeps.
    async fn open(&mut self, store: &Arc<dyn Store>, model: &Model) {
        let prefix = bytes::Bytes::from_static(self.prefix.as_bytes());
        let kept_before = store.status().oldest;
        match store.watch(prefix, self.seen) {
            Ok(watch) => {
                assert!(
                    self.seen >= kept_before,
                    "a watch after {} begins at {kept_before}",
                    self.seen
                );
                self.watch = Some((store.clone(), watch));
            }
            Err(error) => self.read_again(store, &error, model).await,
        }
    }

    /// Takes the next batch, which is what the model says, unless it is gone.
    async fn take(&mut self, model: &Model) {
        let (store, watch) = self.watch.as_mut().expect("a watch is open");
        match within("a batch that is there", watch.next()).await {
            Ok(batch) => {
                let next = model.after(self.prefix.as_bytes(), self.seen).next();
                assert_eq!(
                    Some((batch.revision(), changes(&batch))),
                    next,
                    "{:?} after {}",
                    self.prefix,
                    self.seen
                );
                self.seen = batch.revision();
                model::apply(&mut self.believed, &changes(&batch));
            }
            Err(error) => {
                let store = store.clone();
                self.read_again(&store, &error, model).await;
            }
        }
    }

    /// Starts anew from the newest state of a member, as it must when its history is gone, and only
    /// then.
    async fn read_again(&mut self, store: &Arc<dyn Store>, error: &HistoryError, model: &Model) {
        let HistoryError::Compacted { oldest } = error else { panic!("{error}") };
        assert!(self.seen < *oldest && *oldest <= model.newest(), "{error} after {}", self.seen);
        within("the member keeps up", store.applied(*oldest)).await;
        let snapshot = store.snapshot();
        self.seen = snapshot.revision();
        self.believed = model::contents(&snapshot);
        assert_eq!(self.believed, model.state_at(self.seen));
        self.believed.retain(|key, _| key.starts_with(self.prefix.as_bytes()));
        self.watch = None;
        self.compactions += 1;
    }

    /// A position is true: everything up to it has been given.
    fn note_position(&mut self, model: &Model) {
        let (_, watch) = self.watch.as_mut().expect("a watch is open");
        let position = watch.position();
        assert!(
            position >= self.seen && position <= model.newest(),
            "{position} after {}",
            self.seen
        );
        let owed = model
            .after(self.prefix.as_bytes(), self.seen)
            .find(|(revision, _)| *revision <= position);
        assert_eq!(owed, None, "the position is {position}");
        self.seen = position;
    }
}

fn changes(batch: &WatchBatch) -> Changes {
    let events = batch.events();
    events
        .map(|event| (event.key.clone(), event.current.as_ref().map(|entry| entry.value.clone())))
        .collect()
}
