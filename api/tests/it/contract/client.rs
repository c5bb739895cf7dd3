//! The contract test's client: it watches, is cut off, resumes anywhere, and lists again when its
//! version is gone; every event that it gets is compared with the model.

use std::collections::VecDeque;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::model::{Objects, WISHES, Wish, key};
use super::world::World;
use crate::harness::Events;

const INITIAL: &str = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

/// A watching client, and the objects that it believes to be there.
pub(super) struct Client {
    wish: &'static Wish,
    /// The objects that it believes to be there.
    believed: Objects,
    /// Everything up to here has reached it; zero before its first list.
    seen: u64,
    stream: Option<Stream>,
    expirations: usize,
}

/// An open watch.
struct Stream {
    events: Events,
    /// Synthetic additions that are still to come.
    initial: VecDeque<Value>,
    /// The version of the bookmark after them.
    mark: Option<u64>,
    /// The state that the stream began with: what is told later is newer.
    begun: u64,
    bookmarks: bool,
    /// When it ends by itself, whatever is still to be told.
    deadline: Instant,
}

/// The next item of a stream: an event, a 410, or its end.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Event,
    Expired,
    End,
}

impl Client {
    pub(super) fn new(random: &mut StdRng) -> Self {
        Self {
            wish: WISHES.choose(random).unwrap(),
            believed: Objects::new(),
            seen: 0,
            stream: None,
            expirations: 0,
        }
    }

    /// Does one of the things that clients do.
    pub(super) async fn act(&mut self, world: &World, random: &mut StdRng) {
        if self.stream.is_none() {
            self.open(world, random).await;
        }
        match random.random_range(0..4) {
            // Its version was gone.
            _ if self.stream.is_none() => {}
            0 => self.stream = None,
            1 => self.drain(world).await,
            _ => {
                let due = self.due(world);
                for _ in 0..random.random_range(0..=due) {
                    if self.take(world).await != Told::Event {
                        return;
                    }
                }
            }
        }
    }

    /// Follows to the end, and believes what is there.
    pub(super) async fn settle(&mut self, world: &World, random: &mut StdRng) {
        loop {
            if self.stream.is_none() {
                self.open(world, random).await;
            } else if self.due(world) == 0 {
                break;
            } else {
                self.take(world).await;
            }
        }
        assert_eq!(self.believed, self.wish.select(&world.model.objects), "{:?}", self.wish);
    }

    /// How often the server answered 410: its revision was too old to resume from.
    pub(super) fn expirations(&self) -> usize {
        self.expirations
    }

    /// The number of events that wait for it.
    fn due(&self, world: &World) -> usize {
        let Some(stream) = &self.stream else { return 0 };
        let later = world.model.events(self.wish, self.seen.max(stream.begun)).len();
        stream.initial.len() + usize::from(stream.mark.is_some()) + later
    }

    /// From where it is; from nothing in one of the ways to begin.
    async fn open(&mut self, world: &World, random: &mut StdRng) {
        let bookmarks = random.random_bool(0.5);
        let now = world.revision();
        let (mut initial, mut mark, mut begun) = (VecDeque::new(), None, self.seen);
        let start = if self.seen > 0 {
            let quiet = "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
            format!(
                "&resourceVersion={}{}",
                self.seen,
                if random.random_bool(0.2) { quiet } else { "" }
            )
        } else {
            self.believed.clear();
            let there = self.wish.select(&world.model.objects).into_values();
            initial = there.map(|pod| json!({ "type": "ADDED", "object": pod })).collect();
            begun = now;
            let oldest = world.oldest().max(1);
            let version = ["".to_owned(), "0".to_owned(), now.to_string(), oldest.to_string()]
                .choose(random)
                .unwrap()
                .clone();
            // A version alone would be one to go on from.
            if !matches!(version.as_str(), "" | "0") || random.random_bool(0.5) {
                mark = bookmarks.then_some(now);
                format!("&{INITIAL}&resourceVersion={version}")
            } else {
                format!("&resourceVersion={version}")
            }
        };
        let seconds = random.random_range(1..100);
        let (path, selectors) = (self.wish.path, self.wish.selectors);
        let path = format!(
            "{path}?watch=1&{selectors}&allowWatchBookmarks={bookmarks}&timeoutSeconds={seconds}{start}"
        );
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let events = world.server(random).watch(&path).await;
        self.stream = Some(Stream { events, initial, mark, begun, bookmarks, deadline });
        if self.seen > 0 && self.seen < world.oldest() {
            assert_eq!(
                self.take(world).await,
                Told::Expired,
                "{path} while the oldest is {}",
                world.oldest()
            );
        }
    }

    /// Takes what comes next, which is what the model says, unless that is gone.
    async fn take(&mut self, world: &World) -> Told {
        let stream = self.stream.as_mut().expect("a watch is open");
        let Some(event) = stream.events.next().await else {
            self.stream = None;
            return Told::End;
        };
        if event["type"] == "ERROR" {
            assert_eq!(
                (&event["object"]["code"], &event["object"]["reason"]),
                (&json!(410), &json!("Expired"))
            );
            assert!(
                self.seen.max(stream.begun) < world.oldest(),
                "{event} although nothing is gone"
            );
            assert_eq!(stream.events.next().await, None, "nothing follows an error");
            (self.stream, self.seen) = (None, 0);
            self.expirations += 1;
            return Told::Expired;
        }
        if event["type"] == "BOOKMARK" {
            self.take_bookmark(world, &event);
            return Told::Event;
        }
        match stream.initial.pop_front() {
            Some(expect) => assert_eq!(event, expect, "{:?}", self.wish),
            None => {
                assert_eq!(stream.mark, None, "the mark comes before {event}");
                let next =
                    world.model.events(self.wish, self.seen.max(stream.begun)).into_iter().next();
                let (revision, expect) =
                    next.unwrap_or_else(|| panic!("{event} is not to be told"));
                assert_eq!(event, expect, "{:?}", self.wish);
                self.seen = revision;
            }
        }
        self.believe(&event);
        Told::Event
    }

    /// A bookmark is true: everything up to its version has been told.
    fn take_bookmark(&mut self, world: &World, event: &Value) {
        let stream = self.stream.as_mut().expect("a watch is open");
        assert!(stream.bookmarks && stream.initial.is_empty(), "{event}");
        let metadata = &event["object"]["metadata"];
        let version: u64 = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
        let marks = metadata["annotations"]["svc.io/initial-events-end"] == "true";
        assert_eq!(stream.mark.take(), marks.then_some(version), "{event}");
        let seen = self.seen.max(stream.begun);
        assert!(version >= seen && version <= world.revision(), "{event} after {seen}");
        let owed = world
            .model
            .events(self.wish, seen)
            .into_iter()
            .find(|(revision, _)| *revision <= version);
        assert_eq!(owed, None, "{event} although this is owed");
        self.seen = version;
    }

    /// Reads until the stream ends by itself; then everything has been told.
    async fn drain(&mut self, world: &World) {
        let in_time = self.stream.as_ref().is_some_and(|stream| Instant::now() < stream.deadline);
        loop {
            let due = self.due(world);
            match self.take(world).await {
                Told::Event => {}
                Told::Expired => return,
                Told::End => return assert!(due == 0 || !in_time, "the watch ended early"),
            }
        }
    }

    fn believe(&mut self, event: &Value) {
        let pod = event["object"].clone();
        if event["type"] == "DELETED" {
            self.believed.remove(&key(&pod));
        } else {
            self.believed.insert(key(&pod), pod);
        }
    }
}
